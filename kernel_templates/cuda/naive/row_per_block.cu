// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one CTA per row
//
// Read naive_2d.cu first. New here: all threads of a CTA read the same row of A, which then comes
// from the L1 cache. Together they stride over the columns of D.
//
//               N
//        +------------------+
//        | 0 1 2 3 0 1 2 3 .|  <- CTA 0: threads 0 1 2 3, then the same threads again
//      M | 0 1 2 3 0 1 2 3 .|  <- CTA 1
//        +------------------+
//
// Cost: two reads from global memory per multiply-add, most of which hit the L1 cache. No shared
// memory; about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/row_per_block.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "dot.cuh"

#ifndef THREADS
#define THREADS 256  // of a CTA
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES 0
#endif
constexpr int kThreads = THREADS;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kThreads >= 32 && kThreads <= 1024 && kThreads % 32 == 0,
              "threads must be whole warps, 1024 at most");
static_assert(SHARED_BYTES == 0, "this kernel uses no shared memory");

// ---- 4. Mainloop --------------------------------------------------------------------------------
// dot() of dot.cuh, for one element.

// ---- 5. Epilogue --------------------------------------------------------------------------------
// A thread computes column threadIdx.x and every kThreads-th column after it.
__device__ __forceinline__ void compute_row(const Arguments& arguments, long long batch_index,
                                            long long m) {
  const Epilogue epilogue = begin_epilogue(arguments, batch_index);
  TypeD* const d = matrix_d(arguments, batch_index);
  for (long long n = threadIdx.x; n < arguments.n; n += kThreads) {
    d[offset_d(arguments, m, n)] =
        apply_epilogue(epilogue, dot(arguments, batch_index, m, n), m, n);
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads)
    tunedgemm_row_per_block(const __grid_constant__ Arguments arguments) {
  // Each loop runs once, unless D exceeds the largest grid in the loop's dimension.
  for (long long batch_index = blockIdx.y; batch_index < arguments.batch;
       batch_index += gridDim.y) {
    for (long long m = blockIdx.x; m < arguments.m; m += gridDim.x) {
      compute_row(arguments, batch_index, m);
    }
  }
}
