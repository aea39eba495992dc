#include "runtime/calls/plan.h"

#include <tuple>

namespace tunedgemm::internal {

Arguments arguments_of(const Problem& problem) {
  const bool row_major_c = problem.c.order == Order::kRowMajor;
  Arguments arguments{};
  arguments.m = problem.m;
  arguments.n = problem.n;
  arguments.k = problem.k;
  arguments.batch = problem.batch;
  arguments.lda = problem.a.leading_dimension;
  arguments.ldb = problem.b.leading_dimension;
  arguments.ldd = problem.d.leading_dimension;
  arguments.c_stride_m = row_major_c ? problem.c.leading_dimension : 1;
  arguments.c_stride_n = row_major_c ? 1 : problem.c.leading_dimension;
  arguments.batch_stride_a = problem.a.batch_stride;
  arguments.batch_stride_b = problem.b.batch_stride;
  arguments.batch_stride_c = problem.c.batch_stride;
  arguments.batch_stride_d = problem.d.batch_stride;
  arguments.alpha = 1;
  return arguments;
}

Plan::Plan(const CheckedCall& call)
    : key(call.key),
      problem(call.problem),
      swapped(swaps_operands(call.asked)),
      arguments(arguments_of(problem)),
      reads_inputs(problem->k > 0),
      reads_c(problem->beta != ScalarClass::kZero) {
  const Problem& original = call.asked;
  const auto& [m, n, k] = std::tuple(original.m, original.n, original.k);
  const auto bytes = [&](const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
    return span_elements(matrix, rows, columns, original.batch).value_or(0) *
           size_bytes(matrix.type);
  };
  a_bytes = bytes(original.a, m, k);
  b_bytes = bytes(original.b, k, n);
  c_bytes = bytes(original.c, m, n);
  d_bytes = bytes(original.d, m, n);
  element_bytes_d = size_bytes(original.d.type);
}

}  // namespace tunedgemm::internal
