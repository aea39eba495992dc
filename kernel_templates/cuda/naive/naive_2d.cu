// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one thread an element
//
// Read naive_1d.cu first. New here: the grid has the shape of D, so that a thread finds its row and
// column without a division, and nothing else happens that could be wrong. With wide=1 it sums in
// f64 whatever the inputs are. It is a rung of the ladder and no judge: results are compared with
// reference/gemm.cu, which draws the inputs itself and reads no matrix.
//
//             N                      blockIdx.x, threadIdx.x  -> n
//        +----+----+----+            blockIdx.y, threadIdx.y  -> m
//        |    |    |    |  8 rows    blockIdx.z               -> batch entry
//      M +----+----+----+
//        |    |    |    |
//        +----+----+----+
//         32 columns
//
// Price: that of naive_1d. No shared memory; about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/naive_2d.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#ifndef WIDE
#define WIDE 0  // 1: floats are summed, and the epilogue is computed, in f64
#endif
#ifndef ACCUMULATOR
#define ACCUMULATOR f32  // the host gives f64 where wide=1 asks for it
#endif
#ifndef THREADS
#define THREADS 256
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES 0
#endif
constexpr bool kWide = WIDE != 0;
constexpr int kBlockM = 8;
constexpr int kBlockN = 32;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(THREADS == kBlockM * kBlockN, "a block is 32 columns times 8 rows of threads");
static_assert(SHARED_BYTES == 0, "this chapter uses no shared memory");

// ---- 4. Words -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "dot.cuh"

static_assert(!kWide || kSumsAreIntegers || sizeof(Accumulator) == sizeof(f64),
              "wide=1 needs ACCUMULATOR=f64");

// ---- 5. Moves -----------------------------------------------------------------------------------
__device__ __forceinline__ void compute_element(const Arguments& arguments, long long entry,
                                                long long m, long long n) {
  const Accumulator sum = dot(arguments, entry, m, n);
  const Epilogue epilogue = begin_epilogue(arguments, entry);
  batch_entry_d(arguments, entry)[offset_d(arguments, m, n)] = finish(epilogue, sum, m, n);
}

// ---- 6. The kernel ------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kBlockM* kBlockN)
    tunedgemm_naive_2d(const __grid_constant__ Arguments arguments) {
  const long long first_m = static_cast<long long>(blockIdx.y) * kBlockM + threadIdx.y;
  const long long first_n = static_cast<long long>(blockIdx.x) * kBlockN + threadIdx.x;
  const long long step_m = static_cast<long long>(gridDim.y) * kBlockM;
  const long long step_n = static_cast<long long>(gridDim.x) * kBlockN;
  // Each loop has one round, unless D is larger than the grid can be in that dimension.
  for (long long entry = blockIdx.z; entry < arguments.batch; entry += gridDim.z) {
    for (long long m = first_m; m < arguments.m; m += step_m) {
      for (long long n = first_n; n < arguments.n; n += step_n) {
        compute_element(arguments, entry, m, n);
      }
    }
  }
}
