#include "cache/file/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cache/replace_file.h"
#include "cache/sqlite/schema.h"
#include "kernel_templates/base/file_size_signal.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

// Private names are "<target's name>.new-XXXXXX", as mkstemp(3) makes them.
constexpr std::string_view kInfix = ".new-", kRandom = "XXXXXX";

bool is_private_name(std::string_view name) {
  if (name.size() <= kInfix.size() + kRandom.size()) {
    return false;
  }
  const std::string_view random = name.substr(name.size() - kRandom.size());
  name.remove_suffix(kRandom.size());
  const auto is_letter_or_digit = [](unsigned char character) {
    return character < 0x80 && std::isalnum(character) != 0;
  };
  return name.ends_with(kInfix) && std::ranges::all_of(random, is_letter_or_digit);
}

// Whether a killed build can have left the file: a regular file of this user, untouched for an
// hour, which is empty, has no first page yet, or is a cache. A user's file may have a private name
// by chance.
bool is_leftover(const fs::path& path) {
  constexpr auto kLongAgo = std::chrono::hours(1);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid() ||
      std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(status.st_mtime) <
          kLongAgo) {
    return false;
  }
  if (application_id(file) == kApplicationId) {
    return true;
  }
  std::array<char, 100> header{};  // of a database
  return pread(file.number(), header.data(), header.size(), 0) >= 0 &&
         std::ranges::all_of(header, [](char byte) { return byte == 0; });
}

void remove_private_file(const fs::path& path) {
  for (const char* side_file : {"", "-journal", "-wal", "-shm"}) {
    unlink((path.string() + side_file).c_str());
  }
}

// Removes what killed processes left in the folder, under the names of any targets: the same target
// may never be built again.
void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_private_name(at->path().filename().string()) && is_leftover(at->path())) {
      remove_private_file(at->path());
    }
  }
}

// Creates an empty file, readable by this user alone, under an unused name. SQLite keeps the mode.
fs::path make_private_file(const fs::path& target) {
  std::string name = target.string().append(kInfix).append(kRandom);
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
    remove_leftovers(target.parent_path());
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
  remove_private_file(path_);
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

void copy_bytes(const Descriptor& from, const fs::path& destination) {
  const Descriptor to(
      open(destination.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!to) {
    throw_errno("cannot open", destination);
  }
  std::vector<char> bytes(std::size_t{1} << 20);
  for (off_t offset = 0;;) {
    const ssize_t count = pread(from.number(), bytes.data(), bytes.size(), offset);
    if (count == 0) {
      return;
    }
    if (count < 0) {
      throw_errno("cannot copy to", destination);
    }
    for (ssize_t written = 0; written < count;) {
      const ssize_t more =
          write(to.number(), bytes.data() + written, static_cast<std::size_t>(count - written));
      if (more <= 0) {
        throw_errno("cannot copy to", destination);
      }
      written += more;
    }
    offset += count;
  }
}

std::uint32_t application_id(const Descriptor& file) {
  std::array<unsigned char, 4> bytes{};
  constexpr off_t kOffset = 68;
  (void)!pread(file.number(), bytes.data(), bytes.size(), kOffset);
  std::uint32_t id = 0;
  for (const unsigned char byte : bytes) {
    id = id << 8U | byte;
  }
  return id;
}

void replace_by_copy(const fs::path& source, const fs::path& target) {
  const FileSizeSignalBlocked guard;
  PrivateBuild(target, [&](const fs::path& path) {
    const Descriptor from(open(source.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!from || fstat(from.number(), &status) != 0) {
      throw_errno("cannot open", source);
    }
    copy_bytes(from, path);
    if (chmod(path.c_str(), status.st_mode & 0777U) != 0) {
      throw_errno("cannot change the mode of", path);
    }
  }).publish_in_place();
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
