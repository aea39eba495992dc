// Computes the expected values of sampled elements of D in f64. It reads no matrix: the inputs are
// functions of a seed and an offset (element.cuh). So a kernel under test cannot overwrite them,
// and orders, strides, batches and alignments need no special cases.
//
//             64 sampled columns
//        +-----------------------+      256 threads; each has one row and every 16th column
//   16   |                       |      a k tile: 512 elements of A and 2048 of B are generated in
//   rows |                       |      shared memory, then multiplied in the order of k
//        +-----------------------+
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/reference/gemm.cu

#include "../common/arguments.cuh"
#include "tasks.cuh"

constexpr int kRows = 16, kColumns = 64, kBlockK = 32;
constexpr int kThreads = 256, kCtasOfSm = 4;  // with 64 registers; NVRTC chooses 48, and spills
constexpr int kThreadColumns = kColumns / 16;

// This loop and that of generate_b() stay rolled. If unrolled, they would need too many registers.
__device__ __forceinline__ void generate_a(const reference::GemmTask& task, long long row0,
                                           long long k0, long long k_end,
                                           double (&a)[kRows][kBlockK]) {
#pragma unroll 1
  for (int index = static_cast<int>(threadIdx.x); index < kRows * kBlockK; index += kThreads) {
    const int row = index / kBlockK, k = index % kBlockK;
    double value = 0;
    if (row0 + row < task.sampling.rows && k0 + k < k_end) {
      const reference::Element element = reference::sampled_element(task, row0 + row, 0);
      value = reference::value_of_a(task, element.batch, element.m, k0 + k);
    }
    a[row][k] = value;
  }
}

__device__ __forceinline__ void generate_b(const reference::GemmTask& task, long long batch_index,
                                           long long column0, long long k0, long long k_end,
                                           double (&b)[kBlockK][kColumns]) {
#pragma unroll 1
  for (int index = static_cast<int>(threadIdx.x); index < kBlockK * kColumns; index += kThreads) {
    const int k = index / kColumns, column = index % kColumns;
    double value = 0;
    if (column0 + column < task.sampling.columns && k0 + k < k_end) {
      const long long n = reference::sampled_element(task, 0, column0 + column).n;
      value = reference::value_of_b(task, batch_index, k0 + k, n);
    }
    b[k][column] = value;
  }
}

// The rows of a tile may have several batch indices, each with its own B. A thread multiplies its
// row only by the B of the row's batch index.
__device__ __forceinline__ void multiply_tile(const reference::GemmTask& task, long long row0,
                                              long long column0,
                                              double (&accumulators)[kThreadColumns]) {
  __shared__ double a[kRows][kBlockK];
  __shared__ double b[kBlockK][kColumns];
  const int row = static_cast<int>(threadIdx.x) / 16, lane = static_cast<int>(threadIdx.x) % 16;
  const long long last_row = min(row0 + kRows, task.sampling.rows) - 1;
  const long long thread_row = min(row0 + row, last_row);
  const long long batch_of_thread = reference::sampled_element(task, thread_row, 0).batch;
  const long long first_batch = reference::sampled_element(task, row0, 0).batch;
  const long long last_batch = reference::sampled_element(task, last_row, 0).batch;
  for (long long batch_index = first_batch; batch_index <= last_batch; ++batch_index) {
    const auto depth = reference::depth_of(task, batch_index);
    for (long long k0 = depth.begin; k0 < depth.end; k0 += kBlockK) {
      __syncthreads();
      generate_a(task, row0, k0, depth.end, a);
      generate_b(task, batch_index, column0, k0, depth.end, b);
      __syncthreads();
      if (batch_index != batch_of_thread) {
        continue;
      }
      for (int k = 0; k < kBlockK; ++k) {
        for (int column = 0; column < kThreadColumns; ++column) {
          accumulators[column] += a[row][k] * b[k][lane + 16 * column];
        }
      }
    }
  }
}

__device__ __forceinline__ void store_accumulators(const reference::GemmTask& task, long long row,
                                                   long long first_column,
                                                   const double (&accumulators)[kThreadColumns]) {
  for (int index = 0; index < kThreadColumns; ++index) {
    const long long column = first_column + 16 * index;
    if (column < task.sampling.columns) {
      task.expected[row * task.sampling.columns + column] = accumulators[index];
    }
  }
}

// A separate loop, which stays rolled so that the long f64 activations are compiled only once. It
// reads the accumulators from memory, since a rolled loop cannot index registers.
__device__ __forceinline__ void apply_epilogue(const reference::GemmTask& task, long long row,
                                               long long first_column) {
#pragma unroll 1
  for (int index = 0; index < kThreadColumns; ++index) {
    const long long column = first_column + 16 * index;
    if (column < task.sampling.columns) {
      double& expected = task.expected[row * task.sampling.columns + column];
      const reference::Element element = reference::sampled_element(task, row, column);
      expected = reference::expected_value(task, expected, element);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kCtasOfSm)
    tunedgemm_gemm(const __grid_constant__ Arguments arguments) {
  const reference::GemmTask& task = *static_cast<const reference::GemmTask*>(arguments.workspace);
  const reference::Sampling& sampling = task.sampling;
  const long long row_tiles = (sampling.rows + kRows - 1) / kRows;
  const long long column_tiles = (sampling.columns + kColumns - 1) / kColumns;
  for (long long tile = blockIdx.x; tile < row_tiles * column_tiles; tile += gridDim.x) {
    const long long row0 = tile / column_tiles * kRows, column0 = tile % column_tiles * kColumns;
    double accumulators[kThreadColumns] = {};
    multiply_tile(task, row0, column0, accumulators);
    const long long row = row0 + threadIdx.x / 16;
    const long long first_column = column0 + threadIdx.x % 16;
    if (row < sampling.rows) {
      store_accumulators(task, row, first_column, accumulators);
      apply_epilogue(task, row, first_column);
    }
  }
}
