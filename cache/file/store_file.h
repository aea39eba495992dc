#pragma once

// StoreFile: one open database file of a store, and the functions that open it. Private to cache.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cache/file/lock_file.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store_types.h"

namespace tunedgemm::internal {

/// Called with a message for the user: what is wrong or what was done, and the remedy if there is
/// one.
using Warn = std::function<void(std::string)>;

struct StoreFile {
  sqlite::Connection connection;
  std::filesystem::path path;
  dev_t device = 0;
  ino_t inode = 0;
  bool writable = false;
  /// Whether the file has the schema of a newer library. If so, only the views for programs may be
  /// used.
  bool newer = false;
  /// The queue of the writers; empty if the file is read-only.
  std::optional<LockFile> writers_lock;

  /// Whether the path now has another file, or none. In either case, writes to this file are lost.
  bool was_replaced() const;
};

/// Creates the file or opens it. A damaged file is set aside and replaced with a new one. A file
/// that this user cannot write, or that a newer library wrote, is opened to read. Empty if no file
/// can be opened; a warning then says why.
std::optional<StoreFile> open_to_write(const std::filesystem::path& path,
                                       const StoreOptions& options, const Warn& warn);

/// Replaces and reopens a file that turned out to be damaged during its use. The caller must have
/// closed it.
std::optional<StoreFile> replace_and_open(const std::filesystem::path& path,
                                          const StoreOptions& options, const Warn& warn);

/// Opens an existing file. Never changes it, except to roll back the transaction of a killed
/// process. Waits while another process replaces the file.
std::optional<StoreFile> open_to_read(const std::filesystem::path& path,
                                      const StoreOptions& options, const Warn& warn);

}  // namespace tunedgemm::internal
