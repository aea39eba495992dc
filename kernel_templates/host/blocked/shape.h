// The lanes, registers and scratch memory that follow from a config of blocked, in plain constexpr
// C++. The kernel and its host code both include this file, so that nothing is computed twice.
#pragma once

namespace tunedgemm::internal::blocked {

// The number of accumulators in a vector.
constexpr int lanes(int vector_bytes, int accumulator_bytes) {
  return vector_bytes / accumulator_bytes;
}
constexpr long long round_to_line(long long elements) {
  return (elements + 63) / 64 * 64;
}

// The knobs, and the properties of the problem that the kernel needs.
struct Shape {
  int vector_bytes;
  int tile_m, vectors;  // rows of a register tile, and vectors in each row
  int block_m, block_n, block_k;
  int split_m, split_n;

  int accumulator_bytes;

  constexpr int lanes() const { return blocked::lanes(vector_bytes, accumulator_bytes); }
  constexpr int tile_n() const { return vectors * lanes(); }
  // Whole tiles in a block.
  constexpr int tiles_m() const { return block_m / tile_m; }
  constexpr int tiles_n() const { return block_n / tile_n(); }
  // Parts of D, one for each thread.
  constexpr int parts() const { return split_m * split_n; }

  // Vector registers: a tile's accumulators, a row of B, and an element of A.
  constexpr int registers() const { return 1 + vectors + tile_m * vectors; }

  // ---- Scratch memory of a thread, in accumulators ----------------------------------------------
  // The size includes an additional vector, since the store of a whole vector may exceed the packed
  // data.
  constexpr long long packed_a() const {
    return round_to_line(static_cast<long long>(tiles_m()) * tile_m * block_k + lanes());
  }
  constexpr long long packed_b() const {
    return round_to_line(static_cast<long long>(tile_n()) * block_k + lanes());
  }
  // Partial tiles, kept until the next block along K.
  constexpr long long partial() const {
    return static_cast<long long>(tiles_m()) * tile_m * tiles_n() * tile_n();
  }
  constexpr long long scratch_bytes() const {
    return (packed_a() + packed_b() + partial()) * accumulator_bytes;
  }

  // ---- What must hold ---------------------------------------------------------------------------
  constexpr bool tiles_fit_m() const { return tiles_m() >= 1; }
  constexpr bool tiles_fit_n() const { return tiles_n() >= 1; }
};

}  // namespace tunedgemm::internal::blocked
