#pragma once

// Where NVRTC lies and which version it is, told from the file system: a process that finds
// everything in the cache needs the version for the key, and must not load 100 MB to learn it.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tunedgemm::internal::cuda {

struct NvrtcLocation {
  std::filesystem::path path;
  std::string version;  ///< "13.0", or "13" where no file name tells more
};

/// The first libnvrtc found in, or named by, $TUNEDGEMM_NVRTC; the folders that the loader searches
/// ($LD_LIBRARY_PATH, the lines of /etc/ld.so.conf.d, the system's own); $CUDA_HOME and $CUDA_PATH;
/// /usr/local/cuda; the wheels of pip in $VIRTUAL_ENV, $CONDA_PREFIX and the system's Python. In a
/// folder the newest counts.
std::optional<NvrtcLocation> find_nvrtc();

/// The newest libnvrtc in the folder.
std::optional<NvrtcLocation> find_nvrtc_in(const std::filesystem::path& folder);

/// The folders that find_nvrtc looks into, in order, for messages.
std::vector<std::filesystem::path> nvrtc_folders();

}  // namespace tunedgemm::internal::cuda
