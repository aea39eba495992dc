// Computes in f64 what sampled elements of D must be. It reads no matrix: the inputs are functions
// of a seed and a position (element.cuh), so a kernel under test cannot spoil them, and any order,
// stride, batch and alignment is one case.
//
//             64 sampled columns
//        +-----------------------+      256 threads; each has one row and every 16th column
//   16   |                       |      a step of 32 k: 512 values of A and 2048 of B are drawn
//   rows |                       |      into shared memory, then summed in the order of k
//        +-----------------------+
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/gemm.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

constexpr int kRows = 16, kColumns = 64, kDepth = 32;
constexpr int kThreads = 256;
constexpr int kThreadColumns = kColumns / 16;

// Loops that draw stay rolled up: several values at a time need more registers than there are.
__device__ __forceinline__ void draw_a(const reference::GemmTask& task, long long row0,
                                       long long k0, double (&a)[kRows][kDepth]) {
#pragma unroll 1
  for (int index = static_cast<int>(threadIdx.x); index < kRows * kDepth; index += kThreads) {
    const int row = index / kDepth, k = index % kDepth;
    double value = 0;
    if (row0 + row < task.sampling.rows && k0 + k < task.k) {
      const reference::Element place =
          reference::sampled_element(task.sampling, task.m, row0 + row, 0);
      value = reference::input_value(
          task.a, reference::offset_of(task.a.strides, place.batch, place.m, k0 + k));
    }
    a[row][k] = value;
  }
}

__device__ __forceinline__ void draw_b(const reference::GemmTask& task, long long batch,
                                       long long column0, long long k0,
                                       double (&b)[kDepth][kColumns]) {
#pragma unroll 1
  for (int index = static_cast<int>(threadIdx.x); index < kDepth * kColumns; index += kThreads) {
    const int k = index / kColumns, column = index % kColumns;
    double value = 0;
    if (column0 + column < task.sampling.columns && k0 + k < task.k) {
      const long long n = reference::sampled_element(task.sampling, task.m, 0, column0 + column).n;
      value =
          reference::input_value(task.b, reference::offset_of(task.b.strides, batch, k0 + k, n));
    }
    b[k][column] = value;
  }
}

// The rows of a tile may belong to several batch entries, each with its own B; a thread sums only
// what is drawn for its own.
__device__ __forceinline__ void sum_tile(const reference::GemmTask& task, long long row0,
                                         long long column0, double (&sums)[kThreadColumns]) {
  __shared__ double a[kRows][kDepth];
  __shared__ double b[kDepth][kColumns];
  const int row = static_cast<int>(threadIdx.x) / 16, lane = static_cast<int>(threadIdx.x) % 16;
  const long long last_row = min(row0 + kRows, task.sampling.rows) - 1;
  const long long my_row = min(row0 + row, last_row);
  const long long my_batch = reference::sampled_element(task.sampling, task.m, my_row, 0).batch;
  const long long first_batch = reference::sampled_element(task.sampling, task.m, row0, 0).batch;
  const long long last_batch = reference::sampled_element(task.sampling, task.m, last_row, 0).batch;
  for (long long batch = first_batch; batch <= last_batch; ++batch) {
    for (long long k0 = 0; k0 < task.k; k0 += kDepth) {
      __syncthreads();
      draw_a(task, row0, k0, a);
      draw_b(task, batch, column0, k0, b);
      __syncthreads();
      if (batch != my_batch) {
        continue;
      }
      for (int k = 0; k < kDepth; ++k) {
        for (int column = 0; column < kThreadColumns; ++column) {
          sums[column] += a[row][k] * b[k][lane + 16 * column];
        }
      }
    }
  }
}

__device__ __forceinline__ void keep_sums(const reference::GemmTask& task, long long row,
                                          long long first_column,
                                          const double (&sums)[kThreadColumns]) {
  for (int index = 0; index < kThreadColumns; ++index) {
    const long long column = first_column + 16 * index;
    if (column < task.sampling.columns) {
      task.expected[row * task.sampling.columns + column] = sums[index];
    }
  }
}

// A loop of its own that stays rolled up: the activations in f64 are long and are compiled once a
// round, and sums that a rolled loop indexes would not stay in registers.
__device__ __forceinline__ void finish_sums(const reference::GemmTask& task, long long row,
                                            long long first_column) {
#pragma unroll 1
  for (int index = 0; index < kThreadColumns; ++index) {
    const long long column = first_column + 16 * index;
    if (column < task.sampling.columns) {
      double& element = task.expected[row * task.sampling.columns + column];
      const reference::Element place =
          reference::sampled_element(task.sampling, task.m, row, column);
      element = reference::expected_value(task, element, place.batch, place.m, place.n);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    tunedgemm_gemm(const __grid_constant__ Arguments arguments) {
  const reference::GemmTask& task = *static_cast<const reference::GemmTask*>(arguments.workspace);
  const reference::Sampling& sampling = task.sampling;
  const long long row_tiles = (sampling.rows + kRows - 1) / kRows;
  const long long column_tiles = (sampling.columns + kColumns - 1) / kColumns;
  for (long long tile = blockIdx.x; tile < row_tiles * column_tiles; tile += gridDim.x) {
    const long long row0 = tile / column_tiles * kRows, column0 = tile % column_tiles * kColumns;
    double sums[kThreadColumns] = {};
    sum_tile(task, row0, column0, sums);
    const long long row = row0 + threadIdx.x / 16;
    const long long first_column = column0 + threadIdx.x % 16;
    if (row < sampling.rows) {
      keep_sums(task, row, first_column, sums);
      finish_sums(task, row, first_column);
    }
  }
}
