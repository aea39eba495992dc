#include "runtime/host/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <thread>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

bool has_room(const fs::path& folder, std::int64_t needed_bytes) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0) {
    return true;  // what is written will tell
  }
  return static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize) >=
         static_cast<double>(needed_bytes);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  DIR* open = opendir(folder.c_str());
  // The descriptor that is kept for this may be another thread's for a moment.
  for (int tries = 0; open == nullptr && (errno == EMFILE || errno == ENFILE) && tries < 500;
       ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    open = opendir(folder.c_str());
  }
  while (const dirent* const entry = open == nullptr ? nullptr : readdir(open)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      entries.push_back(folder / name);
    }
  }
  if (open != nullptr) {
    closedir(open);
  }
  return entries;
}

// As std::filesystem::remove_all, with one descriptor in place of one for each level.
void remove_tree(const fs::path& folder) {
  for (const fs::path& entry : entries_of(folder)) {
    if (unlink(entry.c_str()) != 0) {
      remove_tree(entry);
    }
  }
  rmdir(folder.c_str());
}

}  // namespace

std::vector<fs::path> temporary_places() {
  std::vector<fs::path> places{"/tmp", "/var/tmp", "/dev/shm",
                               "/run/user/" + std::to_string(geteuid())};
  if (const std::string given = environment("TMPDIR"); given.starts_with('/')) {
    places.insert(places.begin(), given);
  }
  return places;
}

PrivateFolder::PrivateFolder(std::int64_t needed_bytes) {
  int error = ENOENT;
  std::string name;
  for (const fs::path& place : temporary_places()) {
    name = place / "tunedgemm-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      error = errno;
      continue;
    }
    handle_ = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = handle_ < 0 ? errno : ENOSPC;
    if (handle_ >= 0 && has_room(name, needed_bytes)) {
      path_ = name;
      return;
    }
    close(handle_);
    rmdir(name.c_str());
  }
  throw std::system_error(error, std::generic_category(),
                          "no temporary folder can be made, the last try was " + name);
}

PrivateFolder::~PrivateFolder() {
  close(handle_);  // for the removal
  try {
    remove_tree(path_);
  } catch (const std::exception&) {
    // What is left has no secrets, and the system empties its temporary places.
  }
}

}  // namespace tunedgemm::internal
