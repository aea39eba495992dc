#pragma once

// Cache files that a command reads besides the user's cache.

#include <filesystem>
#include <memory>
#include <vector>

#include "cache/store.h"

namespace tunedgemm::internal {

/// A store with this file alone: neither the user's cache nor those of the system. It stays
/// unchanged.
std::unique_ptr<Store> open_file_for_reading(const std::filesystem::path& file);

/// The files *.db directly in the folder, sorted, without hidden ones. Throws
/// std::filesystem::filesystem_error if the folder cannot be read.
std::vector<std::filesystem::path> cache_files_in(const std::filesystem::path& folder);

}  // namespace tunedgemm::internal
