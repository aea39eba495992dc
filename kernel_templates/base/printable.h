#pragma once

// Texts that come from elsewhere (names in lists, logs of compilers, rows of a cache, paths) made
// fit to be shown: whatever would act on a terminal, or make it show another text than is there.

#include <string>
#include <string_view>

namespace tunedgemm::internal {

enum class Lines { kMany, kOne };

/// The text, with "\u001b" for every control character and for those that turn the direction of
/// writing, and "\xff" for every byte that is no UTF-8. Newlines and tabs stay where there may be
/// many lines.
std::string printable(std::string_view text, Lines lines);

}  // namespace tunedgemm::internal
