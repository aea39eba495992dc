// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N
//
// Read naive_mnk.cc first. New here: the loops over k and n are swapped. Each element of A is
// multiplied by a row of B, so a whole row of D is accumulated at once.
//
//      k            +---------+
//   +--|---+   k -->|---------|   for m, for k, for n:  accumulators[n] += A[m][k] * B[k][n]
//   |  *   | m      |         |
//   |      |        +---------+
//   +------+         B K x N      A row-major B is read in memory order, and the accumulators
//    A M x K                      are independent, so the compiler vectorizes the loop.
//
// The accumulators of block_n columns stay in the cache. They are cleared before every row of D:
// forgetting this is the classic mistake of this loop order.
//
// Cost: every multiply-add loads an element of B, and loads and stores an accumulator. Scratch:
// block_n accumulators per thread.
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
              "SCRATCH_BYTES must be block_n accumulators");

// ---- 4. Mainloop --------------------------------------------------------------------------------
inline void clear(Accumulator* accumulators, long long columns) {
  for (long long n = 0; n < columns; ++n) {
    accumulators[n] = 0;
  }
}

// Adds the product of op(A)[m][k] and op(B)[k][n0 ... n0 + columns). The columns of B are one
// element or ldb elements apart.
inline void add_product(const Arguments& arguments, long long batch_index, long long m, long long k,
                        long long n0, long long columns, Accumulator* accumulators) {
  const Accumulator element = widen(matrix_a(arguments, batch_index)[offset_a(arguments, m, k)]);
  const Accumulator factor = scaled_a(arguments, batch_index, m, k, element);
  const TypeB* b = matrix_b(arguments, batch_index) + offset_b(arguments, k, n0);
  const long long stride = kRowMajorB ? 1 : arguments.ldb;
  for (long long n = 0; n < columns; ++n) {
    const Accumulator right = widen(b[n * stride]);
    accumulators[n] =
        multiply_add(accumulators[n], factor, scaled_b(arguments, batch_index, k, n0 + n, right));
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// store_row() of ../common/epilogue.h, for the accumulated columns of a row.

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" void tunedgemm_reordered_mkn(const Arguments& arguments, const Team& team) {
  Accumulator* accumulators = static_cast<Accumulator*>(team.scratch);
  for (long long batch_index = 0; batch_index < arguments.batch; ++batch_index) {
    const Epilogue epilogue = begin_epilogue(arguments, batch_index);
    for (long long m = team.rank; m < arguments.m; m += team.size) {
      for (long long n0 = 0; n0 < arguments.n; n0 += kBlockN) {
        const long long rest = arguments.n - n0;
        const long long columns = rest < kBlockN ? rest : kBlockN;
        clear(accumulators, columns);
        for (long long k = 0; k < arguments.k; ++k) {
          add_product(arguments, batch_index, m, k, n0, columns, accumulators);
        }
        store_row(epilogue, m, n0, columns, accumulators);
      }
    }
  }
}
