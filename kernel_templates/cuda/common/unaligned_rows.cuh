// Stores of 16 rows of D that are not aligned to 16 bytes, by a warp. The rows go through shared
// memory in strips of columns. A row is prepared there with the alignment that it has in memory, so
// that all of it but its two ends is copied in vectors of 16 bytes.
//
//   UnalignedRows<kColumns> rows{shared, to, ldd, rows_left, columns_left};
//   for (...) {                                // each strip
//     rows.prepared(row)[column] = ...;        // by any lane
//     __syncwarp();  rows.store();  __syncwarp();  rows.advance();
//   }
#pragma once

#include "problem.cuh"
#include "strip.cuh"

constexpr int kVectorBytes = strip::kVectorBytes;

// Copies an unsigned integer if it is the next piece of the range [begin, end) of bytes.
template <class Piece>
__device__ __forceinline__ void copy_piece(const char* from, char* to, int& begin, int end,
                                           bool is_next) {
  constexpr int bytes = sizeof(Piece);
  if (bytes >= static_cast<int>(sizeof(TypeD)) && is_next && begin + bytes <= end) {
    *reinterpret_cast<Piece*>(to + begin) = *reinterpret_cast<const Piece*>(from + begin);
    begin += bytes;
  }
}

template <int kColumns>
struct UnalignedRows {
  static constexpr int kPitch = strip::pitch(kColumns, sizeof(TypeD));
  static constexpr int kStripBytes = kColumns * sizeof(TypeD);
  static constexpr int kVectors = kStripBytes / kVectorBytes;  // that a row may have, at most
  static_assert(kStripBytes % kVectorBytes == 0, "the next strip has the same alignment");

  char* shared;            // 16 rows of kPitch bytes, aligned to 16 bytes
  TypeD* to;               // D[m0, n0]: the strip's first element
  long long ldd;           // in elements
  int rows, columns_left;  // in D from there on

  __device__ __forceinline__ static int offset_in_vector(const TypeD* pointer) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(pointer) % kVectorBytes);
  }

  // The strip's first element of a row, in shared memory. It is the same for all strips.
  __device__ __forceinline__ TypeD* prepared(int row) const {
    return reinterpret_cast<TypeD*>(shared + row * kPitch + offset_in_vector(to + row * ldd));
  }

  __device__ __forceinline__ void store() const {
    const int lane = threadIdx.x % 32;
    const int row_bytes = min(kColumns, columns_left) * static_cast<int>(sizeof(TypeD));
    // Whole vectors. Vector 0 is the first that begins in the row.
#pragma unroll 2
    for (int vector = lane; vector < 16 * kVectors; vector += 32) {
      const int row = vector / kVectors;
      char* const row_to = reinterpret_cast<char*>(to + row * ldd);
      const int skipped = -offset_in_vector(to + row * ldd) & (kVectorBytes - 1);
      const int at = vector % kVectors * kVectorBytes + skipped;
      if (row < rows && at + kVectorBytes <= row_bytes) {
        const char* const from = reinterpret_cast<const char*>(prepared(row));
        *reinterpret_cast<uint4*>(row_to + at) = *reinterpret_cast<const uint4*>(from + at);
      }
    }
    // Even lanes copy what precedes a row's first whole vector, odd lanes what follows its last.
    const int row = lane / 2;
    if (row < rows && row_bytes > 0) {
      const int offset = offset_in_vector(to + row * ldd), end = offset + row_bytes;
      const int last_vector = end & -kVectorBytes;  // relative to the vector of the first element
      const char* const from = shared + row * kPitch;
      char* const row_to = reinterpret_cast<char*>(to + row * ldd) - offset;
      if (lane % 2 == 0) {
        copy_end(from, row_to, offset, offset == 0 ? 0 : min(kVectorBytes, end));
      } else {
        copy_end(from, row_to, offset == 0 ? last_vector : max(last_vector, kVectorBytes), end);
      }
    }
  }
  // Copies the bytes [begin, end), which are fewer than a vector and do not reach into another one.
  __device__ __forceinline__ static void copy_end(const char* from, char* to, int begin, int end) {
    copy_piece<unsigned short>(from, to, begin, end, begin & 2);
    copy_piece<unsigned>(from, to, begin, end, begin & 4);
    copy_piece<uint2>(from, to, begin, end, begin & 8);
    copy_piece<uint2>(from, to, begin, end, true);
    copy_piece<unsigned>(from, to, begin, end, true);
    copy_piece<unsigned short>(from, to, begin, end, true);
  }

  __device__ __forceinline__ void advance() {
    to += kColumns;
    columns_left -= kColumns;
  }
};
