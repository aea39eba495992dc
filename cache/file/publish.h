#pragma once

// How a database comes into being: it is built whole under a private name, where nobody looks, and
// only then gets its name. So no process ever sees half a database, nobody has to wait for another
// one at the first start, and the journal mode, which is kept in the file, is never set on a file
// that others use. Private to cache.

#include <filesystem>
#include <functional>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"

namespace tunedgemm::internal {

/// A file under a private name beside the place where it shall be, for this user alone. Removed by
/// the destructor, with what SQLite has left beside it, unless it was published. Its members throw
/// std::filesystem::filesystem_error.
class PrivateBuild {
 public:
  /// Calls `build` with the name of an empty file and brings to the disk what that has become.
  PrivateBuild(const std::filesystem::path& target,
               const std::function<void(const std::filesystem::path&)>& build);
  ~PrivateBuild();
  PrivateBuild(const PrivateBuild&) = delete;
  PrivateBuild& operator=(const PrivateBuild&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Gives it its name, unless there is a file of that name; returns whether it did.
  bool publish_unless_there() const;
  /// Gives it its name, in place of the file that has it.
  void publish_in_place() const;

 private:
  void remove() const;

  std::filesystem::path target_;
  std::filesystem::path path_;
};

/// For PrivateBuild: makes all tables and views and sets the journal mode. Throws sqlite::Error.
void build_database(const std::filesystem::path& path, StoreOptions::Journal journal);

}  // namespace tunedgemm::internal
