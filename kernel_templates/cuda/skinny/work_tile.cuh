// The operands by their extents, the Shape, and the part of the problem that a CTA and a warp have.
#pragma once

#include "../common/split_k.cuh"
#include "../mma/operands.cuh"
#include "knobs.cuh"
#include "shape.h"
#include "vector.cuh"

template <bool kIsFirst, class First, class Second>
struct ChoiceOf {
  using Type = First;
};
template <class First, class Second>
struct ChoiceOf<false, First, Second> {
  using Type = Second;
};

constexpr bool kWideIsB = WIDE_B != 0;
template <bool kIsB>
struct OperandOf {
  using Type = ChoiceOf<kIsB, TypeB, TypeA>::Type;
  static constexpr bool kIsKMajor =
      kIsB ? kOrderB == Order::kColumnMajor : kOrderA == Order::kRowMajor;
  static constexpr int kAlignment = kIsB ? kAlignB : kAlignA;

  static __device__ __forceinline__ const Type* matrix(const Arguments& arguments,
                                                       long long batch_index) {
    if constexpr (kIsB) {
      return matrix_b(arguments, batch_index);
    } else {
      return matrix_a(arguments, batch_index);
    }
  }
  static __device__ __forceinline__ long long ld(const Arguments& arguments) {
    return kIsB ? arguments.ldb : arguments.lda;
  }
};
using Wide = OperandOf<kWideIsB>;
using Narrow = OperandOf<!kWideIsB>;

// A matrix with a number of rows of A (columns of B), from its first to its last element.
template <class Operand>
__device__ __forceinline__ Span<typename Operand::Type> span_of(const Arguments& arguments,
                                                                long long batch_index, int rows) {
  const auto* const matrix = Operand::matrix(arguments, batch_index);
  const long long lines = Operand::kIsKMajor ? rows : arguments.k;
  const long long line = Operand::kIsKMajor ? arguments.k : rows;
  return {matrix, matrix + (lines > 0 ? (lines - 1) * Operand::ld(arguments) + line : 0)};
}

constexpr bool kUsesTensorCores = kElementBytes != 4 || kNumerics != Numerics::kIeee;
constexpr skinny::Shape kShape{.columns = COLUMNS,
                               .unroll = UNROLL,
                               .warps_l = WARPS_L,
                               .warps_k = WARPS_K,
                               .split_k = SPLIT_K,
                               .element_bytes = kElementBytes,
                               .accumulator_bytes = sizeof(Accumulator),
                               .is_k_major = Wide::kIsKMajor,
                               .alignment = Wide::kAlignment,
                               .uses_tensor_cores = kUsesTensorCores,
                               .takes_steps_of_16 = kEmulates};
// Short names for the knobs and the values that follow from them.
constexpr int kColumns = kShape.columns, kUnroll = kShape.unroll;
constexpr int kWarpsK = kShape.warps_k, kSplitK = kShape.split_k;
constexpr int kThreads = kShape.threads(), kClasses = kShape.classes();
constexpr int kVector = kShape.vector_elements(), kUnitVectors = kShape.unit_vectors();
constexpr int kUnitL = kShape.unit_l(), kUnitK = kShape.unit_k(), kStepK = kShape.step_k();
constexpr int kNextK = kShape.next_k();  // from a unit of a warp to its next one
constexpr int kLanesOfK = kShape.lanes_of_k();
// K-major: from a row of a lane to its next one.
constexpr int kNextRow = 32 / kLanesOfK * kClasses;
constexpr int kBlockL = kShape.block_l();
constexpr int kCtasOfClasses = kShape.ctas_of_classes(), kGroupL = kShape.group_l();
constexpr int kChunkSteps = kShape.chunk_steps(), kFront = kShape.front();
constexpr bool kShiftsK = kShape.shifts_k(), kShiftsL = kShape.shifts_l();

// kBlockL rows of the wide operand, and this CTA's slice of K. If CTAs divide the classes among
// them, the rows are those of some classes among kGroupL rows.
struct SkinnyWorkTile {
  long long batch_index;
  long long tile;  // its index in the whole batch
  int slice;       // of K
  int l0, first_class;
  int first_step, end_step;  // along K
};

// L and K are at most 2^30.
__device__ __forceinline__ int extent_l(const Arguments& arguments) {
  return static_cast<int>(kWideIsB ? arguments.n : arguments.m);
}
__device__ __forceinline__ int narrow_rows(const Arguments& arguments) {
  return static_cast<int>(kWideIsB ? arguments.m : arguments.n);
}

__device__ __forceinline__ SkinnyWorkTile work_tile_at(const Arguments& arguments, int work_index) {
  const int tiles = tiles_along(extent_l(arguments), kGroupL) * kCtasOfClasses;
  const int slice_of_batch = work_index / tiles, tile = work_index % tiles;
  // Vectors of shifted rows reach further back, so the last ones begin later.
  const int depth = static_cast<int>(arguments.k) + (kShiftsK ? kVector - 1 : 0);
  const long long steps = (depth + kStepK - 1) / kStepK;
  SkinnyWorkTile work;
  work.batch_index = slice_of_batch / kSplitK;
  work.slice = slice_of_batch % kSplitK;
  work.tile = work.batch_index * tiles + tile;
  work.l0 = tile / kCtasOfClasses * kGroupL;
  work.first_class = tile % kCtasOfClasses * kShape.warps_l;
  work.first_step = static_cast<int>(steps * work.slice / kSplitK);
  work.end_step = static_cast<int>(steps * (work.slice + 1) / kSplitK);
  return work;
}

// The position of a warp in the CTA.
struct WarpPosition {
  int l, k;
};
__device__ __forceinline__ WarpPosition position_of_warp() {
  const int warp = threadIdx.x / 32;
  return {warp / kWarpsK, warp % kWarpsK};
}

// The rows of a K-major warp are every kClasses-th one from this row of the tile on. Without
// classes, they follow each other.
__device__ __forceinline__ int first_row_of_warp(const SkinnyWorkTile& work) {
  const int warp_l = position_of_warp().l;
  return warp_l / kClasses * (kUnitL * kClasses) + work.first_class + warp_l % kClasses;
}
// The same for k, if the wide operand is MN-major.
__device__ __forceinline__ int first_k_of_warp() {
  const int warp_k = position_of_warp().k;
  return warp_k / kClasses * (kUnroll * kUnitK * kClasses) + warp_k % kClasses;
}
