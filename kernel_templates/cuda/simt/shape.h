// The threads, shared memory and registers that follow from a config of simt, in plain constexpr
// C++. The kernel and its host code both include this file, so that nothing is computed twice. The
// kernel's static_asserts and the host's why_not functions call the same functions.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::internal::simt {

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024, kMostStages = 6, kMostSplitK = 64;
constexpr int kQuadBytes = 16;  // the width of a load from or a store to shared memory

// Registers besides accumulators and fragments, in this order, for: addresses and counters; values
// in flight (counted in accumulators); a transcendental activation; type conversion; the f64
// epilogue of integers.
constexpr int kOtherRegisters = 12;
constexpr int kOtherAccumulators = 10;
constexpr int kActivationRegisters = 12;
constexpr int kConversionRegisters = 10;
constexpr int kIntegerRegisters = 8;

// The number of accumulators in 16 bytes: 4, or 2 for f64.
TUNEDGEMM_CONSTEXPR int quad(int accumulator_bytes) {
  return kQuadBytes / accumulator_bytes;
}

// The copy of an operand's tile from global to shared memory: `rows` rows of A (columns of B),
// block_k elements of each.
struct TileCopy {
  int rows, block_k;
  bool is_k_major;
  int element_bytes, accumulator_bytes;
  int alignment;  // bytes that divide the address of every row (column) in global memory
  int threads;
  bool async_copy;

  // The distance from one k to the next in shared memory, in accumulators. It includes 16 bytes of
  // padding, so that the lanes that transpose an operand (8 along K, 4 across) write to 32
  // different banks.
  TUNEDGEMM_CONSTEXPR int pitch() const { return rows + quad(accumulator_bytes); }
  TUNEDGEMM_CONSTEXPR int stage_elements() const { return block_k * pitch(); }
  // The elements of one copy: as many as the alignment allows, but at most 8 through registers, or
  // 16 bytes by cp.async. cp.async cannot transpose, so it copies a K-major operand one element at
  // a time.
  TUNEDGEMM_CONSTEXPR int vector_elements() const {
    const int aligned = alignment > element_bytes ? alignment / element_bytes : 1;
    const int most = !async_copy ? 8 : is_k_major ? 1 : kQuadBytes / element_bytes;
    return aligned < most ? aligned : most;
  }
};

// The knobs, and the properties of the problem that the kernel needs.
struct Shape {
  int block_m, block_n, block_k;
  int warp_m, warp_n, thread_m, thread_n;
  int stages;
  bool async_copy;
  int split_k;

  int element_bytes_a, element_bytes_b, accumulator_bytes;
  int alignment_a, alignment_b;
  bool a_is_k_major, b_is_k_major;
  bool accumulates_integers, transcendental;

  // ---- Tiles ------------------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int threads() const {
    return kWarp * (block_m / warp_m) * (block_n / warp_n);
  }
  TUNEDGEMM_CONSTEXPR int lanes_m() const { return warp_m / thread_m; }
  TUNEDGEMM_CONSTEXPR int lanes_n() const { return warp_n / thread_n; }

  // ---- Shared memory ----------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR TileCopy copy_a() const {
    return {block_m,           block_k,     a_is_k_major, element_bytes_a,
            accumulator_bytes, alignment_a, threads(),    async_copy};
  }
  TUNEDGEMM_CONSTEXPR TileCopy copy_b() const {
    return {block_n,           block_k,     b_is_k_major, element_bytes_b,
            accumulator_bytes, alignment_b, threads(),    async_copy};
  }
  TUNEDGEMM_CONSTEXPR int shared_bytes() const {
    return stages * (copy_a().stage_elements() + copy_b().stage_elements()) * accumulator_bytes;
  }

  // ---- Split-K ----------------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int partial_tile_elements() const { return block_m * block_n; }
  TUNEDGEMM_CONSTEXPR int partial_tile_bytes() const {
    return partial_tile_elements() * accumulator_bytes;
  }
  // The rows of a thread tile in a reduction chunk. There are at most split_k chunks, so a CTA need
  // not reduce more than one.
  TUNEDGEMM_CONSTEXPR int rows_of_chunk() const {
    int rows = 1;
    while (thread_m / rows > split_k) {
      rows *= 2;
    }
    return rows;
  }
  TUNEDGEMM_CONSTEXPR int chunks() const { return thread_m / rows_of_chunk(); }

  // ---- Registers --------------------------------------------------------------------------------
  // The registers of a thread for elements in flight, if copies are not asynchronous. Even a short
  // element occupies a register.
  TUNEDGEMM_CONSTEXPR int staged_registers() const {
    const int bytes_a = element_bytes_a > 4 ? element_bytes_a : 4;
    const int bytes_b = element_bytes_b > 4 ? element_bytes_b : 4;
    const int bytes = block_k * (block_m * bytes_a + block_n * bytes_b);
    return async_copy ? 0 : (bytes + 4 * threads() - 1) / (4 * threads());
  }
  // An estimate of a thread's registers: accumulators, the fragments of two k, elements in flight,
  // and the rest. Precondition: threads() > 0.
  TUNEDGEMM_CONSTEXPR int registers() const {
    const int held = thread_m * thread_n + 2 * (thread_m + thread_n);
    const bool converts = element_bytes_a != accumulator_bytes;
    return (held + kOtherAccumulators) * accumulator_bytes / 4 + staged_registers() +
           kOtherRegisters + (transcendental ? kActivationRegisters : 0) +
           (converts ? kConversionRegisters : 0) + (accumulates_integers ? kIntegerRegisters : 0);
  }

  // ---- What must hold ---------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR bool warps_divide_block_m() const { return block_m % warp_m == 0; }
  TUNEDGEMM_CONSTEXPR bool warps_divide_block_n() const { return block_n % warp_n == 0; }
  TUNEDGEMM_CONSTEXPR bool lanes_fit() const {
    return warp_m % thread_m == 0 && warp_n % thread_n == 0 && lanes_m() * lanes_n() == kWarp &&
           lanes_m() >= 2 && lanes_n() >= 2;
  }
  TUNEDGEMM_CONSTEXPR bool quads_fit() const {
    return thread_m * accumulator_bytes % kQuadBytes == 0 &&
           thread_n * accumulator_bytes % kQuadBytes == 0;
  }
  TUNEDGEMM_CONSTEXPR bool stages_fit() const { return async_copy || stages == 2; }
  TUNEDGEMM_CONSTEXPR bool async_copy_fits() const {
    return !async_copy ||
           (element_bytes_a == accumulator_bytes && element_bytes_b == accumulator_bytes);
  }
};

}  // namespace tunedgemm::internal::simt
