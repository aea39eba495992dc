// The numbers behind a config of mma, in plain constexpr C++. The kernel sizes its arrays with them
// and the host half its launch, so nothing is computed twice.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::mma {

constexpr int kMaxWarps = 16;  // of a CTA
constexpr int kMaxRegisters = 255;
constexpr int kOtherRegisters = 50;  // of a thread, besides accumulators and operands
// Elements that one copy holds in registers where rows are not aligned for cp.async.
constexpr int kElementsInFlight = 8;
// What a warp takes through shared memory at a time in the epilogue: 16 rows of its accumulators. 8
// elements between the rows make them start in different banks.
constexpr int kEpilogueRows = 16, kEpiloguePadding = 8;

// How elements are multiplied.
enum class Products {
  kAsTheyAre,  // f64, f16, bf16, s8, and fp8 where there is an instruction
  kTf32,       // f32 rounded
  kEmulated,   // f32 as three bf16
  kWidened,    // fp8 as f16
};

struct Shape {
  int block_m, block_n, block_k, warp_m, warp_n, stages, group_m, split_k;
  int element_bytes, accumulator_bytes;
  int alignment_a, alignment_b;  // bytes that divide the address of every row
  Products products;
};

TUNEDGEMM_CONSTEXPR int warps(const Shape& shape) {
  return shape.block_m / shape.warp_m * (shape.block_n / shape.warp_n);
}
TUNEDGEMM_CONSTEXPR int threads(const Shape& shape) {
  return 32 * warps(shape);
}

// A step along K is 32 bytes of a row of A; 64 of f64, and of f32 where it is emulated.
TUNEDGEMM_CONSTEXPR int step_bytes(const Shape& shape) {
  return shape.element_bytes == 8 || shape.products == Products::kEmulated ? 64 : 32;
}
TUNEDGEMM_CONSTEXPR int steps(const Shape& shape) {  // of a tile along K
  return shape.block_k * shape.element_bytes / step_bytes(shape);
}

// ---- shared memory ------------------------------------------------------------------------------

TUNEDGEMM_CONSTEXPR long long pipeline_bytes(const Shape& shape) {
  return static_cast<long long>(shape.stages) * shape.block_k * shape.element_bytes *
         (shape.block_m + shape.block_n);
}
TUNEDGEMM_CONSTEXPR int epilogue_pitch(const Shape& shape) {
  return shape.warp_n + kEpiloguePadding;
}
TUNEDGEMM_CONSTEXPR int epilogue_bytes_of_warp(const Shape& shape) {
  return kEpilogueRows * epilogue_pitch(shape) * shape.accumulator_bytes;
}
TUNEDGEMM_CONSTEXPR long long shared_bytes(const Shape& shape) {
  const long long pipeline = pipeline_bytes(shape);
  const long long epilogue = static_cast<long long>(warps(shape)) * epilogue_bytes_of_warp(shape);
  return pipeline > epilogue ? pipeline : epilogue;
}

// Of the workspace, where K is split.
TUNEDGEMM_CONSTEXPR long long partial_tile_bytes(const Shape& shape) {
  return static_cast<long long>(shape.block_m) * shape.block_n * shape.accumulator_bytes;
}

// ---- registers of a thread ----------------------------------------------------------------------

TUNEDGEMM_CONSTEXPR int accumulator_registers(const Shape& shape) {
  return shape.warp_m * shape.warp_n / 32 * shape.accumulator_bytes / 4;
}
TUNEDGEMM_CONSTEXPR int fragment_registers(const Shape& shape) {  // of one step
  return (shape.warp_m + shape.warp_n) * step_bytes(shape) / 32 / 4;
}
// What the fragments of a step are converted to before they are multiplied.
TUNEDGEMM_CONSTEXPR int factor_registers(const Shape& shape) {
  return shape.products == Products::kEmulated ? 12 * (shape.warp_m / 16) + 18 * (shape.warp_n / 16)
         : shape.products == Products::kWidened ? 8 + 8 * (shape.warp_n / 16)
                                                : 0;
}
// With room for the fragments of two steps, a warp loads those of the next step while it multiplies.
TUNEDGEMM_CONSTEXPR bool has_two_buffers(const Shape& shape) {
  return accumulator_registers(shape) + factor_registers(shape) + 2 * fragment_registers(shape) +
             kOtherRegisters <=
         kMaxRegisters;
}

// Copies of an operand's tile that a thread makes.
TUNEDGEMM_CONSTEXPR bool copies_asynchronously(int alignment) {
  return alignment >= 4;
}
TUNEDGEMM_CONSTEXPR int copy_bytes(const Shape& shape, int alignment) {
  return copies_asynchronously(alignment) ? alignment : kElementsInFlight * shape.element_bytes;
}
TUNEDGEMM_CONSTEXPR int copies_of_thread(const Shape& shape, int block, int alignment) {
  const int copies = block * shape.block_k * shape.element_bytes / copy_bytes(shape, alignment);
  return (copies + threads(shape) - 1) / threads(shape);
}

// About what the compiler needs: it holds what copies have in registers, and the more of them a
// tile takes, the more of their addresses and limits, too.
TUNEDGEMM_CONSTEXPR int registers(const Shape& shape) {
  const int of_k = steps(shape) > 1 ? steps(shape) : 1;
  int in_flight = 0, held = 0;
  const int blocks[] = {shape.block_m, shape.block_n};
  const int alignments[] = {shape.alignment_a, shape.alignment_b};
  for (int operand = 0; operand < 2; ++operand) {
    const int copies = copies_of_thread(shape, blocks[operand], alignments[operand]);
    if (copies_asynchronously(alignments[operand])) {
      held += copies;
    } else {
      held += 3 * copies;
      in_flight += (copies + of_k - 1) / of_k * kElementsInFlight;
    }
  }
  const int of_f64 = shape.accumulator_bytes == 8 ? 28 : 0;  // addresses of single elements
  return accumulator_registers(shape) + factor_registers(shape) +
         (has_two_buffers(shape) ? 2 : 1) * fragment_registers(shape) + in_flight +
         (held > 16 ? held - 16 : 0) + of_f64 + kOtherRegisters;
}

// ---- what must hold -----------------------------------------------------------------------------

TUNEDGEMM_CONSTEXPR bool is_power_of_two(int number) {
  return number >= 1 && (number & (number - 1)) == 0;
}
TUNEDGEMM_CONSTEXPR bool warps_divide_block_m(const Shape& shape) {
  return shape.block_m % shape.warp_m == 0;
}
TUNEDGEMM_CONSTEXPR bool warps_divide_block_n(const Shape& shape) {
  return shape.block_n % shape.warp_n == 0;
}
TUNEDGEMM_CONSTEXPR bool has_legal_warps(const Shape& shape) {
  return is_power_of_two(warps(shape)) && warps(shape) <= kMaxWarps;
}
TUNEDGEMM_CONSTEXPR bool has_whole_steps(const Shape& shape) {
  return steps(shape) >= 1 && shape.block_k * shape.element_bytes % step_bytes(shape) == 0;
}
TUNEDGEMM_CONSTEXPR bool has_enough_stages(const Shape& shape) {
  return shape.stages >= 3 ||
         (copies_asynchronously(shape.alignment_a) && copies_asynchronously(shape.alignment_b));
}

}  // namespace tunedgemm::mma
