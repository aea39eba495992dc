// The copy of an operand from global to shared memory, one k tile after another. Shared memory
// holds elements of the accumulator's type, and all elements with the same k lie together:
//
//     global, K-major                        shared                      global, MN-major
//
//     row 0   k k k k k k k k                k 0   row row row ... | pad     k 0   row row row ...
//     row 1   k k k k k k k k   transp. ->   k 1   row row row ... | pad <-  k 1   row row row ...
//     ...                                    ...                             ...
//
// "Row" means a row of A or a column of B. A and B differ only in type, order and extent, so one
// template serves both.
#pragma once

#include "../common/problem.cuh"
#include "../ptx/cp_async.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

constexpr int kQuad = simt::quad(sizeof(Accumulator));
struct alignas(16) Quad {
  Accumulator element[kQuad];
};

template <class Type, simt::TileCopy kCopy>
struct Operand {
  static constexpr bool kIsKMajor = kCopy.is_k_major, kAsyncCopy = kCopy.async_copy;
  static constexpr int kBlockK = kCopy.block_k, kThreads = kCopy.threads;
  static constexpr int kPitch = kCopy.pitch();
  static constexpr int kVector = kCopy.vector_elements();

  // The first row of a tile must be a multiple of this, so that vectors across rows are aligned.
  static constexpr int kRowUnit = kIsKMajor ? 1 : kVector;

  // A tile consists of k groups. The CTA's threads copy the vectors of one k group, then those of
  // the next k group. If the operand is K-major, a k group has 8 elements of every row: 32 bytes of
  // f32, one sector of memory. Otherwise it has all rows at one k.
  static constexpr int kGroupDepth = kIsKMajor ? 8 : 1;
  static constexpr int kVectorsOfRow = kIsKMajor ? kGroupDepth / kVector : 1;
  static constexpr int kVectorsOfGroup = kCopy.rows * kGroupDepth / kVector;
  static constexpr int kVectors = kCopy.rows * kBlockK / kVector;
  static constexpr int kVectorsOfThread = (kVectors + kThreads - 1) / kThreads;
  static_assert(kVectorsOfGroup % kThreads == 0 || kThreads % kVectorsOfGroup == 0,
                "the vectors of a k group must be a multiple or a divisor of the threads");

  struct alignas(kVector * sizeof(Type)) Vector {
    Type element[kVector];
  };

  const Type* first_vector;            // of this thread in the next k tile, in global memory
  long long stride;                    // elements from one row (if MN-major: one k) to the next
  int rows;                            // that are inside the matrix, from first_vector on
  bool all_rows;                       // all rows of the tile are inside the matrix
  Vector in_flight[kVectorsOfThread];  // unused if copies are asynchronous

  // The next four functions return the position of a thread's first vector in the tile, and the
  // offsets of the thread's other vectors.
  static __device__ __forceinline__ int first_row() {
    const int vector = threadIdx.x % kVectorsOfGroup;
    return kIsKMajor ? vector / kVectorsOfRow : vector * kVector;
  }
  static __device__ __forceinline__ int first_k() {
    const int group_k = threadIdx.x / kVectorsOfGroup * kGroupDepth;
    return kIsKMajor ? group_k + threadIdx.x % kVectorsOfRow * kVector : group_k;
  }
  static __device__ __forceinline__ int row_offset(int index) {
    return index * kThreads % kVectorsOfGroup * kVector / kGroupDepth;
  }
  static __device__ __forceinline__ int k_offset(int index) {
    return index * kThreads / kVectorsOfGroup * kGroupDepth;
  }
  static __device__ __forceinline__ bool has_vector(int index) {
    return (index + 1) * kThreads <= kVectors || index * kThreads + threadIdx.x < kVectors;
  }

  __device__ __forceinline__ const Type* source(int index) const {
    return kIsKMajor ? first_vector + row_offset(index) * stride + k_offset(index)
                     : first_vector + k_offset(index) * stride + row_offset(index);
  }
  static __device__ __forceinline__ Accumulator* destination(int index, Accumulator* tile) {
    return tile + (first_k() + k_offset(index)) * kPitch + first_row() + row_offset(index);
  }

  // `elements` points to the CTA's first k tile in global memory. `rows_inside` of the tile's rows
  // are inside the matrix.
  __device__ __forceinline__ void begin(const Type* elements, long long leading_dimension,
                                        int rows_inside) {
    stride = leading_dimension;
    first_vector = elements + (kIsKMajor ? first_row() * stride + first_k()
                                         : first_k() * stride + first_row());
    rows = rows_inside - first_row();
    all_rows = rows_inside == kCopy.rows;
  }
  __device__ __forceinline__ void advance() {
    first_vector += kIsKMajor ? kBlockK : kBlockK * stride;
  }

  // The number of a vector's elements that are inside the matrix, if only the first `depth` steps
  // of the k tile along k are.
  __device__ __forceinline__ int elements_inside(int index, int depth) const {
    const int k_left = depth - first_k() - k_offset(index), rows_left = rows - row_offset(index);
    const int left = kIsKMajor ? k_left : rows_left;
    return k_left > 0 && rows_left > 0 ? min(left, kVector) : 0;
  }

  __device__ __forceinline__ void copy_async(int index, Accumulator* tile, int elements) const {
    const int bytes = elements * static_cast<int>(sizeof(Type));
    if constexpr (sizeof(Vector) == 16) {
      copy_16_bytes(destination(index, tile), source(index), bytes);
    } else if constexpr (sizeof(Vector) == 8) {
      copy_8_bytes(destination(index, tile), source(index), bytes);
    } else {
      copy_4_bytes(destination(index, tile), source(index), bytes);
    }
  }

  // Loads the first elements of a vector. The other elements become zero.
  __device__ __forceinline__ Vector load_elements(int index, int elements) const {
    Vector vector = {};
#pragma unroll
    for (int element = 0; element < kVector; ++element) {
      if (element < elements) {
        vector.element[element] = source(index)[element];
      }
    }
    return vector;
  }

  // Starts to copy a k tile to `tile` in shared memory. The k tile must be completely inside the
  // matrix.
  __device__ __forceinline__ void begin_full_copy(Accumulator* tile) {
#pragma unroll
    for (int index = 0; index < kVectorsOfThread; ++index) {
      if (!has_vector(index)) {
        continue;
      }
      if constexpr (kAsyncCopy) {
        copy_async(index, tile, kVector);
      } else {
        in_flight[index] = *reinterpret_cast<const Vector*>(source(index));
      }
    }
    advance();
  }
  // Starts to copy a k tile of which only the first `depth` steps along k lie inside the matrix.
  // Elements outside the matrix become zero.
  __device__ __forceinline__ void begin_copy(Accumulator* tile, int depth) {
    if (all_rows && depth == kBlockK) {
      begin_full_copy(tile);
      return;
    }
#pragma unroll
    for (int index = 0; index < kVectorsOfThread; ++index) {
      if (!has_vector(index)) {
        continue;
      }
      const int elements = elements_inside(index, depth);
      if constexpr (kAsyncCopy) {
        copy_async(index, tile, elements);
      } else {
        in_flight[index] = load_elements(index, elements);
      }
    }
    advance();
  }

  // Converts the elements in registers and stores them to shared memory.
  __device__ __forceinline__ void end_copy(Accumulator* tile) const {
#pragma unroll
    for (int index = 0; index < kVectorsOfThread; ++index) {
      if (!has_vector(index)) {
        continue;
      }
      Accumulator* const to = destination(index, tile);
      if constexpr (!kIsKMajor && kVector % kQuad == 0) {
#pragma unroll
        for (int first = 0; first < kVector; first += kQuad) {
          Quad quad;
#pragma unroll
          for (int element = 0; element < kQuad; ++element) {
            quad.element[element] = widen(in_flight[index].element[first + element]);
          }
          *reinterpret_cast<Quad*>(to + first) = quad;
        }
      } else {
#pragma unroll
        for (int element = 0; element < kVector; ++element) {
          to[element * (kIsKMajor ? kPitch : 1)] = widen(in_flight[index].element[element]);
        }
      }
    }
  }
};
