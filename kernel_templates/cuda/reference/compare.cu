// Compares sampled elements of D with the values that gemm.cu computed. Also checks that no other
// element is NaN, the poison with which D was filled before the kernel under test ran. A CTA
// compares one row after another.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/compare.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

// Nonnegative doubles have the same order as their bits.
__device__ __forceinline__ reference::u64 bits_of(double value) {
  return static_cast<reference::u64>(__double_as_longlong(value));
}

// Adds the results of a warp's threads to the total.
__device__ __forceinline__ void report(reference::ComparisonResult& total,
                                       reference::ComparisonResult result) {
  for (int distance = 16; distance > 0; distance /= 2) {
    result.wrong += __shfl_xor_sync(~0U, result.wrong, distance);
    result.worst = max(result.worst, __shfl_xor_sync(~0U, result.worst, distance));
    result.first_wrong =
        min(result.first_wrong, __shfl_xor_sync(~0U, result.first_wrong, distance));
  }
  if (threadIdx.x % 32 == 0) {
    atomicMax(&total.worst, result.worst);
    if (result.wrong != 0) {
      atomicAdd(&total.wrong, result.wrong);
      atomicMin(&total.first_wrong, result.first_wrong);
    }
  }
}

extern "C" __global__ void tunedgemm_compare(const __grid_constant__ Arguments arguments) {
  const reference::CompareTask task =
      *static_cast<const reference::CompareTask*>(arguments.workspace);
  reference::ComparisonResult result{0, 0, ~reference::u64{0}};
  for (long long row = blockIdx.x; row < task.rows; row += gridDim.x) {
    const reference::ComparedRow compared = reference::compared_row(task, row);
    for (long long n = threadIdx.x; n < task.n; n += blockDim.x) {
      const double error = reference::relative_error(task, compared, n);
      result.worst = max(result.worst, bits_of(error));
      if (!(error <= 1)) {
        ++result.wrong;
        result.first_wrong = min(result.first_wrong, static_cast<reference::u64>(row * task.n + n));
      }
    }
  }
  report(*task.result, result);
}
