// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one CTA per row
//
// Read row_per_block.cu first. New here: the CTA copies its row of A to shared memory and waits at
// a barrier until the copy is complete. A row is copied in chunks, so it may have any length.
//
//        row m of A      [ chunk 0 | chunk 1 | chunk 2 |  ]   K
//                             |
//                             v
//        shared memory   [ . . . . . . . ]
//                             | broadcast
//        row m of D      [ 0 1 2 3 0 1 2 3 ... ]              N, a column per thread
//
// Cost: one read of B from global memory per multiply-add. Shared memory for `chunk` elements of
// the accumulator's type; about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/row_shared.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "shape.h"

#ifndef THREADS
#define THREADS 256  // of a CTA
#endif
#ifndef CHUNK
#define CHUNK 1024  // elements of the row of A in shared memory
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES naive::row_shared_bytes(CHUNK, sizeof(Accumulator))
#endif
constexpr int kThreads = THREADS;
constexpr int kChunk = CHUNK;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kThreads >= 32 && kThreads <= 1024 && kThreads % 32 == 0,
              "threads must be whole warps, 1024 at most");
static_assert(kChunk >= 1, "chunk must be at least 1");
static_assert(SHARED_BYTES == naive::row_shared_bytes(kChunk, sizeof(Accumulator)),
              "SHARED_BYTES must be chunk accumulators");

// ---- 4. Mainloop --------------------------------------------------------------------------------
// A row of D, and the chunk of a row of A that all threads of the CTA use.
struct CollectiveMainloop {
  const Arguments& arguments;
  const TypeA* a;
  const TypeB* b;
  long long batch_index, m;
  Accumulator* chunk;

  // All threads copy A[m, k0 ... k0 + length) to shared memory.
  __device__ __forceinline__ void load_chunk(long long k0, int length) const {
    __syncthreads();  // all threads have read the previous chunk
    for (int k = threadIdx.x; k < length; k += kThreads) {
      const Accumulator element = widen(a[offset_a(arguments, m, k0 + k)]);
      chunk[k] = scaled_a(arguments, batch_index, m, k0 + k, element);
    }
    __syncthreads();  // the chunk is complete
  }

  // One thread multiplies the chunk by rows k0 ... k0 + length of column n of B.
  __device__ __forceinline__ void multiply_chunk(long long k0, int length, long long n,
                                                 Accumulator& accumulator) const {
    for (int k = 0; k < length; ++k) {
      const Accumulator element = widen(b[offset_b(arguments, k0 + k, n)]);
      multiply_add(chunk[k], scaled_b(arguments, batch_index, k0 + k, n, element), accumulator);
    }
  }
};

// ---- 5. Epilogue --------------------------------------------------------------------------------
// All threads compute row m of D, kThreads columns at a time. An element is stored after the last
// chunk.
__device__ __forceinline__ void compute_row(const Arguments& arguments, long long batch_index,
                                            long long m, Accumulator* chunk) {
  const CollectiveMainloop mainloop{
      arguments, matrix_a(arguments, batch_index), matrix_b(arguments, batch_index), batch_index, m,
      chunk};
  TypeD* const d = matrix_d(arguments, batch_index);
  const Epilogue epilogue = begin_epilogue(arguments, batch_index);
  // Threads without a column take part in the barriers as well.
  for (long long n0 = 0; n0 < arguments.n; n0 += kThreads) {
    const long long n = n0 + threadIdx.x;
    Accumulator accumulator = 0;
    for (long long k0 = 0; k0 < arguments.k; k0 += kChunk) {
      const int length = static_cast<int>(min(arguments.k - k0, static_cast<long long>(kChunk)));
      mainloop.load_chunk(k0, length);
      if (n < arguments.n) {
        mainloop.multiply_chunk(k0, length, n, accumulator);
      }
    }
    if (n < arguments.n) {
      d[offset_d(arguments, m, n)] = apply_epilogue(epilogue, accumulator, m, n);
    }
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads)
    tunedgemm_row_shared(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(16) unsigned char shared[];
  Accumulator* const chunk = reinterpret_cast<Accumulator*>(shared);
  // Each loop runs once, unless D exceeds the largest grid in the loop's dimension.
  for (long long batch_index = blockIdx.y; batch_index < arguments.batch;
       batch_index += gridDim.y) {
    for (long long m = blockIdx.x; m < arguments.m; m += gridDim.x) {
      compute_row(arguments, batch_index, m, chunk);
    }
  }
}
