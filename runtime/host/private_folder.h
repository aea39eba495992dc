#pragma once

// Where files may lie for a moment: folders in which this process can make files that others cannot
// touch.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tunedgemm::internal {

/// What there is to try, in this order: $TMPDIR, /tmp, /var/tmp, /dev/shm, /run/user/<uid>.
std::vector<std::filesystem::path> temporary_places();

/// A private folder, removed with all that is in it. Used by one thread.
class PrivateFolder {
 public:
  /// In the first place that can be written and has so much room. Throws std::system_error, which
  /// names the last place, if there is none.
  [[nodiscard]] explicit PrivateFolder(std::int64_t needed_bytes);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int handle_ = -1;  ///< a descriptor for its removal, when there may be no other left
};

}  // namespace tunedgemm::internal
