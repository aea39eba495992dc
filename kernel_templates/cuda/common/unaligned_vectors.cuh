// Reads of vectors of 16 bytes from rows of any alignment. Memory is read in words: 16 bytes at
// addresses that are multiples of 16. A word may reach beyond the row, but not beyond the matrix.
//
//   Span<Type> span{begin, end};                   the matrix
//   UnalignedVector vector;
//   vector.load(from, span);                       starts to read the two words of a vector
//   vector.shifted<kAlignment>()                   the vector, when the words have arrived
//   load_elements(from, begin, end)                a vector of which a word reaches beyond
//   RowMask<Type>(first, extent).apply(vector)     clears what is outside the row
#pragma once

#include "problem.cuh"

// The elements of a matrix in memory, from its first to its last one.
template <class Type>
struct Span {
  const Type* begin;
  const Type* end;
};

// The number of elements from the last multiple of 16 bytes to an element.
template <class Type>
__device__ __forceinline__ int elements_into_vector(const Type* element) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(element) % 16 / sizeof(Type));
}

// Loads the elements of 16 bytes that are inside the span, with zeros for the others. A call, since
// few vectors need it, and launches that are short wait for their code.
template <class Type>
__device__ __noinline__ uint4 load_elements(const Type* from, const Type* begin, const Type* end) {
  constexpr int kElements = 16 / sizeof(Type);
  union {
    uint4 bytes;
    Type element[kElements];
  } vector;
  vector.bytes = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    if (from + i >= begin && from + i < end) {
      vector.element[i] = from[i];
    }
  }
  return vector.bytes;
}

// Whether both words of a vector are inside the matrix.
template <class Type>
__device__ __forceinline__ bool words_are_inside(const Type* from, const Span<Type>& span) {
  const auto word = reinterpret_cast<unsigned long long>(from) / 16 * 16;
  return word >= reinterpret_cast<unsigned long long>(span.begin) &&
         word + 32 <= reinterpret_cast<unsigned long long>(span.end);
}

// A vector in flight.
struct UnalignedVector {
  uint4 low, high;
  unsigned shift;

  __device__ __forceinline__ void clear() {
    low = high = make_uint4(0, 0, 0, 0);
    shift = 0;
  }
  // Elements outside the matrix become zero.
  template <class Type>
  __device__ __forceinline__ void load(const Type* from, const Span<Type>& span) {
    const auto address = reinterpret_cast<unsigned long long>(from);
    if (!words_are_inside(from, span)) {
      low = load_elements(from, span.begin, span.end);
      shift = 0;
      return;
    }
    const auto* const words = reinterpret_cast<const uint4*>(address / 16 * 16);
    low = __ldg(words);
    high = __ldg(words + 1);
    shift = static_cast<unsigned>(address % 16);
  }
  // The 16 bytes from byte `shift` of the words on. Rows are aligned to kAlignment bytes.
  template <int kAlignment>
  __device__ __forceinline__ uint4 shifted() const {
    unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      words[i] = (shift & 8) != 0 ? words[i + 2] : words[i];
    }
    if (kAlignment < 8) {
#pragma unroll
      for (int i = 0; i < 5; ++i) {
        words[i] = (shift & 4) != 0 ? words[i + 1] : words[i];
      }
    }
    if (kAlignment < 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = __funnelshift_r(words[i], words[i + 1], shift % 4 * 8);
      }
    }
    return {words[0], words[1], words[2], words[3]};
  }
};

// Clears the elements of a vector that are outside a row of `extent` elements. `first` is the
// position of the vector's first element in the row, which may be a few steps outside.
template <class Type>
struct RowMask {
  unsigned word[4];

  __device__ __forceinline__ RowMask(int first, int extent) {
    // In bytes. Extents and positions are up to 2^30 elements, so they are limited first.
    constexpr int kBytes = sizeof(Type);
    const int begin = max(-first, 0) * kBytes;
    const int end = min(extent - first, 16 / kBytes) * kBytes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // The shifts are clamped to 32.
      word[i] = __funnelshift_lc(0, ~0u, max(8 * begin - 32 * i, 0)) &
                __funnelshift_rc(~0u, 0, max(32 * (i + 1) - 8 * end, 0));
    }
  }
  __device__ __forceinline__ void apply(uint4& bytes) const {
    bytes.x &= word[0];
    bytes.y &= word[1];
    bytes.z &= word[2];
    bytes.w &= word[3];
  }
};
