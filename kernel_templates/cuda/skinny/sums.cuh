// The sums of a warp: the products of its units of the wide operand with the narrow one.
//
//   Sums sums = {};
//   const auto rows = Sums::narrow_rows_at(chunk, shift);
//   sums.multiply(unit, rows, offset);      // for each unit
//   sums.for_each(store);
#pragma once

#include "narrow_operand.cuh"

// The rows of the wide operand that a lane has in a unit.
constexpr int kLaneRows = kUnitL / (32 / kLanesOfK);

// On tensor cores: 16 rows of the wide operand, a pair for each lane, by 8 columns at a time.
//
// In the instruction, 4 lanes share a row. But 8 lanes share a K-major row, so that they read a
// whole cache line: to the instruction they are two rows, with the two halves of the line. It needs
// other columns for the other half. So it is issued for either half, and each time only the sums of
// these lanes are right.
struct TensorCoreSums {
  static constexpr int kLineHalves = kLanesOfK / 4;
  static constexpr int kPairs = kLaneRows / 2, kHalves = (kColumns + 7) / 8;
  static constexpr int kLaneRegisters = kUnitVectors * 16 / static_cast<int>(sizeof(Register));
  // The blocks along k that each lane's registers make.
  static constexpr int kGroups = kLaneRegisters / (4 * kBlocksOfStep * kPairs);

  Accumulator sums[kLineHalves][kPairs][kHalves][4];

  // A register of the wide operand: row 2 pair + `row` of the lane, the `index`-th along k.
  static __device__ __forceinline__ Register
  wide_register(const WideVector (&vectors)[kUnitVectors], int pair, int row, int index) {
    const int element = 2 * pair + row;
    if constexpr (Wide::kIsKMajor) {
      return vectors[row].registers[index];
    } else if constexpr (kElementBytes >= 4) {
      return vectors[index].registers[element];
    } else if constexpr (kElementBytes == 2) {
      return permute_bytes(vectors[2 * index].registers[element / 2],
                           vectors[2 * index + 1].registers[element / 2],
                           row == 0 ? 0x5410 : 0x7632);
    } else {
      const int byte = element % 4, first = 4 * index;
      const unsigned bytes = byte + ((4 + byte) << 4);
      const unsigned low = permute_bytes(vectors[first].registers[element / 4],
                                         vectors[first + 1].registers[element / 4], bytes);
      const unsigned high = permute_bytes(vectors[first + 2].registers[element / 4],
                                          vectors[first + 3].registers[element / 4], bytes);
      return permute_bytes(low, high, 0x5410);
    }
  }

  static constexpr int kRegisters = 2 * kBlocksOfStep * kGroups;  // of a row along k
  struct NarrowRows {
    NarrowRow<kRegisters> rows[kHalves];
  };
  static __device__ __forceinline__ NarrowRows narrow_rows_at(const NarrowChunk& chunk, int shift) {
    const int g = threadIdx.x % 32 / 4, position = first_position_of_lane(threadIdx.x % 4, shift);
    NarrowRows rows;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      rows.rows[half] = NarrowRow<kRegisters>(chunk, g + 8 * half, position);
    }
    return rows;
  }

  // `offset` is that of the unit in the chunk, in bytes.
  __device__ __forceinline__ void multiply(const WideUnit& unit, const NarrowRows& rows,
                                           int offset) {
#pragma unroll
    for (int half = 0; half < kLineHalves; ++half) {
      multiply_half(unit, rows, offset + half * 4 * skinny::kVectorBytes, sums[half]);
    }
  }
  static __device__ __forceinline__ void multiply_half(const WideUnit& unit, const NarrowRows& rows,
                                                       int offset,
                                                       Accumulator (&sums)[kPairs][kHalves][4]) {
    Register narrow[kHalves][kRegisters];
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      rows.rows[half].load(offset, narrow[half]);
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      Register blocks[kBlocksOfStep][4];
      Operands a, b;
#pragma unroll
      for (int block = 0; block < kBlocksOfStep; ++block) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const int index = (group * kBlocksOfStep + block) * 2 + k;
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            blocks[block][register_index(RegisterOrder::kKFirst, half, k)] =
                narrow[half < kHalves ? half : 0][index];
          }
        }
      }
      convert(Narrow::Type(), RegisterOrder::kKFirst, blocks, b);
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
        for (int i = 0; i < 4 * kBlocksOfStep; ++i) {
          const int block = i / 4, row = i % 2, k = i / 2 % 2;
          blocks[block][register_index(RegisterOrder::kRowsFirst, row, k)] =
              wide_register(unit.vectors, pair, row, (group * kBlocksOfStep + block) * 2 + k);
        }
        convert(Wide::Type(), RegisterOrder::kRowsFirst, blocks, a);
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
          Accumulator(&sum)[4] = sums[pair][half];
          if constexpr (!kEmulates) {
            multiply_operands<Wide::Type, Narrow::Type>(a, b, half, sum);
          } else {
            Accumulator of_step[4] = {};
            multiply_operands<Wide::Type, Narrow::Type>(a, b, half, of_step);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              add(of_step[i], sum[i]);
            }
          }
        }
      }
    }
  }

  // Calls store(row of the lane, column, sum) for each sum.
  template <class Store>
  __device__ __forceinline__ void for_each(const Store& store) const {
    const int t = threadIdx.x % 4;
    const bool is_second_half = kLineHalves == 2 && threadIdx.x / 4 % 2 == 1;
#pragma unroll
    for (int index = 0; index < kPairs * kHalves * 4; ++index) {
      const int i = index % 4, half = index / 4 % kHalves, pair = index / (4 * kHalves);
      Accumulator sum = sums[0][pair][half][i];
      if constexpr (kLineHalves == 2) {
        sum = is_second_half ? sums[1][pair][half][i] : sum;
        add(__shfl_xor_sync(~0u, sum, 4), sum);
      }
      if (!is_second_half) {
        store(pair * 2 + i / 2, half * 8 + 2 * t + i % 2, sum);
      }
    }
  }
};

// On CUDA cores, f32: a lane multiplies its part of each row by every column.
struct FusedMultiplyAddSums {
  static constexpr int kDepth = kUnitK / kLanesOfK;  // of a lane
  f32 sums[kLaneRows][kColumns];

  struct NarrowRows {
    NarrowRow<kDepth> first;
  };
  static __device__ __forceinline__ NarrowRows narrow_rows_at(const NarrowChunk& chunk, int shift) {
    return {NarrowRow<kDepth>(chunk, 0, first_position_of_lane(threadIdx.x % kLanesOfK, shift))};
  }

  __device__ __forceinline__ void multiply(const WideUnit& unit, const NarrowRows& rows,
                                           int offset) {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      Register narrow[kDepth];
      rows.first.load(offset + column * kNarrowPitch, narrow);
#pragma unroll
      for (int row = 0; row < kLaneRows; ++row) {
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
          const Register wide =
              Wide::kIsKMajor ? unit.vectors[row].registers[k] : unit.vectors[k].registers[row];
          multiply_add(__uint_as_float(wide), __uint_as_float(narrow[k]), sums[row][column]);
        }
      }
    }
  }

  template <class Store>
  __device__ __forceinline__ void for_each(const Store& store) const {
#pragma unroll
    for (int index = 0; index < kLaneRows * kColumns; ++index) {
      const int row = index / kColumns, column = index % kColumns;
      f32 sum = sums[row][column];
#pragma unroll
      for (int distance = 1; distance < kLanesOfK; distance *= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
      }
      if (threadIdx.x % kLanesOfK == column % kLanesOfK) {
        store(row, column, sum);
      }
    }
  }
};

using Sums = ChoiceOf<kUsesTensorCores, TensorCoreSums, FusedMultiplyAddSums>::Type;
