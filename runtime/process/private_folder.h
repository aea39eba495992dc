#pragma once

// PrivateFolder: a folder for temporary files that other users cannot access.

#include <filesystem>
#include <vector>

namespace tunedgemm::internal {

/// $TMPDIR, if it is an absolute path, and /tmp.
std::vector<std::filesystem::path> temporary_places();

/// The folder's name is tunedgemm-<pid>-XXXXXX. The folder holds a file `.lock`, which its maker
/// keeps locked (flock) while the object lives; the lock works between PID namespaces and
/// containers that share the place. The destructor removes the folder with its contents. If the
/// maker was killed, the next PrivateFolder in the same place removes it: of the folders with that
/// form of name, those of this user whose lock is free, and which contain no folder that is in use.
/// A folder without the file is left alone.
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

  /// Whether the folder is still there: programs that clean /tmp remove folders in use.
  bool is_there() const;
  /// Makes the folder again if it was removed, and locks it if a folder was made again under its
  /// name. Returns whether anything was amiss.
  bool restore();
  /// From now on nobody removes the folder, not even the destructor.
  void keep();
  void keep_no_longer();

 private:
  std::filesystem::path path_;
  int lock_ = -1;
  bool is_kept_ = false;
};

}  // namespace tunedgemm::internal
