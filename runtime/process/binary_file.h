#pragma once

// A compiled kernel in a temporary file, for another process of this version of the library. Such
// files are in private folders, so they are trusted.

#include <filesystem>
#include <optional>

#include "cache/record.h"

namespace tunedgemm::internal {

/// Empty if there is no such file, or it is not complete.
std::optional<Binary> read_binary(const std::filesystem::path& path);

/// False if the file could not be written completely.
bool write_binary(const std::filesystem::path& path, const Binary& binary);

}  // namespace tunedgemm::internal
