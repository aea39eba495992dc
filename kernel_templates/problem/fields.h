#pragma once

// The text form that problems and configs share: words "name=value", separated by spaces.

#include <string_view>
#include <utility>
#include <vector>

namespace tunedgemm::internal {

/// The fields of `text` in order; a word without '=' becomes a field with an empty value. Views
/// into `text`.
std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text);

/// The parts of `text` between separators; one empty part for an empty text. Views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace tunedgemm::internal
