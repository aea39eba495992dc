// A SIMD register, through the compiler's vector extension: + and * work on all lanes at once, and
// the target determines the instruction (AVX-512, AVX2, SSE, NEON).
#pragma once

#include "../common/problem.h"
#include "shape.h"

#ifndef VECTOR_BYTES
#define VECTOR_BYTES 16  // of a SIMD register
#endif

constexpr int kLanes = blocked::lanes(VECTOR_BYTES, sizeof(Accumulator));

// The lanes of s32 are unsigned: s32 accumulates modulo 2^32, and signed overflow is undefined.
inline f64 lane_type(f64);
inline f32 lane_type(f32);
inline std::uint32_t lane_type(s32);
using Lane = decltype(lane_type(Accumulator{}));
using Vector __attribute__((vector_size(VECTOR_BYTES))) = Lane;

inline Vector load(const Accumulator* source) {
  Vector value;
  std::memcpy(&value, source, sizeof(Vector));
  return value;
}

inline void store(Accumulator* destination, Vector value) {
  std::memcpy(destination, &value, sizeof(Vector));
}

// Stores the first kCount lanes.
template <int kCount>
inline void store_part(Accumulator* destination, Vector value) {
  std::memcpy(destination, &value, kCount * sizeof(Accumulator));
}

// The type Lanes is Sequence<0, ..., kLanes - 1>.
template <int...>
struct Sequence {};
template <int kCount, int... kLane>
struct SequenceTo : SequenceTo<kCount - 1, kCount - 1, kLane...> {};
template <int... kLane>
struct SequenceTo<0, kLane...> : Sequence<kLane...> {};
using Lanes = SequenceTo<kLanes>;

// Interleave the lower or the upper halves of two vectors: a0 b0 a1 b1 ... These functions are
// templates because the builtin needs constant indices.
template <int... kLane>
inline Vector zip_lower(Vector a, Vector b, Sequence<kLane...>) {
  return __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kLanes)...);
}

template <int... kLane>
inline Vector zip_upper(Vector a, Vector b, Sequence<kLane...>) {
  return __builtin_shufflevector(a, b, (kLanes / 2 + kLane / 2 + kLane % 2 * kLanes)...);
}

// Transposes a row-major matrix of kRows vectors in place: afterwards its columns are contiguous.
// An element's position is the bit string (row | lane). Zipping the two halves of the rows rotates
// the string left by one bit. After log2(kRows) zips, row and lane are swapped.
template <int kRows>
inline void transpose(Vector (&rows)[kRows]) {
  static_assert(kRows >= 1 && kRows <= kLanes && (kRows & (kRows - 1)) == 0, "a power of two");
  constexpr Lanes kAll;
#pragma GCC unroll 4
  for (int step = 1; step < kRows; step *= 2) {
    Vector zipped[kRows];
#pragma GCC unroll 16
    for (int row = 0; row < kRows / 2; ++row) {
      zipped[2 * row] = zip_lower(rows[row], rows[row + kRows / 2], kAll);
      zipped[2 * row + 1] = zip_upper(rows[row], rows[row + kRows / 2], kAll);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      rows[row] = zipped[row];
    }
  }
}
