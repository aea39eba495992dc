#pragma once

// Replaces a file so that other processes see the old file or the new one, never a part. Works on
// network file systems too: it uses no locks.

#include <filesystem>

namespace tunedgemm::internal {

/// Gives `target` the contents and the mode of `source`, which are on the disk when the function
/// returns. Throws std::filesystem::filesystem_error with the error number of the failed call; the
/// old file then stays.
void replace_by_copy(const std::filesystem::path& source, const std::filesystem::path& target);

}  // namespace tunedgemm::internal
