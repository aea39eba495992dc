#include "runtime/host/private_folder.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "kernel_templates/environment.h"

namespace tunedgemm {
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
    if (has_room(name, needed_bytes)) {
      path_ = name;
      return;
    }
    error = ENOSPC;
    rmdir(name.c_str());
  }
  throw std::system_error(error, std::generic_category(),
                          "no temporary folder can be made, the last try was " + name);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tunedgemm
