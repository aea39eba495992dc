#pragma once

// Nvrtc: NVIDIA's run-time compiler, opened when the first source must be compiled. Sources become
// cubins: machine code for one architecture, which the driver loads without compiling anything.

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

/// Where NVRTC lies and which version it is, told from the file system: a process that finds
/// everything in the cache needs the version for the key, and must not load 100 MB to learn it.
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

/// The assembler's (ptxas -v) figures of a kernel, read from the compiler's log.
struct CompilerFigures {
  int registers = 0;              ///< of a thread
  std::int64_t shared_bytes = 0;  ///< static shared memory
  std::int64_t spill_bytes = 0;   ///< stores and loads
  /// The line by which the assembler gave up what the kernel relies on (C7500 to C7599: wgmma
  /// serialised, setmaxnreg ignored), else empty.
  std::string given_up;
};

/// Sums over all functions that the log speaks of; registers are the greatest.
CompilerFigures parse_compiler_log(std::string_view log);

/// Thread-safe: several threads may compile at once.
class Nvrtc {
 public:
  /// Loads the library. Throws DeviceError(kUnavailable).
  explicit Nvrtc(const NvrtcLocation& location);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  /// For a device of that compute capability (90: sm_90, or sm_90a where the source needs exactly
  /// that). A source that does not compile, or whose assembly the compiler had to serialise, is a
  /// value with the log. Throws DeviceError if the compiler itself fails.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture) const;

 private:
  struct Functions;

  std::string architecture_option(const Source& source, int architecture) const;

  NvrtcLocation location_;
  std::unique_ptr<const Functions> functions_;
  std::vector<int> supported_;
};

}  // namespace tunedgemm::internal::cuda
