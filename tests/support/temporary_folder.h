#pragma once

// TemporaryFolder: a fresh folder for one test, removed with everything in it afterwards.

#include <filesystem>

namespace tunedgemm::internal {

/// Move is not needed and not offered. Used by one thread.
class TemporaryFolder {
 public:
  /// Throws std::system_error where no folder can be made.
  [[nodiscard]] TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tunedgemm::internal
