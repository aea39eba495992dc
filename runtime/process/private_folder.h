#pragma once

// A folder for temporary files that others cannot touch.

#include <filesystem>
#include <vector>

namespace tunedgemm::internal {

/// $TMPDIR and /tmp.
std::vector<std::filesystem::path> temporary_places();

/// A private folder, removed with all that is in it. Its name, tunedgemm-<pid>-XXXXXX, has the
/// number of this process, so that the folder of a process that was killed can be told: the next
/// one to be made beside it removes it.
class PrivateFolder {
 public:
  /// In the first place where one can be made. Throws std::system_error, which names the last place,
  /// if there is none.
  [[nodiscard]] PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tunedgemm::internal
