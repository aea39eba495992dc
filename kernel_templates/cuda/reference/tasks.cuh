// The structs with which the host tells this folder's kernels their tasks, through the workspace;
// and the expected element of D for an accumulator. This file is plain C++, like element.cuh.
#pragma once

#include "../../problem/grouping.h"
#include "../../problem/scaling.h"
#include "activation.cuh"
#include "element.cuh"

namespace reference {

// The distances between neighbouring rows, columns and batch indices, in elements.
struct Strides {
  long long row, column, batch;
};

REFERENCE_FUNCTION long long offset_of(const Strides& strides, long long batch, long long row,
                                       long long column) {
  return batch * strides.batch + row * strides.row + column * strides.column;
}

// Fills a matrix, but not the memory between its rows. Equal copies are `copy_bytes` apart.
struct FillTask {
  void* matrix;
  Format format;
  int distribution;
  u64 seed;
  Strides strides;
  long long rows, columns, batch;
  long long copies, copy_bytes;
};

// The elements of D that are compared: from first_row on every row_step-th row, counted over all
// batch indices, and from first_column on every column_step-th column.
struct Sampling {
  long long first_row, row_step, rows;
  long long first_column, column_step, columns;
};

struct Input {
  Format format;
  int distribution;
  u64 seed;
  Strides strides;
};

// The scales of A or B; `rows` neighbouring rows of A, or columns of B, have the same ones.
// strides.row and .column are between scales; strides.column is 0 unless they are of blocks.
struct ScaleInput {
  Input input;
  long long rows;
};

// The groups of a grouped product. If they share the rows of D, a row has the batch index of the
// group that it belongs to.
struct Groups {
  tunedgemm::internal::GroupKind kind;
  const int* numbers;
  long long count;
};

// Computes the expected values of the sampled elements of D. Floats are not rounded to D's type.
struct GemmTask {
  double* expected;  // sampling.rows x sampling.columns
  Sampling sampling;
  Groups groups;
  long long m, n, k;
  Input a, b, c, bias;
  ScaleInput scale_a, scale_b;
  double alpha, beta, slope;
  int reads_c, bias_kind;  // READ_C and BIAS
  Activation activation;
  int integers;  // 0: floats; 1: rounded to s32; 2: accumulators modulo 2^32
};

// The result of a comparison, to which all warps add. `worst` has the bits of a double, since
// nonnegative doubles have the same order as their bits.
struct ComparisonResult {
  u64 wrong;
  u64 worst;        // the largest error, relative to its bound
  u64 first_wrong;  // row over all batch indices * n + column
};

// The largest error of an element whose sum over K has the scale s (scale_of_sum()):
// absolute[0] + absolute[1] * s + absolute[2] * s^2 + relative * |expected|.
struct Bound {
  double absolute[3];
  double relative;
};

// Compares D with the expected values, which a sampled element may miss by its bound. No element
// may be NaN.
struct CompareTask {
  const void* d;
  const double* expected;
  ComparisonResult* result;
  Sampling sampling;
  Groups groups;
  Strides strides;
  long long m, n, k, rows;  // the rows of D of all batch indices
  int d_holds_c;            // where no element is computed
  Format format;
  ScaleInput scale_a, scale_b;
  Bound bound;
};

// Overwrites every element of D with the poison, all bits one.
struct EraseTask {
  void* d;
  int element_bytes;
  Strides strides;
  long long m, n, rows;  // as in CompareTask
};

// Counts the values that are not poison among the `count` values from `begin`.
struct OutOfBoundsTask {
  const u64* begin;
  long long count;
  u64* found;  // [0] their number, [1] the index of the first
};

REFERENCE_FUNCTION double input_value(const Input& input, long long offset) {
  return random_value(input.format, input.distribution, input.seed, offset);
}

// The scale of an element of op(A), or of op(B) with its column as `row`.
REFERENCE_FUNCTION double scale_value(const ScaleInput& scale, long long batch, long long row,
                                      long long k) {
  return input_value(scale.input, offset_of(scale.input.strides, batch, row / scale.rows,
                                            k / tunedgemm::internal::kScaledDepth));
}

// op(A)[m, k] and op(B)[k, n], scaled.
REFERENCE_FUNCTION double value_of_a(const GemmTask& task, long long batch, long long m,
                                     long long k) {
  return input_value(task.a, offset_of(task.a.strides, batch, m, k)) *
         scale_value(task.scale_a, batch, m, k);
}
REFERENCE_FUNCTION double value_of_b(const GemmTask& task, long long batch, long long k,
                                     long long n) {
  return input_value(task.b, offset_of(task.b.strides, batch, k, n)) *
         scale_value(task.scale_b, batch, n, k);
}

// The scale of the sum over K in D[m, n]: the root of the mean square of the scales of its
// products, which is exact if they are all the same.
REFERENCE_FUNCTION double scale_of_sum(const ScaleInput& scale_a, const ScaleInput& scale_b,
                                       long long batch, long long m, long long n, long long k) {
  constexpr long long kDepth = tunedgemm::internal::kScaledDepth;
  const bool is_one = scale_a.input.strides.column == 0 && scale_b.input.strides.column == 0;
  if (is_one || k <= kDepth) {
    return scale_value(scale_a, batch, m, 0) * scale_value(scale_b, batch, n, 0);
  }
  double squares = 0;
  for (long long k0 = 0; k0 < k; k0 += kDepth) {
    const double scale = scale_value(scale_a, batch, m, k0) * scale_value(scale_b, batch, n, k0);
    squares += scale * scale * static_cast<double>(k - k0 < kDepth ? k - k0 : kDepth);
  }
  return sqrt(squares / static_cast<double>(k));
}

// The position of an element of D.
struct Element {
  long long batch, m, n;
  bool is_computed;  // not if its row is of no group
};

// `row` is counted over all batch indices. Groups share the rows in order; a row of no group gets
// the batch index of the group before it.
REFERENCE_FUNCTION Element element_at(const Groups& groups, long long m, long long row,
                                      long long n) {
  using namespace tunedgemm::internal;
  if (shares_rows(groups.kind)) {
    const bool are_ranges = groups.kind == GroupKind::kRanges;
    const auto number = [&](long long at) { return static_cast<long long>(groups.numbers[at]); };
    long long batch = 0;
    while (batch + 1 < groups.count && row >= number(are_ranges ? 2 * batch + 2 : batch)) {
      ++batch;
    }
    return {
        batch, row, n,
        are_ranges ? row >= number(2 * batch) && row < number(2 * batch + 1) : row < number(batch)};
  }
  const long long batch = row / m, row_of_batch = row % m;
  return {batch, row_of_batch, n,
          groups.kind != GroupKind::kCounts || row_of_batch < groups.numbers[batch]};
}

REFERENCE_FUNCTION Element sampled_element(const GemmTask& task, long long row, long long column) {
  const Sampling& sampling = task.sampling;
  return element_at(task.groups, task.m, sampling.first_row + row * sampling.row_step,
                    sampling.first_column + column * sampling.column_step);
}

// The columns of op(A) and rows of op(B) of a batch index. Here and in element_at() the numbers are
// not read by the functions that kernels use, whose errors would go unseen.
REFERENCE_FUNCTION tunedgemm::internal::GroupRange depth_of(const GemmTask& task, long long batch) {
  if (task.groups.kind != tunedgemm::internal::GroupKind::kDepth) {
    return {0, task.k};
  }
  return {batch == 0 ? 0 : task.groups.numbers[batch - 1], task.groups.numbers[batch]};
}

// `accumulator` is the sum of scaled products. It is exact if the inputs are integers, since it is
// below 2^53.
REFERENCE_FUNCTION double expected_value(const GemmTask& task, double accumulator,
                                         const Element& element) {
  const auto& [batch, m, n, is_computed] = element;
  if (!is_computed) {
    return task.reads_c != 0 ? input_value(task.c, offset_of(task.c.strides, batch, m, n)) : 0;
  }
  if (task.integers == 2) {
    return static_cast<double>(static_cast<int>(
        static_cast<unsigned>(static_cast<u64>(static_cast<long long>(accumulator)))));
  }
  double x = task.alpha * accumulator;
  if (task.reads_c != 0) {
    x += task.beta * input_value(task.c, offset_of(task.c.strides, batch, m, n));
  }
  if (task.bias_kind != 0) {
    x += input_value(task.bias, offset_of(task.bias.strides, batch, m, n));
  }
  x = activated(task.activation, x, task.slope);
  if (task.integers == 0) {
    return x;
  }
  const double rounded = rint(x);
  return rounded < -2147483648.0 ? -2147483648.0 : rounded > 2147483647.0 ? 2147483647.0 : rounded;
}

// The index of a position among the samples of one dimension; -1 if it is not sampled.
REFERENCE_FUNCTION long long sample_index(long long position, long long first, long long step,
                                          long long count) {
  const long long distance = position - first;
  if (distance < 0 || (step != 1 && distance % step != 0)) {
    return -1;
  }
  const long long index = step == 1 ? distance : distance / step;
  return index < count ? index : -1;
}

// A row of D and its expected values, which are null if the row is not sampled.
struct ComparedRow {
  Element first;  // of the row
  long long offset;
  const double* expected;
};

// `row` is counted over all batch indices.
REFERENCE_FUNCTION ComparedRow compared_row(const CompareTask& task, long long row) {
  const Sampling& sampling = task.sampling;
  const long long index = sample_index(row, sampling.first_row, sampling.row_step, sampling.rows);
  const Element first = element_at(task.groups, task.m, row, 0);
  return {first, offset_of(task.strides, first.batch, first.m, 0),
          index < 0 ? nullptr : task.expected + index * sampling.columns};
}

// The error of an element, relative to its bound. The element is wrong if the error is more than 1.
// The error of NaN is infinite. An element that is not sampled has the error 0, unless it is NaN.
// An element that no kernel may write must still be poison, or C's.
REFERENCE_FUNCTION double relative_error(const CompareTask& task, const ComparedRow& row,
                                         long long column) {
  const double computed = load(task.format, task.d, row.offset + column * task.strides.column);
  if (!row.first.is_computed && task.d_holds_c == 0) {
    const bool is_poison =
        computed != computed || (task.format.exponent_bits == 0 && computed == -1);
    return is_poison ? 0 : infinity();
  }
  const Sampling& sampling = task.sampling;
  const long long index =
      row.expected == nullptr
          ? -1
          : sample_index(column, sampling.first_column, sampling.column_step, sampling.columns);
  if (index < 0) {
    return computed == computed ? 0 : infinity();
  }
  const double expected = row.expected[index];
  const double scale =
      scale_of_sum(task.scale_a, task.scale_b, row.first.batch, row.first.m, column, task.k);
  const double* const absolute = task.bound.absolute;
  const double bound = absolute[0] + scale * (absolute[1] + scale * absolute[2]) +
                       task.bound.relative * fabs(expected);
  const double error = fabs(computed - expected);
  return error <= 1e300 ? error / bound : infinity();
}

// The device's time and the cycles of an SM.
struct ClockReading {
  u64 nanoseconds, cycles;
};
// Reads the clocks of all SMs that run a CTA.
struct ClockTask {
  ClockReading* readings;  // indexed by the SM's number
  unsigned sm_count;
};

}  // namespace reference
