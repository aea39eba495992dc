// The narrow operand: a chunk of K in shared memory, and what a lane reads of it.
//
//   chunk.copy(first_k, depth);             // by all threads
//   NarrowRow<kRegisters> row(chunk, number of the row, position);
//   row.load(offset, registers);
#pragma once

#include "wide_operand.cuh"

constexpr int kNarrowPitch = kShape.narrow_pitch();
constexpr bool kNarrowIsAligned = Narrow::kAlignment >= skinny::kVectorBytes;
// Vectors of the narrow operand are copied. Rows of small elements that are not aligned then lie in
// shared memory as they do in their vectors.
constexpr bool kCopiesVectors = Narrow::kIsKMajor && (kNarrowIsAligned || kElementBytes < 4);
constexpr bool kNarrowShifts = kCopiesVectors && !kNarrowIsAligned;

struct NarrowChunk {
  const Arguments& arguments;
  Span<Narrow::Type> span;
  char* shared;

  // The position of element first_k of a row, which is the same for the first one of each chunk.
  __device__ __forceinline__ int shift_of(int row, int first_k) const {
    return kNarrowShifts ? elements_into_vector(span.begin + row * Narrow::ld(arguments) + first_k)
                         : 0;
  }

  struct ChunkVector {
    int k;
    const Narrow::Type* from;
    uint4* to;
  };
  // A vector of the chunk, of which each row has `vectors`.
  __device__ __forceinline__ ChunkVector vector_at(int index, int vectors, float rows_of_vector,
                                                   int first_k) const {
    // Exact, since there are fewer than 2^16 vectors.
    const auto row = static_cast<int>((static_cast<float>(index) + 0.5f) * rows_of_vector);
    const int position = (index - row * vectors) * kVector;
    const int k = first_k + position - shift_of(row, first_k);
    return {k, span.begin + row * Narrow::ld(arguments) + k,
            reinterpret_cast<uint4*>(shared + row * kNarrowPitch + position * kElementBytes)};
  }

  // Copies `depth` elements of each row. Elements outside K become zero.
  __device__ __forceinline__ void copy(int first_k, int depth) const {
    const int rows = narrow_rows(arguments), end_k = static_cast<int>(arguments.k);
    const long long ld = Narrow::ld(arguments);
    if constexpr (kCopiesVectors) {
      const int vectors = (depth + (kNarrowShifts ? kVector - 1 : 0) + kVector - 1) / kVector;
      const float rows_of_vector = 1.0f / static_cast<float>(vectors);
#pragma unroll 4
      for (int index = threadIdx.x; index < rows * vectors; index += kThreads) {
        const ChunkVector vector = vector_at(index, vectors, rows_of_vector, first_k);
        if (vector.k >= 0 && vector.k + kVector <= end_k) {
          *vector.to = load_global_once(vector.from);
        }
      }
      // The vectors at the ends of rows. The last warps begin, which have none of the others if
      // there are few.
      if (first_k - kVector < 0 || first_k + depth + kVector > end_k) {
#pragma unroll 1
        for (int index = kThreads - 1 - threadIdx.x; index < rows * vectors; index += kThreads) {
          const ChunkVector vector = vector_at(index, vectors, rows_of_vector, first_k);
          if (vector.k < 0 || vector.k + kVector > end_k) {
            uint4 bytes = load_elements(vector.from, span.begin, span.end);
            RowMask<Narrow::Type>(vector.k, end_k).apply(bytes);
            *vector.to = bytes;
          }
        }
      }
    } else {
#pragma unroll 2
      for (int position = threadIdx.x; position < depth; position += kThreads) {
        const int k = first_k + position;
        const bool is_inside = k >= 0 && k < end_k;
#pragma unroll 4
        for (int row = 0; row < rows; ++row) {
          reinterpret_cast<Narrow::Type*>(shared + row * kNarrowPitch)[position] =
              !is_inside ? Narrow::Type{}
                         : span.begin[Narrow::kIsKMajor ? row * ld + k : k * ld + row];
        }
      }
    }
  }
};

// What a lane reads of a row of the chunk: kRegisters registers of neighbouring elements along k,
// or of every kClasses-th element if the warps along K have classes.
template <int kRegisters>
struct NarrowRow {
  int from;  // an address in shared memory
  int bits;  // by which small elements are shifted against their words

  __device__ NarrowRow() {}
  // `position` is that of the lane's first element in the chunk.
  __device__ __forceinline__ NarrowRow(const NarrowChunk& chunk, int row, int position) {
    from = static_cast<int>(shared_address(chunk.shared)) + row * kNarrowPitch +
           (position + chunk.shift_of(row, -kFront)) * kElementBytes;
    if constexpr (kFunnels) {
      bits = from % 4 * 8;
      from &= ~3;
      keep_in_register(bits);
    }
    keep_in_register(from);
  }

  __device__ __forceinline__ void load(int offset, Register (&registers)[kRegisters]) const {
    constexpr int kBytes = kRegisters * sizeof(Register), kElements = kBytes / kElementBytes;
    const void* const at = __cvta_shared_to_generic(from + offset);
    if constexpr (kShiftsL) {
      Narrow::Type elements[kElements];
#pragma unroll
      for (int i = 0; i < kElements; ++i) {
        elements[i] = static_cast<const Narrow::Type*>(at)[kClasses * i];
      }
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) {
        registers[i] = reinterpret_cast<const Register*>(elements)[i];
      }
    } else if constexpr (kFunnels) {
      const auto* const words = static_cast<const unsigned*>(at);
      unsigned word = words[0];
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) {
        const unsigned next = words[i + 1];
        registers[i] = __funnelshift_r(word, next, bits);
        word = next;
      }
    } else {
      struct alignas(kShiftsK ? sizeof(Register) : kBytes) Row {
        Register registers[kRegisters];
      };
      const Row row = *static_cast<const Row*>(at);
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) {
        registers[i] = row.registers[i];
      }
    }
  }

 private:
  static constexpr bool kFunnels = !kShiftsL && (kShiftsK || kNarrowShifts) && kElementBytes < 4;
};

// A lane's position in a row, for the first unit of its warp. `lane_k` is the lane's number along
// K.
__device__ __forceinline__ int first_position_of_lane(int lane_k, int shift) {
  return Wide::kIsKMajor
             ? kFront + position_of_warp().k * (kUnroll * kUnitK) + lane_k * kVector - shift
             : first_k_of_warp() + kClasses * lane_k * kUnitVectors;
}
