// The way of one operand of a block from global to shared memory, a tile a step along K. In shared
// memory lie accumulators, and k is the row:
//
//     global, neighbours along K             shared                      global, neighbours across
//
//     row 0   k k k k k k k k                k 0   row row row ... | pad     k 0   row row row ...
//     row 1   k k k k k k k k   transp. ->   k 1   row row row ... | pad <-  k 1   row row row ...
//     ...                                    ...                             ...
//
// "Row" means a row of A or a column of B. A and B differ in type, order and extent and in nothing
// else, so this is a template: without it every line would stand twice.
#pragma once

#include "../common/problem.cuh"
#include "../ptx/cp_async.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

constexpr int kQuad = simt::quad(sizeof(Accumulator));
struct alignas(16) Quad {
  Accumulator element[kQuad];
};

template <class Type, bool kAlongK, int kAlign, int kBlock, int kBlockK, int kThreads,
          bool kAsyncCopy>
struct Operand {
  static constexpr int kPitch = simt::pitch(kBlock, sizeof(Accumulator));
  static constexpr int kVector = simt::vector_elements(sizeof(Type), kAlign, kAlongK, kAsyncCopy);

  // The first row of a tile must be a multiple of it, where vectors lie across rows.
  static constexpr int kRowUnit = kAlongK ? 1 : kVector;

  // The block's threads take vector after vector of a slice of the tile, then those of the next
  // one. Along K a slice is 8 elements long (32 bytes of f32, which is what the memory delivers)
  // and every row has its part of it; else it is all rows of one k.
  static constexpr int kSlice = kAlongK ? 8 : 1;
  static constexpr int kVectorsOfRow = kAlongK ? kSlice / kVector : 1;
  static constexpr int kVectorsOfSlice = kBlock * kSlice / kVector;
  static constexpr int kVectors = kBlock * kBlockK / kVector;
  static constexpr int kCopies = (kVectors + kThreads - 1) / kThreads;  // of a thread
  static_assert(kVectorsOfSlice % kThreads == 0 || kThreads % kVectorsOfSlice == 0,
                "the threads must divide a slice of the tile, or slices the threads");

  struct alignas(kVector * sizeof(Type)) Vector {
    Type element[kVector];
  };

  const Type* from;        // the thread's first vector of the next step
  long long stride;        // elements from row to row, or (not along K) from k to k
  int rows;                // inside the matrix, counted from the thread's first vector
  bool all_rows;           // of the block's tile are inside the matrix
  Vector staged[kCopies];  // on the way, if the way leads through registers

  // Where a thread's first vector lies in the tile, and how much further its other ones are.
  static __device__ __forceinline__ int first_row() {
    const int vector = threadIdx.x % kVectorsOfSlice;
    return kAlongK ? vector / kVectorsOfRow : vector * kVector;
  }
  static __device__ __forceinline__ int first_k() {
    const int slice = threadIdx.x / kVectorsOfSlice * kSlice;
    return kAlongK ? slice + threadIdx.x % kVectorsOfRow * kVector : slice;
  }
  static __device__ __forceinline__ int rows_ahead(int copy) {
    return copy * kThreads % kVectorsOfSlice * kVector / kSlice;
  }
  static __device__ __forceinline__ int k_ahead(int copy) {
    return copy * kThreads / kVectorsOfSlice * kSlice;
  }
  static __device__ __forceinline__ bool exists(int copy) {
    return (copy + 1) * kThreads <= kVectors || copy * kThreads + threadIdx.x < kVectors;
  }

  __device__ __forceinline__ const Type* source(int copy) const {
    return kAlongK ? from + rows_ahead(copy) * stride + k_ahead(copy)
                   : from + k_ahead(copy) * stride + rows_ahead(copy);
  }
  static __device__ __forceinline__ Accumulator* target(int copy, Accumulator* shared) {
    return shared + (first_k() + k_ahead(copy)) * kPitch + first_row() + rows_ahead(copy);
  }

  // Begins at the first element of the block's first tile.
  __device__ __forceinline__ void start(const Type* tile, long long elements, int rows_in_tile) {
    stride = elements;
    from = tile + (kAlongK ? first_row() * stride + first_k() : first_k() * stride + first_row());
    rows = rows_in_tile - first_row();
    all_rows = rows_in_tile == kBlock;
  }

  // How many elements of a vector are inside the matrix when `depth` k are left.
  __device__ __forceinline__ int present(int copy, int depth) const {
    const int left_k = depth - first_k() - k_ahead(copy), left_rows = rows - rows_ahead(copy);
    const int left = kAlongK ? left_k : left_rows;
    return left_k > 0 && left_rows > 0 ? min(left, kVector) : 0;
  }

  __device__ __forceinline__ void copy_async(int copy, Accumulator* shared, int elements) const {
    const int bytes = elements * static_cast<int>(sizeof(Type));
    if constexpr (sizeof(Vector) == 16) {
      copy_16_bytes(target(copy, shared), source(copy), bytes);
    } else if constexpr (sizeof(Vector) == 8) {
      copy_8_bytes(target(copy, shared), source(copy), bytes);
    } else {
      copy_4_bytes(target(copy, shared), source(copy), bytes);
    }
  }

  __device__ __forceinline__ Vector load_partly(int copy, int elements) const {
    Vector vector = {};
#pragma unroll
    for (int element = 0; element < kVector; ++element) {
      if (element < elements) {
        vector.element[element] = source(copy)[element];
      }
    }
    return vector;
  }

  // Begins to copy a step that is inside the matrix as a whole.
  __device__ __forceinline__ void begin_whole_copy(Accumulator* shared) {
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
      if (!exists(copy)) {
        continue;
      }
      if constexpr (kAsyncCopy) {
        copy_async(copy, shared, kVector);
      } else {
        staged[copy] = *reinterpret_cast<const Vector*>(source(copy));
      }
    }
    from += kAlongK ? kBlockK : kBlockK * stride;
  }
  // The same of any step, of which `depth` k are left. What lies outside the matrix counts as zero.
  __device__ __forceinline__ void begin_copy(Accumulator* shared, int depth) {
    if (all_rows && depth == kBlockK) {
      begin_whole_copy(shared);
      return;
    }
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
      if (!exists(copy)) {
        continue;
      }
      const int elements = present(copy, depth);
      if constexpr (kAsyncCopy) {
        copy_async(copy, shared, elements);
      } else {
        staged[copy] = load_partly(copy, elements);
      }
    }
    from += kAlongK ? kBlockK : kBlockK * stride;
  }

  // What came through registers is converted and written down.
  __device__ __forceinline__ void end_copy(Accumulator* shared) const {
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
      if (!exists(copy)) {
        continue;
      }
      Accumulator* const to = target(copy, shared);
      if constexpr (!kAlongK && kVector % kQuad == 0) {
#pragma unroll
        for (int first = 0; first < kVector; first += kQuad) {
          Quad quad;
#pragma unroll
          for (int element = 0; element < kQuad; ++element) {
            quad.element[element] = widen(staged[copy].element[first + element]);
          }
          *reinterpret_cast<Quad*>(to + first) = quad;
        }
      } else {
#pragma unroll
        for (int element = 0; element < kVector; ++element) {
          to[element * (kAlongK ? kPitch : 1)] = widen(staged[copy].element[element]);
        }
      }
    }
  }
};
