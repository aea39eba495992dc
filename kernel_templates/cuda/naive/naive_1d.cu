// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one thread per element
//
// The simplest kernel: the elements of D are numbered row by row, and thread e of a flat grid
// computes element e.
//
//           N                   thread:  0 1 2 3 4 5 6 7 8 ...
//        +-------------+                 |                 |
//      M | 0 1 2 3 4 5 |                 row 0 ........... row 1 ...
//        | 6 7 8 ...   |
//        +-------------+
//
// Cost: every multiply-add reads two elements from global memory. The threads of a warp usually
// read the same element of A (a broadcast) and neighbouring elements of a row of B. The kernel is
// slow because only the caches reuse elements. No shared memory; about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/naive_1d.cu

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

struct Element {
  long long batch_index, m, n;
};

// Elements are numbered row by row, matrix after matrix. Rows of no group have batch index -1.
__device__ __forceinline__ Element element_at(const Arguments& arguments, long long index) {
  const BatchRow row = batch_row(arguments, index / arguments.n);
  return {row.batch_index, row.m, index % arguments.n};
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
__device__ __forceinline__ void store(const Arguments& arguments, const Element& element,
                                      TypeD value) {
  matrix_d(arguments, element.batch_index)[offset_d(arguments, element.m, element.n)] = value;
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads)
    tunedgemm_naive_1d(const __grid_constant__ Arguments arguments) {
  const long long elements = batch_rows(arguments) * arguments.n;
  const long long threads_in_grid = static_cast<long long>(gridDim.x) * kThreads;
  const long long first = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  // The loop runs once, unless D has more elements than a grid has threads.
  for (long long index = first; index < elements; index += threads_in_grid) {
    const Element element = element_at(arguments, index);
    if (element.batch_index < 0) {
      continue;
    }
    const Accumulator accumulator = dot(arguments, element.batch_index, element.m, element.n);
    const Epilogue epilogue = begin_epilogue(arguments, element.batch_index);
    store(arguments, element, apply_epilogue(epilogue, accumulator, element.m, element.n));
  }
}
