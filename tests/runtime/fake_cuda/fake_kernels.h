#pragma once

// The library's kernels as loops on the CPU. The functions of the host's verifier replace the
// kernels of the CUDA verifier. A fake cubin names a kernel and its defines. The result depends
// only on the cubin and on the launch's arguments.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel_templates/cuda/common/arguments.cuh"

namespace tunedgemm::internal::fake_cuda {

/// A module: the text of the fake NVRTC's cubin, or of a PTX program.
struct Image {
  std::string entry;
  std::string architecture;  ///< "90a"; empty: any
  std::map<std::string, std::string> defines;

  /// A family's kernel; false for the verifier's kernels and PTX programs.
  bool is_product() const { return defines.count("TYPE_A") > 0; }
  /// Whether the kernel takes one pointer instead of Arguments.
  bool is_ptx() const { return entry == "sm_probe" || entry == "count_up"; }
};

/// Parses the text of a module. The entry is empty if the text is neither a fake cubin nor a known
/// PTX program.
Image read_image(const char* text);

/// A copy of a launch's arguments.
struct LaunchArguments {
  Arguments arguments{};
  int* pointer = nullptr;  ///< for a PTX program
  unsigned blocks = 0, threads = 0, cluster = 1;
};

/// A range of bytes that a launch reads or writes. For the verifier's kernels, only their task is
/// listed.
struct Touched {
  const char* name;
  const void* pointer;
  std::int64_t bytes;
};
std::vector<Touched> touched_by(const Image& image, const LaunchArguments& launch);

/// An error message, or "".
std::string compute(const Image& image, const LaunchArguments& launch);

}  // namespace tunedgemm::internal::fake_cuda
