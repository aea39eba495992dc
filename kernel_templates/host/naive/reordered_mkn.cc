// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N
//
// Read naive_mnk.cc first. New here: the loops over k and n are swapped. One element of A is now
// multiplied by a whole row of B, and a whole row of D is accumulated at once.
//
//      k            +---------+
//   +--|---+   k -->|---------|   for m, for k, for n:  sums[n] += A[m][k] * B[k][n]
//   |  *   | m      |         |
//   |      |        +---------+
//   +------+         B K x N      A row-major B is read in memory order, and neighbouring sums are
//    A M x K                      independent: the compiler vectorizes the loop.
//
// The accumulators of block_n columns stay in the cache and are cleared before every row of D.
// (Adding into a D that was never cleared is the classic mistake of this loop order.)
//
// Cost: a load of B, and a load and a store of an accumulator, for every multiplication.
// Scratch: block_n accumulators for each thread.
//
//   c++ -std=c++20 -O3 -march=native -shared -fPIC -Ikernel_templates/cuda
//       kernel_templates/host/naive/reordered_mkn.cc

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.h"
#include "../common/problem.h"
#include "../common/team.h"
#include "shape.h"

#ifndef BLOCK_N
#define BLOCK_N 2048  // columns accumulated at once
#endif
#ifndef SCRATCH_BYTES
#define SCRATCH_BYTES naive::scratch_bytes(BLOCK_N, sizeof(Accumulator))
#endif
constexpr long long kBlockN = BLOCK_N;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kBlockN >= 1, "block_n must be positive");
static_assert(SCRATCH_BYTES == naive::scratch_bytes(BLOCK_N, sizeof(Accumulator)),
              "scratch holds block_n sums");

// ---- 4. Mainloop --------------------------------------------------------------------------------
inline void clear(Accumulator* sums, long long columns) {
  for (long long n = 0; n < columns; ++n) {
    sums[n] = 0;
  }
}

// b points to op(B)[k][n0]: its neighbours along n are one element or ldb elements away.
inline void add_scaled_row(Accumulator* sums, Accumulator factor, const TypeB* b, long long ldb,
                           long long columns) {
  const long long stride = kRowMajorB ? 1 : ldb;
  for (long long n = 0; n < columns; ++n) {
    sums[n] = multiply_add(sums[n], factor, widen(b[n * stride]));
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// finish_row() of ../common/epilogue.h, for the accumulated columns of a row.

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" void tunedgemm_reordered_mkn(const Arguments& arguments, const Team& team) {
  Accumulator* sums = static_cast<Accumulator*>(team.scratch);
  for (long long entry = 0; entry < arguments.batch; ++entry) {
    const TypeA* a = entry_of_a(arguments, entry);
    const TypeB* b = entry_of_b(arguments, entry);
    const Epilogue epilogue = epilogue_of(arguments, entry);
    for (long long m = team.rank; m < arguments.m; m += team.size) {
      for (long long n0 = 0; n0 < arguments.n; n0 += kBlockN) {
        const long long rest = arguments.n - n0;
        const long long columns = rest < kBlockN ? rest : kBlockN;
        clear(sums, columns);
        for (long long k = 0; k < arguments.k; ++k) {
          const Accumulator factor = widen(a[offset_a(arguments, m, k)]);
          add_scaled_row(sums, factor, b + offset_b(arguments, k, n0), arguments.ldb, columns);
        }
        finish_row(epilogue, m, n0, columns, sums);
      }
    }
  }
}
