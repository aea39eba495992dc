// Looks for anything but poison (all bits one) in a range of memory.
//
//   nvcc -std=c++20 -arch=sm_90 -I kernel_templates/cuda/words -cubin
//   kernel_templates/cuda/reference/find_out_of_bounds_writes.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_find_out_of_bounds_writes(
    const __grid_constant__ Arguments arguments) {
  const judge::StainTask task = *static_cast<const judge::StainTask*>(arguments.workspace);
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       index < task.words; index += threads) {
    if (task.begin[index] != ~judge::Word{0}) {
      atomicAdd(&task.stains[0], judge::Word{1});
      atomicMin(&task.stains[1], static_cast<judge::Word>(index));
    }
  }
}
