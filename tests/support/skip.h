#pragma once

// Skips a test case if the machine lacks something that it needs, and prints "skipped: ...". A
// program whose test cases were all skipped exits with the status that CTest reports as "Skipped".

#include <string_view>

namespace tunedgemm::internal {

/// Prints "skipped: <reason>" and counts the running test case as skipped.
void note_skip(std::string_view reason);

}  // namespace tunedgemm::internal

/// Use it only directly in a TEST_CASE without sections, since it returns.
#define TUNEDGEMM_SKIP(reason)                  \
  do {                                          \
    ::tunedgemm::internal::note_skip((reason)); \
    return;                                     \
  } while (false)
