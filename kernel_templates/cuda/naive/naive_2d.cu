// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one thread per element
//
// Read naive_1d.cu first. New here: the grid has the shape of D, so a thread finds its row and
// column without a division.
//
//             N                      blockIdx.x, threadIdx.x  -> n
//        +----+----+----+            blockIdx.y, threadIdx.y  -> m
//        |    |    |    |  8 rows    blockIdx.z               -> batch index
//      M +----+----+----+
//        |    |    |    |
//        +----+----+----+
//         32 columns
//
// Cost: the same as that of naive_1d. No shared memory; about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/naive_2d.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "dot.cuh"
#include "shape.h"

#ifndef THREADS
#define THREADS 256
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES 0
#endif
constexpr int kBlockM = naive::kBlockM, kBlockN = naive::kBlockN;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(THREADS == kBlockM * kBlockN, "THREADS must be 8 rows of 32 columns");
static_assert(SHARED_BYTES == 0, "this kernel uses no shared memory");

// ---- 4. Mainloop --------------------------------------------------------------------------------
// dot() of dot.cuh, for one element.

// ---- 5. Epilogue --------------------------------------------------------------------------------
__device__ __forceinline__ void compute_element(const Arguments& arguments, long long batch_index,
                                                long long m, long long n) {
  const Accumulator accumulator = dot(arguments, batch_index, m, n);
  const Epilogue epilogue = begin_epilogue(arguments, batch_index);
  matrix_d(arguments, batch_index)[offset_d(arguments, m, n)] =
      apply_epilogue(epilogue, accumulator, m, n);
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kBlockM* kBlockN)
    tunedgemm_naive_2d(const __grid_constant__ Arguments arguments) {
  const long long first_m = static_cast<long long>(blockIdx.y) * kBlockM + threadIdx.y;
  const long long first_n = static_cast<long long>(blockIdx.x) * kBlockN + threadIdx.x;
  const long long step_m = static_cast<long long>(gridDim.y) * kBlockM;
  const long long step_n = static_cast<long long>(gridDim.x) * kBlockN;
  // Each loop runs once, unless D exceeds the largest grid in the loop's dimension.
  for (long long batch_index = blockIdx.z; batch_index < arguments.batch;
       batch_index += gridDim.z) {
    for (long long m = first_m; m < arguments.m; m += step_m) {
      for (long long n = first_n; n < arguments.n; n += step_n) {
        compute_element(arguments, batch_index, m, n);
      }
    }
  }
}
