// The families of CUDA devices.

#include "kernel_templates/cuda/families.h"

namespace tunedgemm::internal {
namespace {

std::string compiler_command(const Source& source, const DeviceLimits& limits) {
  return "nvcc -std=c++20 -cubin -arch=sm_" + std::to_string(limits.arch) +
         (source.needs_exact_architecture ? "a" : "");
}

}  // namespace

const BackendFamilies& cuda_families() {
  static const BackendFamilies all{
      .backend = "cuda",
      .number = 2,
      .families = {&naive_1d_family(), &naive_2d_family(), &row_per_block_family(),
                   &row_shared_family(), &tiled_shared_family(), &simt_family(), &mma_family(),
                   &wgmma_family()},
      .baseline = &naive_2d_family(),
      .compiler_command = compiler_command,
  };
  return all;
}

}  // namespace tunedgemm::internal
