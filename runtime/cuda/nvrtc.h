#pragma once

// Nvrtc: NVIDIA's run-time compiler, which is loaded only when it is needed. It compiles sources to
// cubins. A cubin is machine code for one architecture, which the driver loads without compiling.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// The path and the version of NVRTC, read from the file system. The version is part of cache keys,
/// so even a process that compiles nothing needs it. Loading the library, which has 100 MB, would
/// cost that process too much.
struct NvrtcLocation {
  std::filesystem::path path;
  std::string version;  ///< "13.0", or "13" if no file name has the minor version
};

/// The libnvrtc that $TUNEDGEMM_NVRTC names, as a file or as its folder. If the variable is not
/// set, the first libnvrtc in: the folders of the loader ($LD_LIBRARY_PATH, the lines of
/// /etc/ld.so.conf.d, the system folders); $CUDA_HOME and $CUDA_PATH; /usr/local/cuda; lib and the
/// wheels of pip in $VIRTUAL_ENV, $CONDA_PREFIX, /usr/local and /usr. If a folder has several
/// versions, the newest.
std::optional<NvrtcLocation> find_nvrtc();

/// The newest libnvrtc in the folder.
std::optional<NvrtcLocation> find_nvrtc_in(const std::filesystem::path& folder);

/// The folders that find_nvrtc searches, in order, for messages.
std::vector<std::filesystem::path> nvrtc_folders();

/// Figures that ptxas -v prints to the log.
struct CompilerFigures {
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< static shared memory
  std::int64_t spill_bytes = 0;   ///< stores and loads
  /// A warning that ptxas dropped an optimization on which the kernel relies (C7500 to C7599: wgmma
  /// serialised, setmaxnreg ignored). Empty if there is none.
  std::string performance_warning;
};

/// Bytes are sums over all functions in the log; registers are the maximum.
CompilerFigures parse_compiler_log(std::string_view log);

/// Thread-safe: threads may compile concurrently. Does without the driver's cache on disk, which
/// NVRTC uses since 12.9: its machine code comes without a log, and so without figures. It would
/// also initialise the driver with all GPUs, one process at a time: 0.15 s for each on a machine
/// with four.
class Nvrtc {
 public:
  /// Loads the library. Throws DeviceError(kUnavailable).
  explicit Nvrtc(const NvrtcLocation& location);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  /// Empty if NVRTC compiles for the compute capability (such as 90), else a sentence.
  std::string why_not(int architecture) const;

  /// Compiles for a compute capability (90: sm_90, or sm_90a if the source needs that exact
  /// architecture). If NVRTC does not know the compute capability, compiles for an earlier minor
  /// version, unless the source needs the exact one. Returns a CompileFailure if the source does
  /// not compile, or if there is a performance_warning. A failure of the compiler itself has the
  /// cause kEnvironment.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture) const;

 private:
  struct Functions;

  /// Empty if NVRTC cannot compile the source for the architecture.
  std::string architecture_option(const Source& source, int architecture) const;

  NvrtcLocation location_;
  std::unique_ptr<const Functions> functions_;
  std::vector<int> supported_;
};

}  // namespace tunedgemm::internal::cuda
