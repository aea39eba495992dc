#pragma once

// PrivateFolder: a folder for temporary files that other users cannot access.

#include <filesystem>
#include <vector>

namespace tunedgemm::internal {

/// $TMPDIR, if it is an absolute path, and /tmp.
std::vector<std::filesystem::path> temporary_places();

/// The destructor removes the folder with its contents. The folder's name, tunedgemm-<pid>-XXXXXX,
/// contains the pid of its process. If that process was killed, a later PrivateFolder in the same
/// place removes the folder once the folder is ten minutes old.
class PrivateFolder {
 public:
  /// Creates the folder in the first of the temporary_places() that allows it and where no other
  /// user can replace the folder (cache/trust.h). If there is no such place, throws a
  /// std::system_error that names the last place tried.
  [[nodiscard]] PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tunedgemm::internal
