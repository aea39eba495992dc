#pragma once

// The search for files from slow devices, among files that share problems.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// The time of a winner in a file.
struct AuditedTime {
  std::size_t problem = 0;  ///< equal for the same problem, device and toolchain
  std::uint32_t file = 0;   ///< its number
  double median_us = 0;
};

struct SlowFile {
  std::uint32_t file = 0;
  std::size_t problems = 0;  ///< those that other files have, too
  /// The geometric mean, over these problems, of the file's time over the mean of the others'.
  double ratio = 0;
};

/// The files whose ratio exceeds 1.03 over at least three problems, the slowest first. The files
/// that share problems with a slow one look fast, which is no finding.
std::vector<SlowFile> slow_files(std::vector<AuditedTime> times);

/// The finding as a sentence, which says what to do.
std::string to_text(const SlowFile& slow, const std::string& file_name);

}  // namespace tunedgemm::internal
