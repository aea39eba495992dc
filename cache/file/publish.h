#pragma once

// Creates a database: builds it completely under a private name, and then publishes it under its
// own name. No process therefore sees an incomplete database, or waits for another process at the
// first start. The journal mode is stored in the file, so it is set here and never while the file
// is in use. Private to cache.

#include <cstdint>
#include <filesystem>
#include <functional>

#include "cache/file/lock_file.h"
#include "cache/store_types.h"

namespace tunedgemm::internal {

/// Throws std::filesystem::filesystem_error with the error number of the last system call.
[[noreturn]] void throw_errno(const char* doing, const std::filesystem::path& path);

/// A file under a private name beside its target, readable by this user alone. The destructor
/// removes the private name and SQLite's files beside it. If the process is killed before, a later
/// build in the same folder removes them once they are an hour old. Members throw
/// std::filesystem::filesystem_error.
class PrivateBuild {
 public:
  /// Calls `build` with the name of an empty file and syncs the result to disk.
  PrivateBuild(const std::filesystem::path& target,
               const std::function<void(const std::filesystem::path&)>& build);
  ~PrivateBuild();
  PrivateBuild(const PrivateBuild&) = delete;
  PrivateBuild& operator=(const PrivateBuild&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Publishes the file under the target's name unless that name is taken; returns whether it did.
  bool publish_unless_there() const;
  /// Publishes the file under the target's name, replacing the file that has it.
  void publish_in_place() const;

 private:
  void remove() const;

  std::filesystem::path target_;
  std::filesystem::path path_;
};

/// Copies the file; the copy is readable by this user alone. Throws fs::filesystem_error.
void copy_bytes(const Descriptor& from, const std::filesystem::path& destination);

/// The application id in a database's header, as in Connection::header_on_disk; 0 if there is none.
std::uint32_t application_id(const Descriptor& file);

/// For PrivateBuild: makes all tables and views and sets the journal mode. Throws sqlite::Error.
void build_database(const std::filesystem::path& path, StoreOptions::Journal journal);

}  // namespace tunedgemm::internal
