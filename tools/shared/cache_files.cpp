#include "tools/shared/cache_files.h"

#include <algorithm>
#include <system_error>

namespace tunedgemm::internal {

namespace fs = std::filesystem;

std::unique_ptr<Store> open_file_for_reading(const fs::path& file) {
  StoreOptions options;
  options.access = StoreOptions::Access::kMemoryOnly;
  options.system_paths = {file};
  return Store::open(options);
}

std::vector<fs::path> cache_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;
    const fs::path& path = entry.path();
    if (path.extension() == ".db" && path.filename().string().front() != '.' &&
        entry.is_regular_file(ignored)) {
      files.push_back(path);
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace tunedgemm::internal
