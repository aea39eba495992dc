#include "runtime/call_key.h"

#include <algorithm>

namespace tunedgemm {
namespace {

// The C header's TUNEDGEMM_BROADCAST: every entry of the batch is the same matrix.
constexpr std::int64_t kBroadcast = -1;
constexpr std::int64_t kDefaultNumerics = 0xffff;

std::int64_t part(std::int64_t packed, int index, int bits) {
  return (packed >> (index * bits)) & ((std::int64_t{1} << bits) - 1);
}

Matrix resolve(DataType type, Order order, std::int64_t leading_dimension,
               std::int64_t batch_stride, std::int64_t pointer_alignment, std::int64_t rows,
               std::int64_t columns, std::int64_t batch) {
  const bool row_major = order == Order::kRowMajor;
  Matrix matrix{.type = type, .order = order};
  matrix.leading_dimension = leading_dimension != 0
                                 ? leading_dimension
                                 : std::max<std::int64_t>(row_major ? columns : rows, 1);
  if (batch_stride == kBroadcast) {
    matrix.batch_stride = 0;
  } else if (batch_stride != 0 || batch <= 1) {
    matrix.batch_stride = batch_stride;
  } else if (__builtin_mul_overflow(row_major ? rows : columns, matrix.leading_dimension,
                                    &matrix.batch_stride)) {
    matrix.batch_stride = -1;  // why_not refuses it
  }
  matrix.alignment_bytes =
      alignment_class(static_cast<std::uintptr_t>(pointer_alignment), matrix, batch);
  return matrix;
}

}  // namespace

Problem to_problem(const CallKey& key) {
  Problem problem;
  problem.m = key.m;
  problem.n = key.n;
  problem.k = key.k;
  problem.batch = key.batch;
  const auto type = [&](int index) { return static_cast<DataType>(part(key.types, index, 16)); };
  const auto order = [&](int index) { return static_cast<Order>(part(key.orders, index, 8)); };
  const auto alignment = [&](int index) { return part(key.alignments, index, 8); };
  problem.a = resolve(type(0), order(0), key.lda, key.batch_stride_a, alignment(0), key.m, key.k,
                      key.batch);
  problem.b = resolve(type(1), order(1), key.ldb, key.batch_stride_b, alignment(1), key.k, key.n,
                      key.batch);
  problem.c = resolve(type(2), order(2), key.ldc, key.batch_stride_c, alignment(2), key.m, key.n,
                      key.batch);
  problem.d = resolve(type(2), order(3), key.ldd, key.batch_stride_d, alignment(3), key.m, key.n,
                      key.batch);
  problem.activation = static_cast<Activation>(part(key.orders, 4, 8));
  problem.bias = static_cast<Bias>(part(key.orders, 5, 8));
  const std::int64_t numerics = part(key.types, 3, 16);
  problem.numerics = numerics != kDefaultNumerics ? static_cast<Numerics>(numerics)
                     : is_fp8(type(0))            ? Numerics::kFast
                                                  : Numerics::kIeee;
  problem.alpha = static_cast<ScalarClass>(part(key.scalars, 0, 8));
  problem.beta = static_cast<ScalarClass>(part(key.scalars, 1, 8));
  problem.c_is_d = part(key.scalars, 2, 8) != 0;
  return problem;
}

CallKey to_call_key(const Problem& problem) {
  const auto stride = [&](const Matrix& matrix) {
    return problem.batch > 1 && matrix.batch_stride == 0 ? kBroadcast : matrix.batch_stride;
  };
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  const auto& [m, n, k, batch, a, b, c, d, c_is_d, alpha, beta, activation, bias, numerics,
               regime] = problem;
  CallKey key{};
  key.m = m;
  key.n = n;
  key.k = k;
  key.batch = batch;
  key.lda = a.leading_dimension;
  key.ldb = b.leading_dimension;
  key.ldc = c.leading_dimension;
  key.ldd = d.leading_dimension;
  key.batch_stride_a = stride(a);
  key.batch_stride_b = stride(b);
  key.batch_stride_c = stride(c);
  key.batch_stride_d = stride(d);
  key.types = number(a.type) | number(b.type) << 16 | number(d.type) << 32 | number(numerics) << 48;
  key.orders = number(a.order) | number(b.order) << 8 | number(c.order) << 16 |
               number(d.order) << 24 | number(activation) << 32 | number(bias) << 40;
  key.alignments = number(a.alignment_bytes) | number(b.alignment_bytes) << 8 |
                   number(c.alignment_bytes) << 16 | number(d.alignment_bytes) << 24;
  key.scalars = number(alpha) | number(beta) << 8 | number(c_is_d) << 16;
  return key;
}

}  // namespace tunedgemm
