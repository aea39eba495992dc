// Compares D with what was expected: the sampled elements with the values that gemm.cu
// computed, all others with NaN, the poison that was there before the kernel under test ran. A
// block takes a row at a time.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/compare.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

// The doubles here are never negative, so their bits order as they do.
__device__ __forceinline__ reference::u64 bits_of(double value) {
  return static_cast<reference::u64>(__double_as_longlong(value));
}

__device__ __forceinline__ void report(reference::ComparisonResult& result,
                                       reference::ComparisonResult mine) {
  for (int distance = 16; distance > 0; distance /= 2) {
    mine.wrong += __shfl_xor_sync(~0U, mine.wrong, distance);
    mine.worst = max(mine.worst, __shfl_xor_sync(~0U, mine.worst, distance));
    mine.first_wrong = min(mine.first_wrong, __shfl_xor_sync(~0U, mine.first_wrong, distance));
  }
  if (threadIdx.x % 32 == 0) {
    atomicMax(&result.worst, mine.worst);
    if (mine.wrong != 0) {
      atomicAdd(&result.wrong, mine.wrong);
      atomicMin(&result.first_wrong, mine.first_wrong);
    }
  }
}

extern "C" __global__ void tunedgemm_compare(const __grid_constant__ Arguments arguments) {
  const reference::CompareTask task =
      *static_cast<const reference::CompareTask*>(arguments.workspace);
  reference::ComparisonResult mine{0, 0, ~reference::u64{0}};
  for (long long row = blockIdx.x; row < task.batch * task.m; row += gridDim.x) {
    const reference::ComparedRow compared = reference::compared_row(task, row);
    for (long long n = threadIdx.x; n < task.n; n += blockDim.x) {
      const double error = reference::relative_error(task, compared, n);
      mine.worst = max(mine.worst, bits_of(error));
      if (!(error <= 1)) {
        ++mine.wrong;
        mine.first_wrong = min(mine.first_wrong, static_cast<reference::u64>(row * task.n + n));
      }
    }
  }
  report(*task.result, mine);
}
