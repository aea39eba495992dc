// The Shape of the skinny kernel: the tiles, bytes and registers that follow from a config. The
// kernel and its host code both include this file, so that nothing is computed twice. The kernel's
// static_asserts and the host's why_not functions call the same functions.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::internal::skinny {

constexpr int kVectorBytes = 16;
constexpr int kMostThreads = 512;
// The most of the narrow operand that is in shared memory at a time: of all rows, and of one.
constexpr int kNarrowBytes = 32 << 10, kMostNarrowRowBytes = 8 << 10;
constexpr int kRegistersOfSm = 1 << 16, kEnoughThreads = 1024;
constexpr int kOtherRegisters = 44;  // of a thread, besides accumulators and vectors in flight

TUNEDGEMM_CONSTEXPR int least(int x, int y) {
  return x < y ? x : y;
}
TUNEDGEMM_CONSTEXPR int greatest(int x, int y) {
  return x > y ? x : y;
}

// The knobs, and the properties of the problem that the kernel depends on.
struct Shape {
  int columns;
  int unroll;
  int warps_l, warps_k;
  int split_k;

  int element_bytes, accumulator_bytes;
  bool is_k_major;         // the wide operand
  int alignment;           // in bytes, of its rows
  bool uses_tensor_cores;  // otherwise, f32 with fused multiply-adds
  bool takes_steps_of_16;  // emulated f32: two registers of bf16 along k

  TUNEDGEMM_CONSTEXPR int warps() const { return warps_l * warps_k; }
  TUNEDGEMM_CONSTEXPR int threads() const { return 32 * warps(); }
  TUNEDGEMM_CONSTEXPR int vector_elements() const { return kVectorBytes / element_bytes; }

  // Vectors of 16 bytes begin at addresses that are multiples of 16. If rows (K-major; else
  // columns) are not aligned, they begin at different elements of a vector. Rows of one class, that
  // is, every classes()-th one, begin at the same.
  TUNEDGEMM_CONSTEXPR int classes() const {
    return alignment >= kVectorBytes ? 1 : kVectorBytes / alignment;
  }
  TUNEDGEMM_CONSTEXPR bool shifts_k() const { return is_k_major && classes() > 1; }
  TUNEDGEMM_CONSTEXPR bool shifts_l() const { return !is_k_major && classes() > 1; }

  // ---- A unit: what a warp multiplies at a time -------------------------------------------------
  TUNEDGEMM_CONSTEXPR int unit_vectors() const {  // of a lane
    return is_k_major           ? 2
           : element_bytes == 1 ? 8
           : element_bytes == 2 ? 4
           : !uses_tensor_cores ? 4
           : takes_steps_of_16  ? 4
                                : 2;
  }
  // Lanes that are neighbours along a row: as many as read a cache line.
  TUNEDGEMM_CONSTEXPR int lanes_of_k() const { return is_k_major ? 8 : 4; }
  TUNEDGEMM_CONSTEXPR int unit_l() const {
    return 32 / lanes_of_k() * (is_k_major ? unit_vectors() : vector_elements());
  }
  TUNEDGEMM_CONSTEXPR int unit_k() const {
    return lanes_of_k() * (is_k_major ? vector_elements() : unit_vectors());
  }

  // A single warp has the sums of a row of a K-major operand, and stores them from registers.
  TUNEDGEMM_CONSTEXPR bool stores_own_sums() const {
    return is_k_major && warps_k == 1 && split_k == 1;
  }

  // ---- A CTA's tile -----------------------------------------------------------------------------
  // The CTAs that divide the classes of their rows among them, and the rows of all of these CTAs.
  TUNEDGEMM_CONSTEXPR int ctas_of_classes() const {
    return is_k_major && warps_l < classes() ? classes() / warps_l : 1;
  }
  TUNEDGEMM_CONSTEXPR int group_l() const { return ctas_of_classes() * block_l(); }
  // Of a shifted tile, only the columns that every class has are used.
  TUNEDGEMM_CONSTEXPR int loaded_l() const { return warps_l * unit_l(); }
  TUNEDGEMM_CONSTEXPR int block_l() const {
    return loaded_l() - (shifts_l() ? vector_elements() : 0);
  }
  // In a step, each warp along K multiplies `unroll` units that follow each other, or whose k do
  // within their class.
  TUNEDGEMM_CONSTEXPR int step_k() const { return warps_k * unroll * unit_k(); }
  TUNEDGEMM_CONSTEXPR int next_k() const { return unit_k() * (is_k_major ? 1 : classes()); }

  // ---- The narrow operand in shared memory ------------------------------------------------------
  // A chunk along K: as many steps as fit.
  TUNEDGEMM_CONSTEXPR int chunk_steps() const {
    const int row_bytes = least(kNarrowBytes / columns, kMostNarrowRowBytes);
    return greatest(row_bytes / (step_k() * element_bytes), 1);
  }
  TUNEDGEMM_CONSTEXPR int chunk_k() const { return chunk_steps() * step_k(); }
  // In front of the chunk are the elements before it, if rows are shifted.
  TUNEDGEMM_CONSTEXPR int front() const { return shifts_k() ? vector_elements() : 0; }
  // A row, with room for a shift of its own. The pitch spreads the rows that a warp reads over the
  // banks.
  TUNEDGEMM_CONSTEXPR int narrow_pitch() const {
    const int bytes = (chunk_k() + front() + vector_elements()) * element_bytes;
    return (bytes + 127) / 128 * 128 + 64;
  }
  TUNEDGEMM_CONSTEXPR int narrow_bytes() const { return columns * narrow_pitch(); }

  // ---- The sums of the warps in shared memory ---------------------------------------------------
  TUNEDGEMM_CONSTEXPR int sums_pitch() const {
    return loaded_l() + (shifts_l() ? vector_elements() : 0);
  }
  TUNEDGEMM_CONSTEXPR int sums_bytes() const {
    return warps_k * columns * sums_pitch() * accumulator_bytes;
  }
  TUNEDGEMM_CONSTEXPR int shared_bytes() const { return greatest(narrow_bytes(), sums_bytes()); }
  // The size of a partial tile in the workspace, if split_k > 1.
  TUNEDGEMM_CONSTEXPR int partial_elements() const { return columns * block_l(); }

  // ---- Registers of a thread --------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int lane_vectors() const { return unroll * unit_vectors(); }
  TUNEDGEMM_CONSTEXPR int accumulator_registers() const {
    const int rows = unit_l() / (32 / lanes_of_k());  // of a lane
    const int columns_of_lane = !uses_tensor_cores ? columns
                                : is_k_major       ? columns / 2
                                                   : columns / 4;
    return rows * columns_of_lane * accumulator_bytes / 4;
  }
  // An estimate of the register pressure.
  TUNEDGEMM_CONSTEXPR int registers() const {
    const int operands = !uses_tensor_cores ? 4 : takes_steps_of_16 ? 40 : 16;
    return accumulator_registers() + 4 * lane_vectors() + operands + kOtherRegisters;
  }
  // The CTAs that an SM should hold: its registers allow as many, and more do not help.
  TUNEDGEMM_CONSTEXPR int ctas_per_sm() const {
    const int by_registers = kRegistersOfSm / ((registers() + 7) / 8 * 8 * threads());
    return greatest(least(by_registers, kEnoughThreads / threads()), 1);
  }

  // ---- What must hold ---------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR bool columns_fit() const {
    return uses_tensor_cores ? columns == 8 || columns == 16 : columns <= 16;
  }
  TUNEDGEMM_CONSTEXPR bool classes_fit() const {
    return (is_k_major ? warps_l : warps_k) % classes() == 0 ||
           (stores_own_sums() && classes() % warps_l == 0);
  }
};

}  // namespace tunedgemm::internal::skinny
