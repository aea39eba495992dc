// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one thread an element
//
// The first step of the ladder: the elements of D are numbered row by row, and thread number e of a
// flat grid computes element e.
//
//           N                   thread:  0 1 2 3 4 5 6 7 8 ...
//        +-------------+                 |                 |
//      M | 0 1 2 3 4 5 |                 row 0 ........... row 1 ...
//        | 6 7 8 ...   |
//        +-------------+
//
// Price: every multiply-add reads two elements from global memory. The threads of a warp share the
// row of A, which is one broadcast, and read neighbours in a row of B. That only the caches stand
// between the cores and the memory is what makes it slow. No shared memory; about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/naive_1d.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#ifndef THREADS
#define THREADS 256  // of a block
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES 0
#endif
constexpr int kThreads = THREADS;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kThreads >= 32 && kThreads <= 1024 && kThreads % 32 == 0,
              "threads must be whole warps, 1024 at most");
static_assert(SHARED_BYTES == 0, "this chapter uses no shared memory");

// ---- 4. Words -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "dot.cuh"

// ---- 5. Moves -----------------------------------------------------------------------------------
struct Place {
  long long entry, m, n;
};

// Elements are counted along the rows, then down the rows, then through the batch.
__device__ __forceinline__ Place place_of(const Arguments& arguments, long long element) {
  const long long row = element / arguments.n;
  return {row / arguments.m, row % arguments.m, element % arguments.n};
}

__device__ __forceinline__ void store(const Arguments& arguments, const Place& at, TypeD value) {
  batch_entry_d(arguments, at.entry)[offset_d(arguments, at.m, at.n)] = value;
}

// ---- 6. The kernel ------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads)
    tunedgemm_naive_1d(const __grid_constant__ Arguments arguments) {
  const long long elements = arguments.batch * arguments.m * arguments.n;
  const long long threads_in_grid = static_cast<long long>(gridDim.x) * kThreads;
  const long long first = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  // One round, unless D has more elements than a grid has threads.
  for (long long element = first; element < elements; element += threads_in_grid) {
    const Place at = place_of(arguments, element);
    const Accumulator sum = dot(arguments, at.entry, at.m, at.n);
    const Epilogue epilogue = begin_epilogue(arguments, at.entry);
    store(arguments, at, finish(epilogue, sum, at.m, at.n));
  }
}
