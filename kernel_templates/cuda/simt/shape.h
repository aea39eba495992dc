// What a config of simt means in threads, shared memory and registers, in plain constexpr C++. The
// kernel and its host half both include this file, so that nothing is computed twice: the kernel's
// static_asserts and the host's why_not ask the same functions.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::internal::simt {

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024, kMostStages = 6, kMostSplitK = 64;
constexpr int kQuadBytes = 16;  // what is read from shared memory at once, and stored to it

// Registers of addresses and counters; accumulators on their way; what a long activation, types
// that are converted and the f64 epilogue of integers want beyond them.
constexpr int kOtherRegisters = 12;
constexpr int kOtherAccumulators = 10;
constexpr int kActivationRegisters = 12;
constexpr int kConversionRegisters = 10;
constexpr int kIntegerRegisters = 8;

// Accumulators in 16 bytes: 4, or 2 of f64.
TUNEDGEMM_CONSTEXPR int quad(int accumulator_bytes) {
  return kQuadBytes / accumulator_bytes;
}
// Accumulators from one k to the next in shared memory. A row ends with 16 unused bytes: then the
// lanes that transpose an operand, 8 along K and 4 across, write to 32 different banks.
TUNEDGEMM_CONSTEXPR int pitch(int block, int accumulator_bytes) {
  return block + quad(accumulator_bytes);
}
// Elements that a copy moves at once: as many as the alignment allows; through registers 8 at most,
// asynchronously 16 bytes, and one of a K-major operand, which is transposed on its way.
TUNEDGEMM_CONSTEXPR int vector_elements(int element_bytes, int alignment, bool is_k_major,
                                        bool async_copy) {
  const int aligned = alignment > element_bytes ? alignment / element_bytes : 1;
  const int most = !async_copy ? 8 : is_k_major ? 1 : 16 / element_bytes;
  return aligned < most ? aligned : most;
}

// The knobs, and what the kernel must know of the problem.
struct Shape {
  int block_m, block_n, block_k;
  int warp_m, warp_n, thread_m, thread_n;
  int stages;
  bool async_copy;
  int split_k;

  int element_bytes_a, element_bytes_b, accumulator_bytes;
  bool accumulates_integers, long_activation;

  // ---- Tiles ------------------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int threads() const {
    return kWarp * (block_m / warp_m) * (block_n / warp_n);
  }
  TUNEDGEMM_CONSTEXPR int lanes_m() const { return warp_m / thread_m; }
  TUNEDGEMM_CONSTEXPR int lanes_n() const { return warp_n / thread_n; }

  // ---- Shared memory ----------------------------------------------------------------------------
  // In accumulators: a stage is the tile of A, then that of B.
  TUNEDGEMM_CONSTEXPR int stage_elements_a() const {
    return block_k * pitch(block_m, accumulator_bytes);
  }
  TUNEDGEMM_CONSTEXPR int stage_elements() const {
    return stage_elements_a() + block_k * pitch(block_n, accumulator_bytes);
  }
  TUNEDGEMM_CONSTEXPR int shared_bytes() const {
    return stages * stage_elements() * accumulator_bytes;
  }

  // ---- Split-K ----------------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int partial_tile_elements() const { return block_m * block_n; }
  TUNEDGEMM_CONSTEXPR int partial_tile_bytes() const {
    return partial_tile_elements() * accumulator_bytes;
  }
  // Of a thread's accumulators, as many as it takes for every block of a tile to have a chunk at
  // most.
  TUNEDGEMM_CONSTEXPR int rows_of_chunk() const {
    int rows = 1;
    while (thread_m / rows > split_k) {
      rows *= 2;
    }
    return rows;
  }
  TUNEDGEMM_CONSTEXPR int chunks() const { return thread_m / rows_of_chunk(); }

  // ---- Registers --------------------------------------------------------------------------------
  // Those of a thread in which elements wait that are not copied asynchronously. An element has one
  // to itself, even if it is short.
  TUNEDGEMM_CONSTEXPR int staged_registers() const {
    const int bytes_a = element_bytes_a > 4 ? element_bytes_a : 4;
    const int bytes_b = element_bytes_b > 4 ? element_bytes_b : 4;
    const int bytes = block_k * (block_m * bytes_a + block_n * bytes_b);
    return async_copy ? 0 : (bytes + 4 * threads() - 1) / (4 * threads());
  }
  // About how many a thread needs: accumulators, fragments of two k, what is on its way, and the
  // rest. There must be threads.
  TUNEDGEMM_CONSTEXPR int registers() const {
    const int held = thread_m * thread_n + 2 * (thread_m + thread_n);
    const bool converts = element_bytes_a != accumulator_bytes;
    return (held + kOtherAccumulators) * accumulator_bytes / 4 + staged_registers() +
           kOtherRegisters + (long_activation ? kActivationRegisters : 0) +
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
