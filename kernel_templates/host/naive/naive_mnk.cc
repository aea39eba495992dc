// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N
//
// The first kernel: the definition of the matrix product as three loops. It is the baseline of the
// other host kernels.
//
//                        n
//                   +----|----+
//              B    |    |    |   for m, for n:  sum over k of A[m][k] * B[k][n]
//            K x N  |    v    |
//      k            +---------+
//   +------+        +---------+
//   |----->| m      |    *    |   The rows of D are distributed over the threads: row r goes to
//   |      |        |         |   thread r mod team size.
//   +------+        +---------+
//    A M x K           D M x N
//
// Cost: K dependent additions per element. If B is row-major, every k loads a different cache line.
//
//   c++ -std=c++20 -O3 -march=native -shared -fPIC -Ikernel_templates/cuda
//       kernel_templates/host/naive/naive_mnk.cc

#include "../common/epilogue.h"
#include "../common/problem.h"
#include "../common/team.h"

// ---- 2. Knobs -----------------------------------------------------------------------------------
// None.

// ---- 3. What must hold --------------------------------------------------------------------------
// Nothing: every problem is allowed.

// ---- 4. Mainloop --------------------------------------------------------------------------------
inline Accumulator dot(const Arguments& arguments, long long batch_index, long long m,
                       long long n) {
  const TypeA* a = matrix_a(arguments, batch_index);
  const TypeB* b = matrix_b(arguments, batch_index);
  Accumulator accumulator = 0;
  const GroupRange depth = depth_of(arguments, batch_index);
  for (long long k = depth.begin; k < depth.end; ++k) {
    const Accumulator left = widen(a[offset_a(arguments, m, k)]);
    const Accumulator right = widen(b[offset_b(arguments, k, n)]);
    accumulator = multiply_add(accumulator, scaled_a(arguments, batch_index, m, k, left),
                               scaled_b(arguments, batch_index, k, n, right));
  }
  return accumulator;
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// store_row() of ../common/epilogue.h, for one element.

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" void tunedgemm_naive_mnk(const Arguments& arguments, const Team& team) {
  for (long long batch_index = 0; batch_index < arguments.batch; ++batch_index) {
    const Epilogue epilogue = begin_epilogue(arguments, batch_index);
    const GroupRange rows = rows_of(arguments, batch_index);
    for (long long m = rows.begin + team.rank; m < rows.end; m += team.size) {
      for (long long n = 0; n < arguments.n; ++n) {
        const Accumulator accumulator = dot(arguments, batch_index, m, n);
        store_row(epilogue, m, n, 1, &accumulator);
      }
    }
  }
}
