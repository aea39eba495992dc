// The Shape of the mma kernel: the warps, bytes and registers that follow from a config. The kernel
// and its host code both include this file, so that nothing is computed twice. The kernel's
// static_asserts and the host's why_not functions call the same functions.
#pragma once

#include "../../problem/scaling.h"
#include "../common/host_device.cuh"

namespace tunedgemm::internal::mma {

constexpr int kLeastArch = 80, kMostWarps = 16;
constexpr int kMostRegisters = 255;
constexpr int kOtherRegisters = 50;  // of a thread, besides accumulators, fragments and operands
// The registers of a vector that is copied through them, since its row is not aligned for cp.async.
constexpr int kRegistersOfVector = 9, kVectorBytes = 16;
// The most registers for vectors while there are no accumulators yet.
constexpr int kMostInFlight = 96;
// In the epilogue, 16 rows of a warp's accumulators go through shared memory at a time. Each row is
// padded by 8 elements, so that neighbouring rows start in different banks.
constexpr int kEpilogueRows = 16, kEpiloguePadding = 8;

// How elements are multiplied.
enum class Products {
  kDirect,    // f64, f16, bf16, s8, and fp8 if multiplies_fp8()
  kTf32,      // f32 rounded to tf32
  kEmulated,  // f32 as three bf16
  kAsF16,     // fp8 as f16
};
// Whether the kernel multiplies fp8 directly. Otherwise it converts fragments to f16. Before
// sm_89 there is no fp8 instruction. On sm_90 and sm_100 the compiler replaces it with two f16
// instructions, and converts a fragment again for each of them.
TUNEDGEMM_CONSTEXPR bool multiplies_fp8(int arch) {
  return arch == 89 || arch >= 120;
}

TUNEDGEMM_CONSTEXPR int least(int x, int y) {
  return x < y ? x : y;
}
TUNEDGEMM_CONSTEXPR int divided_up(int x, int y) {
  return (x + y - 1) / y;
}
TUNEDGEMM_CONSTEXPR bool is_power_of_two(int number) {
  return number >= 1 && (number & (number - 1)) == 0;
}
TUNEDGEMM_CONSTEXPR bool copies_asynchronously(int alignment) {
  return alignment >= 4;
}

// The knobs, and the properties of the problem that the kernel depends on.
struct Shape {
  int block_m, block_n, block_k;
  int warp_m, warp_n;
  int stages, split_k;

  int element_bytes, accumulator_bytes;
  int alignment_a, alignment_b;  // in bytes, of every row
  bool has_block_scales;         // of A or B: factors of the sums of a step
  Products products;

  TUNEDGEMM_CONSTEXPR int warps() const { return block_m / warp_m * (block_n / warp_n); }
  TUNEDGEMM_CONSTEXPR int threads() const { return 32 * warps(); }

  // The bytes of a row of A in a step along K.
  TUNEDGEMM_CONSTEXPR int step_bytes() const {
    return element_bytes == 8 || products == Products::kEmulated ? 64 : 32;
  }
  TUNEDGEMM_CONSTEXPR int steps() const {  // of a k tile
    return block_k * element_bytes / step_bytes();
  }

  // ---- Shared memory ----------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int pipeline_bytes() const {
    return stages * block_k * element_bytes * (block_m + block_n);
  }
  TUNEDGEMM_CONSTEXPR int epilogue_pitch() const { return warp_n + kEpiloguePadding; }
  TUNEDGEMM_CONSTEXPR int epilogue_bytes_of_warp() const {
    return kEpilogueRows * epilogue_pitch() * accumulator_bytes;
  }
  TUNEDGEMM_CONSTEXPR int shared_bytes() const {
    const int epilogue_bytes = warps() * epilogue_bytes_of_warp();
    return pipeline_bytes() > epilogue_bytes ? pipeline_bytes() : epilogue_bytes;
  }

  // The size of a partial tile in the workspace, if split_k > 1.
  TUNEDGEMM_CONSTEXPR int partial_tile_bytes() const {
    return block_m * block_n * accumulator_bytes;
  }

  // ---- Copies of an operand's tile --------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int copy_bytes(int alignment) const {
    return copies_asynchronously(alignment) ? alignment : kVectorBytes;
  }
  // The copies of one thread.
  TUNEDGEMM_CONSTEXPR int copies_of_thread(int block, int alignment) const {
    const int copies = block * block_k * element_bytes / copy_bytes(alignment);
    return (copies + threads() - 1) / threads();
  }
  // Those that go through registers.
  TUNEDGEMM_CONSTEXPR int vectors_of_thread(int block, int alignment) const {
    return copies_asynchronously(alignment) ? 0 : copies_of_thread(block, alignment);
  }
  // Whether all vectors of a k tile are in flight together before the first products.
  TUNEDGEMM_CONSTEXPR bool loads_k_tile_at_once() const {
    const int vectors =
        vectors_of_thread(block_m, alignment_a) + vectors_of_thread(block_n, alignment_b);
    return vectors > 0 && kRegistersOfVector * vectors <= kMostInFlight;
  }

  // ---- Registers of a thread --------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int accumulator_registers() const {
    return warp_m * warp_n / 32 * accumulator_bytes / 4;
  }
  TUNEDGEMM_CONSTEXPR int fragment_registers() const {  // of one step
    return (warp_m + warp_n) * step_bytes() / 32 / 4;
  }
  // The registers of the operands to which the fragments of a step are converted. Scales of blocks
  // need others for the sums of a step and their factors.
  TUNEDGEMM_CONSTEXPR int factor_registers() const {
    const int of_blocks = has_block_scales ? 4 + 2 * (warp_m / 16) + 4 * (warp_n / 16) : 0;
    return products == Products::kEmulated ? 12 * (warp_m / 16) + 18 * (warp_n / 16)
           : products == Products::kAsF16  ? of_blocks + 8 + 8 * (warp_n / 16)
                                           : 0;
  }
  // Fragments are double-buffered if the registers hold the fragments of two steps.
  TUNEDGEMM_CONSTEXPR bool has_two_buffers() const {
    return accumulator_registers() + factor_registers() + 2 * fragment_registers() +
               kOtherRegisters <=
           kMostRegisters;
  }
  // An estimate of the register pressure. Vectors that cp.async cannot copy are in registers
  // between their load and their store to shared memory. If a thread makes many copies for a tile,
  // the compiler keeps their addresses and bounds in registers, too. Precondition: warps() > 0.
  TUNEDGEMM_CONSTEXPR int registers() const {
    const int of_k = steps() > 1 ? steps() : 1;
    int in_flight = 0, held = 0;
    const int blocks[] = {block_m, block_n};
    const int alignments[] = {alignment_a, alignment_b};
    for (int operand = 0; operand < 2; ++operand) {
      const int copies = copies_of_thread(blocks[operand], alignments[operand]);
      if (copies_asynchronously(alignments[operand])) {
        held += copies;
      } else {
        held += 3 * copies;
        in_flight += (copies + of_k - 1) / of_k * kRegistersOfVector;
      }
    }
    const int of_f64 = accumulator_bytes == 8 ? 28 : 0;  // addresses of single elements
    return accumulator_registers() + factor_registers() +
           (has_two_buffers() ? 2 : 1) * fragment_registers() + in_flight +
           (held > 16 ? held - 16 : 0) + of_f64 + kOtherRegisters;
  }

  // ---- What must hold ---------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR bool warps_divide_block_m() const { return block_m % warp_m == 0; }
  TUNEDGEMM_CONSTEXPR bool warps_divide_block_n() const { return block_n % warp_n == 0; }
  TUNEDGEMM_CONSTEXPR bool warps_fit() const {
    return is_power_of_two(warps()) && warps() <= kMostWarps;
  }
  TUNEDGEMM_CONSTEXPR bool steps_fit() const {
    return steps() >= 1 && block_k * element_bytes % step_bytes() == 0;
  }
  TUNEDGEMM_CONSTEXPR bool block_scales_fit() const {
    return !has_block_scales || kScaledDepth % block_k == 0;
  }
  TUNEDGEMM_CONSTEXPR bool stages_fit() const {
    return stages != 2 ||
           (copies_asynchronously(alignment_a) && copies_asynchronously(alignment_b));
  }
};

}  // namespace tunedgemm::internal::mma
