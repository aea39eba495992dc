// Compares D with what was expected: the sampled elements with the oracle's values, all others with
// NaN, the poison that was there before the kernel under test ran. A block takes a row at a time.
//
//   nvcc -std=c++20 -arch=sm_90 -I kernel_templates/cuda/words -cubin
//   kernel_templates/cuda/reference/compare.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

// The doubles here are never negative, so their bits order as they do.
__device__ __forceinline__ judge::Word bits_of(double value) {
  return static_cast<judge::Word>(__double_as_longlong(value));
}

__device__ __forceinline__ void report(judge::Verdict& verdict, judge::Verdict mine) {
  for (int distance = 16; distance > 0; distance /= 2) {
    mine.wrong += __shfl_xor_sync(~0U, mine.wrong, distance);
    mine.worst = max(mine.worst, __shfl_xor_sync(~0U, mine.worst, distance));
    mine.first_wrong = min(mine.first_wrong, __shfl_xor_sync(~0U, mine.first_wrong, distance));
  }
  if (threadIdx.x % 32 == 0) {
    atomicMax(&verdict.worst, mine.worst);
    if (mine.wrong != 0) {
      atomicAdd(&verdict.wrong, mine.wrong);
      atomicMin(&verdict.first_wrong, mine.first_wrong);
    }
  }
}

extern "C" __global__ void tunedgemm_compare(const __grid_constant__ Arguments arguments) {
  const judge::CompareTask task = *static_cast<const judge::CompareTask*>(arguments.workspace);
  judge::Verdict mine{0, 0, ~judge::Word{0}};
  for (long long row = blockIdx.x; row < task.batch * task.m; row += gridDim.x) {
    const judge::ComparedRow compared = judge::compared_row(task, row);
    for (long long n = threadIdx.x; n < task.n; n += blockDim.x) {
      const double error = judge::relative_error(task, compared, n);
      mine.worst = max(mine.worst, bits_of(error));
      if (!(error <= 1)) {
        ++mine.wrong;
        mine.first_wrong = min(mine.first_wrong, static_cast<judge::Word>(row * task.n + n));
      }
    }
  }
  report(*task.verdict, mine);
}
