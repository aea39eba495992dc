#include "runtime/context/plan.h"

#include <iterator>
#include <tuple>

namespace tunedgemm::internal {

std::string_view name(Origin origin) {
  constexpr std::string_view kNames[] = {"nothing",      "tuned",   "stale", "other_m",
                                         "other_device", "nearest", "model", "linked_in"};
  const auto number = static_cast<std::size_t>(origin);
  return number < std::size(kNames) ? kNames[number] : "unknown";
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
