#pragma once

// One database file of a store, open; and the way to it from whatever lies at a path. Private to
// cache.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cache/file/lock_file.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"

namespace tunedgemm::internal {

/// Takes a sentence: what is wrong or was done, and what to do.
using Warn = std::function<void(std::string)>;

struct StoreFile {
  sqlite::Connection connection;
  std::filesystem::path path;
  dev_t device = 0;
  ino_t inode = 0;
  bool writable = false;
  /// A newer library has written it: only the views for programs are known here.
  bool newer = false;
  /// Where those wait who write the file.
  std::optional<LockFile> writers_lock;

  /// Whether the path now has another file, or none: then what is written here is lost.
  bool was_replaced() const;
};

/// Creates the file, opens it, or sets it aside if it is damaged and begins a new one. Empty where
/// nothing can be done; a warning tells why.
std::optional<StoreFile> open_to_write(const std::filesystem::path& path,
                                       const StoreOptions& options, const Warn& warn);

/// The same for a file that turned out to be damaged while it was used. The caller has closed it.
std::optional<StoreFile> replace_and_open(const std::filesystem::path& path,
                                          const StoreOptions& options, const Warn& warn);

/// Opens a file that is there, changing nothing. Waits while another process replaces it.
std::optional<StoreFile> open_to_read(const std::filesystem::path& path,
                                      const StoreOptions& options, const Warn& warn);

}  // namespace tunedgemm::internal
