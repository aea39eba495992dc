#pragma once

// PrivateFolder: a folder for temporary files that other users cannot access.

#include <filesystem>
#include <vector>

namespace tunedgemm::internal {

/// $TMPDIR, if it is an absolute path, and /tmp.
std::vector<std::filesystem::path> temporary_places();

/// The destructor removes the folder with its contents. Its name, tunedgemm-<pid>-XXXXXX, contains
/// the pid of its process: if that process was killed, the next PrivateFolder created in the same
/// place removes the folder.
class PrivateFolder {
 public:
  /// Creates the folder in the first of the temporary_places() that allows it and in which nobody
  /// else can replace it (cache/trust.h). If there is none, throws std::system_error, which names
  /// the last one.
  [[nodiscard]] PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tunedgemm::internal
