#pragma once

// Puts the library of tests/runtime/breaking_nvrtc in the place of NVRTC.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "runtime/cuda/nvrtc.h"

namespace tunedgemm::internal {

/// The path of a program or library built in the tests' folder.
inline std::string beside_this_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

/// Contexts that are created during its lifetime use the library. Needs an NVRTC.
class [[nodiscard]] BreakingNvrtc {
 public:
  /// `list` is a file that says which kernels to break.
  explicit BreakingNvrtc(const std::filesystem::path& list = "/dev/null") {
    const std::string real = cuda::find_nvrtc().value().path;
    ::setenv("TUNEDGEMM_TEST_NVRTC", real.c_str(), 1);
    ::setenv("TUNEDGEMM_TEST_BREAK", list.c_str(), 1);
    ::setenv("TUNEDGEMM_NVRTC", beside_this_program("breaking_nvrtc/libnvrtc.so.13.0").c_str(), 1);
  }
  BreakingNvrtc(const BreakingNvrtc&) = delete;
  BreakingNvrtc& operator=(const BreakingNvrtc&) = delete;
  ~BreakingNvrtc() {
    for (const char* name : {"TUNEDGEMM_TEST_NVRTC", "TUNEDGEMM_TEST_BREAK", "TUNEDGEMM_TEST_FAIL",
                             "TUNEDGEMM_NVRTC"}) {
      ::unsetenv(name);
    }
  }
};

}  // namespace tunedgemm::internal
