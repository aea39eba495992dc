#pragma once

// TemporaryFolder: a fresh folder for one test, removed with its contents afterwards.

#include <filesystem>

namespace tunedgemm::internal {

/// Not movable. Used by one thread.
class TemporaryFolder {
 public:
  /// Throws std::system_error if no folder can be made.
  [[nodiscard]] TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tunedgemm::internal
