#include "cache/file/location.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using Journal = StoreOptions::Journal;

// Values of statfs(2)'s f_type: ext2 to ext4, XFS, Btrfs, ZFS, F2FS, bcachefs, tmpfs, ramfs,
// overlayfs.
constexpr std::array<std::uint32_t, 9> kLocalFileSystems{0x0000ef53, 0x58465342, 0x9123683e,
                                                         0x2fc12fc1, 0xf2f52010, 0xca451a4e,
                                                         0x01021994, 0x858458f6, 0x794c7630};

fs::path whole_path(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole;
}

}  // namespace

fs::path store_path(const StoreOptions& options) {
  if (!options.path.empty()) {
    return whole_path(options.path);
  }
  if (const std::string named = environment("TUNEDGEMM_CACHE"); !named.empty()) {
    return whole_path(named);
  }
  // The XDG base directory specification: relative paths are invalid and must be ignored.
  if (const fs::path cache = environment("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "tunedgemm" / "tunedgemm.db";
  }
  if (const fs::path home = environment("HOME"); home.is_absolute()) {
    return home / ".cache" / "tunedgemm" / "tunedgemm.db";
  }
  return {};
}

std::vector<fs::path> system_store_paths(const StoreOptions& options) {
  if (!options.system_paths.empty()) {
    return options.system_paths;
  }
  std::vector<fs::path> paths;
  const std::string named = environment("TUNEDGEMM_SYSTEM_CACHE");
  for (const std::string_view path : split(named, ':')) {
    if (!path.empty()) {
      paths.push_back(whole_path(path));
    }
  }
  return paths;
}

std::error_code make_private_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) {
    return {};
  }
  if (folder.has_parent_path() && folder.parent_path() != folder) {
    if (const auto above = make_private_folder(folder.parent_path())) {
      return above;
    }
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return {errno, std::generic_category()};
  }
  return {};
}

bool is_on_local_file_system(const fs::path& folder) {
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) {
    return false;
  }
  return std::find(kLocalFileSystems.begin(), kLocalFileSystems.end(),
                   static_cast<std::uint32_t>(status.f_type)) != kLocalFileSystems.end();
}

bool has_wal_reset_repair(int sqlite_version_number) {
  const int version = sqlite_version_number;
  return version >= 3'051'003 || (version >= 3'050'007 && version < 3'051'000) ||
         (version >= 3'044'006 && version < 3'045'000);
}

Journal journal_for(Journal wish, bool local_file_system, int sqlite_version_number) {
  if (wish != Journal::kAutomatic) {
    return wish;
  }
  return local_file_system && has_wal_reset_repair(sqlite_version_number) ? Journal::kWriteAhead
                                                                          : Journal::kRollback;
}

}  // namespace tunedgemm::internal
