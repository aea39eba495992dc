#include "cache/file/publish.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>

#include "cache/sqlite/schema.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

std::string private_prefix(const fs::path& target) {
  return target.filename().string() + ".new-";
}

// Removes private files older than an hour: their processes were killed while building.
void remove_leftovers(const fs::path& target) {
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(target.parent_path(), error)) {
    if (entry.path().filename().string().starts_with(private_prefix(target)) &&
        entry.last_write_time(error) < long_ago) {
      fs::remove(entry.path(), error);
    }
  }
}

// Creates an empty file, readable by this user alone, under an unused name. SQLite keeps the mode.
fs::path make_private_file(const fs::path& target) {
  std::string name = (target.parent_path() / (private_prefix(target) + "XXXXXX")).string();
  const int file = mkstemp(name.data());
  if (file < 0) {
    throw_errno("cannot create", target);
  }
  close(file);
  return name;
}

void sync_to_disk(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw_errno("cannot open", path);
  }
  const int result = fsync(file);
  close(file);
  if (result != 0) {
    throw_errno("cannot write", path);
  }
}

}  // namespace

void throw_errno(const char* doing, const fs::path& path) {
  throw fs::filesystem_error(doing, path, std::error_code(errno, std::generic_category()));
}

PrivateBuild::PrivateBuild(const fs::path& target,
                           const std::function<void(const fs::path&)>& build)
    : target_(target), path_(make_private_file(target)) {
  try {
    remove_leftovers(target);
    build(path_);
    sync_to_disk(path_);
  } catch (...) {
    remove();
    throw;
  }
}

PrivateBuild::~PrivateBuild() {
  remove();
}

void PrivateBuild::remove() const {
  for (const char* side_file : {"", "-journal", "-wal", "-shm"}) {
    unlink((path_.string() + side_file).c_str());
  }
}

bool PrivateBuild::publish_unless_there() const {
  if (link(path_.c_str(), target_.c_str()) == 0) {
    return true;
  }
  // Without hard links, the file system may still support renaming without replacing.
  if (errno != EEXIST &&
      renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno != EEXIST) {
    throw_errno("cannot create", target_);
  }
  return false;
}

void PrivateBuild::publish_in_place() const {
  if (rename(path_.c_str(), target_.c_str()) != 0) {
    throw_errno("cannot replace", target_);
  }
}

void build_database(const fs::path& path, StoreOptions::Journal journal) {
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 0);
  // Safe, since nobody else sees the file yet, and it is discarded if anything fails.
  connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  create_schema(connection);
  if (journal == StoreOptions::Journal::kWriteAhead) {
    connection.execute("PRAGMA journal_mode = WAL");
  }
}

}  // namespace tunedgemm::internal
