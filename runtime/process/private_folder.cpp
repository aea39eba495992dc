#include "runtime/process/private_folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include "cache/trust.h"
#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "tunedgemm-";
// A folder without a new file for this long is not in use, because the longest compilation takes
// half as long. The age protects the folders of processes in other containers, whose pids are not
// valid here.
constexpr std::chrono::minutes kStaleAge{10};

bool is_of_dead_process(const fs::path& folder) {
  const std::string name = folder.filename();
  if (!name.starts_with(kPrefix)) {
    return false;
  }
  pid_t maker = 0;
  const char* const end = name.data() + name.size();
  const auto number = std::from_chars(name.data() + kPrefix.size(), end, maker);
  struct stat status {};
  return number.ec == std::errc() && number.ptr != end && *number.ptr == '-' && maker > 0 &&
         kill(maker, 0) != 0 && errno == ESRCH && lstat(folder.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         std::chrono::system_clock::now() -
                 std::chrono::system_clock::from_time_t(status.st_mtime) >
             kStaleAge;
}

void remove_folders_of_dead_processes(const fs::path& place) {
  std::error_code error;
  for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    if (is_of_dead_process(at->path())) {
      std::error_code ignored;
      fs::remove_all(at->path(), ignored);
    }
  }
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
    remove_folders_of_dead_processes(place);
    name = place / (std::string(kPrefix) + std::to_string(getpid()) + "-XXXXXX");
    if (mkdtemp(name.data()) != nullptr) {
      path_ = name;
      return;
    }
    error = errno;
  }
  throw std::system_error(error, std::generic_category(),
                          "cannot create a temporary folder, the last attempt was " + name);
}

PrivateFolder::~PrivateFolder() {
  try {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  } catch (const std::exception&) {
    // no memory: a later process removes the folder
  }
}

}  // namespace tunedgemm::internal
