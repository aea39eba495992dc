#pragma once

// What the kernels of the library compute, as loops on the CPU; those of the verifier are the host's
// verifier. A fake cubin names a kernel and the defines that it was compiled with; that, and the
// arguments of a launch, is all that the result depends on.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel_templates/cuda/common/arguments.cuh"

namespace tunedgemm::internal::fake_cuda {

/// Of a module: the text that the fake NVRTC made, or of a program in PTX.
struct Image {
  std::string entry;
  std::string architecture;  ///< "90a"; empty: any
  std::map<std::string, std::string> defines;

  /// A family's kernel, as opposed to those of the verifier and in PTX.
  bool is_product() const { return defines.count("TYPE_A") > 0; }
  /// Takes one pointer instead of Arguments.
  bool is_ptx() const { return entry == "where" || entry == "count_up"; }
};

/// An empty entry if the text is neither.
Image read_image(const char* text);

/// What a launch is given, copied.
struct LaunchArguments {
  Arguments arguments{};
  int* pointer = nullptr;  ///< of a program in PTX
  unsigned blocks = 0, threads = 0, cluster = 1;
};

/// Bytes from an address on that a launch reads or writes; of the verifier's kernels only where
/// their task is.
struct Touched {
  const char* name;
  const void* pointer;
  std::int64_t bytes;
};
std::vector<Touched> touched_by(const Image& image, const LaunchArguments& launch);

/// The sentence of what was found wrong, or nothing.
std::string compute(const Image& image, const LaunchArguments& launch);

}  // namespace tunedgemm::internal::fake_cuda
