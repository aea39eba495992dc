// Vectors of 16 bytes, at addresses that are multiples of 16.
#pragma once

#include "../mma/operands.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/global_memory.cuh"

// 16 bytes as elements or registers.
template <class Type>
union Vector {
  static constexpr int kElements = 16 / sizeof(Type);

  uint4 bytes;
  Type element[kElements];
  Register registers[16 / sizeof(Register)];
};

// The number of elements from the last multiple of 16 bytes to an element.
template <class Type>
__device__ __forceinline__ int elements_into_vector(const Type* element) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(element) % 16 / sizeof(Type));
}

// The elements of a matrix in memory, from its first to its last one.
template <class Type>
struct Span {
  const Type* begin;
  const Type* end;
};

// Loads the elements of a vector that are inside the span, with zeros for the others. A call, since
// few vectors need it, and launches that are short wait for their code.
template <class Type>
__device__ __noinline__ uint4 load_elements(const Type* from, const Type* begin, const Type* end) {
  Vector<Type> vector;
  vector.bytes = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < Vector<Type>::kElements; ++i) {
    if (from + i >= begin && from + i < end) {
      vector.element[i] = from[i];
    }
  }
  return vector.bytes;
}

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
