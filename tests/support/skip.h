#pragma once

// Skips a test case if the machine lacks something that it needs, and prints "skipped: ...". A
// program whose test cases were all skipped exits with the status that CTest reports as "Skipped".

#include <string_view>

namespace tunedgemm::internal {

/// Prints "skipped: <reason>" and counts the running test case as skipped.
void note_skip(std::string_view reason);

/// Whether a child of a process with threads can allocate. With a sanitizer it may hang if a thread
/// of the parent was allocating, or starting, at that moment: unlike malloc, the sanitizers'
/// allocators do not take their locks before fork().
#ifdef TUNEDGEMM_SANITIZED
inline constexpr bool kCanForkBesideThreads = false;
#else
inline constexpr bool kCanForkBesideThreads = true;
#endif
inline constexpr std::string_view kWhyNoForkBesideThreads =
    "the sanitizer's allocator may hang in a child of a process with threads";

}  // namespace tunedgemm::internal

/// Use it only directly in a TEST_CASE without sections, since it returns.
#define TUNEDGEMM_SKIP(reason)                  \
  do {                                          \
    ::tunedgemm::internal::note_skip((reason)); \
    return;                                     \
  } while (false)
