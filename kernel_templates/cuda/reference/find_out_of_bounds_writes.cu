// Counts the values in a range of memory that are not poison (all bits one).
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/find_out_of_bounds_writes.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

extern "C" __global__ void tunedgemm_find_out_of_bounds_writes(
    const __grid_constant__ Arguments arguments) {
  const reference::OutOfBoundsTask task =
      *static_cast<const reference::OutOfBoundsTask*>(arguments.workspace);
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       index < task.count; index += threads) {
    if (task.begin[index] != ~reference::u64{0}) {
      atomicAdd(&task.found[0], reference::u64{1});
      atomicMin(&task.found[1], static_cast<reference::u64>(index));
    }
  }
}
