// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N
//
// Read naive_mnk.cc first. New here: B is transposed before the multiplication, so the innermost
// loop reads a contiguous row of the transposed B and, if A is row-major, of A.
//
//         n                k
//      +--|--+          +-----+
//    K |  |  |    =>  n |---->|      for m, for n:  sum over k of A[m][k] * Bt[n][k]
//      |  v  |        N |     |
//      +-----+          +-----+      Bt has accumulators as elements, so that small types are
//         B            Bt, in the    converted once and not M times.
//                       workspace
//
// The additions of one element are dependent. With partial_sums > 1, the sum over k is split into
// independent sums, which the compiler keeps in SIMD registers.
//
// If the host has exchanged A and B (swap_ab), the rows of A are those of Bt. A product of one row
// then reads a column-major B once, in its order, and transposes the row.
//
// Cost: K * N accumulators of workspace, written once and read M times; two barriers per batch
// index.
//
//   c++ -std=c++20 -O3 -march=native -shared -fPIC -Ikernel_templates/cuda
//       kernel_templates/host/naive/transposed_b.cc

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.h"
#include "../common/problem.h"
#include "../common/team.h"

#ifndef PARTIAL_SUMS
#define PARTIAL_SUMS 1  // independent sums over k
#endif
#ifndef COUNTER_BYTES
#define COUNTER_BYTES 65536  // at the start of every workspace, used by other kernels
#endif
constexpr int kPartialSums = PARTIAL_SUMS;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kPartialSums >= 1 && (kPartialSums & (kPartialSums - 1)) == 0,
              "partial_sums must be a power of two");
static_assert(COUNTER_BYTES % 256 == 0,
              "COUNTER_BYTES must be a multiple of 256, the alignment of the transposed B");

// ---- 4. Mainloop --------------------------------------------------------------------------------
inline void transpose_b(const Arguments& arguments, long long batch_index, const Team& team,
                        Accumulator* transposed) {
  const TypeB* b = matrix_b(arguments, batch_index);
  for (long long n = team.rank; n < arguments.n; n += team.size) {
    for (long long k = 0; k < arguments.k; ++k) {
      const Accumulator element = widen(b[offset_b(arguments, k, n)]);
      transposed[n * arguments.k + k] = scaled_b(arguments, batch_index, k, n, element);
    }
  }
}

inline Accumulator dot(const Arguments& arguments, long long batch_index, long long m,
                       const Accumulator* b) {
  const TypeA* a = matrix_a(arguments, batch_index);
  const auto element_a = [&](long long k) {
    const Accumulator element = widen(a[offset_a(arguments, m, k)]);
    return scaled_a(arguments, batch_index, m, k, element);
  };
  Accumulator sums[kPartialSums] = {};
  const long long whole = arguments.k / kPartialSums * kPartialSums;
  for (long long k0 = 0; k0 < whole; k0 += kPartialSums) {
    for (int s = 0; s < kPartialSums; ++s) {
      sums[s] = multiply_add(sums[s], element_a(k0 + s), b[k0 + s]);
    }
  }
  for (long long k = whole; k < arguments.k; ++k) {
    sums[0] = multiply_add(sums[0], element_a(k), b[k]);
  }
  for (int half = kPartialSums / 2; half > 0; half /= 2) {
    for (int s = 0; s < half; ++s) {
      sums[s] = multiply_add(sums[s], Accumulator(1), sums[s + half]);
    }
  }
  return sums[0];
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// store_row() of ../common/epilogue.h, for one element.

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" void tunedgemm_transposed_b(const Arguments& arguments, const Team& team) {
  char* workspace = static_cast<char*>(arguments.workspace) + COUNTER_BYTES;
  Accumulator* transposed = reinterpret_cast<Accumulator*>(workspace);
  for (long long batch_index = 0; batch_index < arguments.batch; ++batch_index) {
    const Epilogue epilogue = begin_epilogue(arguments, batch_index);
    transpose_b(arguments, batch_index, team, transposed);
    wait_for_all(team);  // the transposed B is complete
    for (long long m = team.rank; m < arguments.m; m += team.size) {
      for (long long n = 0; n < arguments.n; ++n) {
        const Accumulator accumulator =
            dot(arguments, batch_index, m, transposed + n * arguments.k);
        store_row(epilogue, m, n, 1, &accumulator);
      }
    }
    wait_for_all(team);  // before the next transposed B overwrites this one
  }
}
