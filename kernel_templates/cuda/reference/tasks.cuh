// What the kernels of this folder are told: each finds its task in the workspace. And what the
// value of an element of D must be, given its sum. Plain C++, as element.cuh.
#pragma once

#include "activation.cuh"
#include "element.cuh"

namespace reference {

// Elements of a matrix: where each lies, in elements from the start.
struct Strides {
  long long row, column, batch;
};

REFERENCE_FUNCTION long long offset_of(const Strides& strides, long long batch, long long row,
                                       long long column) {
  return batch * strides.batch + row * strides.row + column * strides.column;
}

// Fills a matrix, and nothing between or beside its rows. Copies are equal, `copy_bytes` apart.
struct FillTask {
  void* matrix;
  Format format;
  int distribution;
  u64 seed;
  Strides strides;
  long long rows, columns, batch;
  long long copies, copy_bytes;
};

// Which elements of D are compared: every row_step-th row of all batch entries, one below the
// other, and every column_step-th column.
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

// Computes what the sampled elements of D must be, before they are rounded to D's type.
struct GemmTask {
  double* expected;  // sampling.rows x sampling.columns
  Sampling sampling;
  long long m, n, k;
  Input a, b, c, bias;
  double scale;  // alpha * scale_a * scale_b
  double beta, slope;
  int reads_c, bias_kind;  // as READ_C, BIAS
  Activation activation;
  int integers;  // 0: floats; 1: rounded to s32; 2: the sums modulo 2^32
};

// What came of a comparison. The first fields are added to; `worst` is the bits of a double, which
// order like the double itself where it is not negative.
struct ComparisonResult {
  u64 wrong;
  u64 worst;        // greatest error, relative to the bound
  u64 first_wrong;  // (batch entry * m + row) * n + column
};

// Compares D with what was expected: a sampled element may differ by absolute + relative *
// |expected|, and no element may be NaN.
struct CompareTask {
  const void* d;
  const double* expected;
  ComparisonResult* result;
  Sampling sampling;
  Strides strides;
  long long m, n, batch;
  Format format;
  double absolute, relative;
};

// Puts the poison, all bits one, over every element of D.
struct EraseTask {
  void* d;
  int element_bytes;
  Strides strides;
  long long m, n, batch;
};

// Looks for anything but poison in `count` values from `begin`.
struct OutOfBoundsTask {
  const u64* begin;
  long long count;
  u64* found;  // [0] how many of them, [1] the first one's index
};

REFERENCE_FUNCTION double input_value(const Input& input, long long offset) {
  return random_value(input.format, input.distribution, input.seed, offset);
}

// `sum` is exact where the inputs are integers: it stays below 2^53.
REFERENCE_FUNCTION double expected_value(const GemmTask& task, double sum, long long batch,
                                         long long m, long long n) {
  if (task.integers == 2) {
    return static_cast<double>(
        static_cast<int>(static_cast<unsigned>(static_cast<u64>(static_cast<long long>(sum)))));
  }
  double x = task.scale * sum;
  if (task.reads_c != 0) {
    x += task.beta * input_value(task.c, offset_of(task.c.strides, batch, m, n));
  }
  if (task.bias_kind != 0) {
    x += input_value(task.bias, task.bias_kind == 1 ? m : n);
  }
  x = activated(task.activation, x, task.slope);
  if (task.integers == 0) {
    return x;
  }
  const double rounded = rint(x);
  return rounded < -2147483648.0 ? -2147483648.0 : rounded > 2147483647.0 ? 2147483647.0 : rounded;
}

// The element of the sampling that a thread or a loop is at.
struct Element {
  long long batch, m, n;
};

REFERENCE_FUNCTION Element sampled_element(const Sampling& sampling, long long m, long long row,
                                           long long column) {
  const long long global_row = sampling.first_row + row * sampling.row_step;
  return {global_row / m, global_row % m, sampling.first_column + column * sampling.column_step};
}

// The index of a position among the sampled ones along one axis, or -1.
REFERENCE_FUNCTION long long sample_index(long long at, long long first, long long step,
                                          long long count) {
  const long long distance = at - first;
  if (distance < 0 || (step != 1 && distance % step != 0)) {
    return -1;
  }
  const long long index = step == 1 ? distance : distance / step;
  return index < count ? index : -1;
}

// A row of D and what was expected of it; null if it is not sampled.
struct ComparedRow {
  long long offset;
  const double* expected;
};

// `row` counts through all batch entries.
REFERENCE_FUNCTION ComparedRow compared_row(const CompareTask& task, long long row) {
  const Sampling& sampling = task.sampling;
  const long long index = sample_index(row, sampling.first_row, sampling.row_step, sampling.rows);
  return {offset_of(task.strides, row / task.m, row % task.m, 0),
          index < 0 ? nullptr : task.expected + index * sampling.columns};
}

// How far an element is from what it must be, relative to the bound: more than 1 is wrong. Infinite
// for NaN.
REFERENCE_FUNCTION double relative_error(const CompareTask& task, const ComparedRow& row,
                                         long long column) {
  const double got = load(task.format, task.d, row.offset + column * task.strides.column);
  const Sampling& sampling = task.sampling;
  const long long index =
      row.expected == nullptr
          ? -1
          : sample_index(column, sampling.first_column, sampling.column_step, sampling.columns);
  if (index < 0) {
    return got == got ? 0 : infinity();
  }
  const double expected = row.expected[index];
  const double bound = task.absolute + task.relative * fabs(expected);
  const double error = fabs(got - expected);
  return error <= 1e300 ? error / bound : infinity();
}

// The clocks of an SM: the device's time, and its own cycles.
struct ClockReading {
  u64 nanoseconds, cycles;
};
// Reads the clocks of all SMs that the grid reaches.
struct ClockTask {
  ClockReading* readings;  // of each of them, by its number
  unsigned sm_count;
};

}  // namespace reference
