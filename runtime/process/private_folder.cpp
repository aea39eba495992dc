#include "runtime/process/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "cache/trust.h"
#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "tunedgemm-";
constexpr std::string_view kRandom = "XXXXXX";  // as mkdtemp(3) makes it

bool is_name_of_folder(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return false;
  }
  name.remove_prefix(kPrefix.size());
  const std::size_t hyphen = name.find('-');
  const auto is_digit = [](char character) { return character >= '0' && character <= '9'; };
  const auto is_letter_or_digit = [&](char character) {
    return is_digit(character) || (character >= 'A' && character <= 'Z') ||
           (character >= 'a' && character <= 'z');
  };
  return hyphen != name.npos && hyphen > 0 && name.size() == hyphen + 1 + kRandom.size() &&
         std::ranges::all_of(name.substr(0, hyphen), is_digit) &&
         std::ranges::all_of(name.substr(hyphen + 1), is_letter_or_digit);
}

fs::path lock_path(const fs::path& folder) {
  return folder / ".lock";
}

bool is_same_file(const struct stat& left, const struct stat& right) {
  return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

// Whether the open file is the folder's lock.
bool is_lock_of(int lock, const fs::path& folder) {
  struct stat opened {
  }, named{};
  return fstat(lock, &opened) == 0 && lstat(lock_path(folder).c_str(), &named) == 0 &&
         is_same_file(opened, named);
}

bool is_own_folder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

// Puts a locked lock into a new folder. Empty, with errno set, if that fails; EAGAIN or ENOENT if
// another process has found the folder before it was locked, and removes it. On a file system
// without locks the lock is free, but nobody can take it either.
std::optional<int> lock_new(const fs::path& folder) {
  const int lock = open(lock_path(folder).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock < 0) {
    return std::nullopt;
  }
  const bool is_locked = flock(lock, LOCK_EX | LOCK_NB) == 0;
  if ((is_locked || errno != EWOULDBLOCK) && is_lock_of(lock, folder)) {
    return lock;
  }
  close(lock);
  errno = EAGAIN;
  return std::nullopt;
}

// The lock goes last: nobody would remove what is left without it, for want of descriptors for
// example.
void remove_folder(const fs::path& folder) {
  std::error_code error;
  bool is_empty = true;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path() != lock_path(folder)) {
      std::error_code failed;
      fs::remove_all(at->path(), failed);
      is_empty = is_empty && !failed;
    }
  }
  if (is_empty && !error) {
    unlink(lock_path(folder).c_str());
    rmdir(folder.c_str());
  }
}

std::vector<fs::path> folders_in(const fs::path& place) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    if (is_name_of_folder(at->path().filename().string()) && is_own_folder(at->path())) {
      folders.push_back(at->path());
    }
  }
  return folders;
}

// Locks the folder, removes it unless a folder in it is in use, and returns whether it was removed.
// The folders in it belong to child processes, which may outlive its maker.
bool remove_if_unused(const fs::path& folder) {
  const int lock = open(lock_path(folder).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (lock < 0) {
    return false;
  }
  bool is_unused = flock(lock, LOCK_EX | LOCK_NB) == 0 && is_lock_of(lock, folder);
  if (is_unused) {
    for (const fs::path& inner : folders_in(folder)) {
      is_unused = remove_if_unused(inner) && is_unused;
    }
  }
  if (is_unused) {
    remove_folder(folder);
  }
  close(lock);
  return is_unused;
}

}  // namespace

std::vector<fs::path> temporary_places() {
  const std::string tmpdir = environment("TMPDIR");
  return tmpdir.starts_with('/') ? std::vector<fs::path>{tmpdir, "/tmp"}
                                 : std::vector<fs::path>{"/tmp"};
}

PrivateFolder::PrivateFolder() {
  int error = ENOENT;
  std::string name;
  for (const fs::path& place : temporary_places()) {
    // A user who can rename the folder could put other code in its place.
    if (const Trust trust = examine_trust(place / "folder" / "kernel.so"); !trust) {
      name = place.string() + ", which " + trust.why_not;
      error = EPERM;
      continue;
    }
    std::ranges::for_each(folders_in(place), remove_if_unused);
    do {
      name = place / (std::string(kPrefix) + std::to_string(getpid()) + "-").append(kRandom);
      if (mkdtemp(name.data()) == nullptr) {
        error = errno;
        break;
      }
      if (const std::optional<int> lock = lock_new(name)) {
        path_ = name;
        lock_ = *lock;
        return;
      }
      error = errno;
      rmdir(name.c_str());
    } while (error == EAGAIN || error == ENOENT);
  }
  throw std::system_error(error, std::generic_category(),
                          "cannot create a temporary folder, the last attempt was " + name);
}

PrivateFolder::~PrivateFolder() {
  close(lock_);  // first: removing the folder needs a descriptor, and if that fails, another may
  try {
    if (!is_kept_) {
      remove_folder(path_);
    }
  } catch (const std::exception&) {
    // no memory: a later process removes the folder
  }
}

bool PrivateFolder::is_there() const {
  return is_kept_ ? is_own_folder(path_) : is_lock_of(lock_, path_);
}

bool PrivateFolder::restore() {
  if (is_there()) {
    return false;
  }
  const bool is_made = mkdir(path_.c_str(), 0700) == 0 || is_own_folder(path_);
  if (!is_made || is_kept_) {
    return true;
  }
  if (const std::optional<int> lock = lock_new(path_)) {
    close(lock_);
    lock_ = *lock;
  }
  return true;
}

void PrivateFolder::keep() {
  is_kept_ = true;
  unlink(lock_path(path_).c_str());
}

void PrivateFolder::keep_no_longer() {
  is_kept_ = false;
  restore();  // puts the lock back
}

}  // namespace tunedgemm::internal
