// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        with up to 16 rows or 16 columns of D
//
// Read ../mma/kernel.cu first. New here: the wide operand, which has L rows, is read once and not
// shared by warps. So it goes from memory straight into the registers of the lanes that multiply
// it, in vectors of 16 bytes, and many vectors are in flight. Only the narrow operand, which has
// few rows, goes through shared memory. (A row is a row of A or a column of B.)
//
//        narrow operand                     wide operand, L rows
//
//           K                                  K
//        +------------------+               +------------------+
//        | chunk |          |  up to    row | warp   warp      |
//        +------------------+  16           | 0      1     ... |   a CTA: warps_l warps along L,
//            |                              | ...              |          warps_k warps along K
//            +-> shared memory              +------------------+
//
//   for each step along K:  if a chunk begins:  copy that of the narrow operand; barrier
//                           for each of the warp's `unroll` units of the wide operand:
//                             sums += unit * narrow unit
//                             start to load the unit of the next step
//   add the sums of the warps along K, in shared memory, if there are several; store D
//
// The wide operand may have any alignment. A vector begins at a multiple of 16 bytes, wherever that
// is in a row. Rows are divided into classes: every kClasses-th row begins at the same byte of its
// vector. A warp computes rows of one class, so that all its vectors are shifted equally. If the
// operand is K-major, the narrow operand is read with that shift. Otherwise the warps along K have
// a class of k each, and their sums are shifted against each other when they are added.
//
// The code is small, since many launches are so short that fetching it takes a part of their time.
//
// f32 with IEEE products uses fused multiply-adds, all other types the tensor cores.
//
// Cost: each element of the wide operand is read once; columns * chunk elements of shared memory;
// per thread, unroll * kUnitVectors vectors in registers, the sums and about 50 other registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/skinny/kernel.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
// Those of the tile are in knobs.cuh, since the headers depend on them.
#ifndef TYPE_A
#define TYPE_A f16
#endif
#ifndef TYPE_B
#define TYPE_B f16
#endif
#ifndef TYPE_D
#define TYPE_D f16
#endif
#ifndef ORDER_B
#define ORDER_B 1
#endif

#include "../common/epilogue.cuh"
#include "../common/split_k.cuh"
#include "narrow_operand.cuh"
#include "shape.h"
#include "sums.cuh"
#include "wide_operand.cuh"
#include "work_tile.cuh"

#ifndef THREADS
#define THREADS kShape.threads()
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES kShape.shared_bytes()
#endif

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(sizeof(TypeA) == sizeof(TypeB), "A and B must have elements of one size");
static_assert(kGroupKind == GroupKind::kNone && !kHasBlockScales,
              "groups and scales of blocks need another family");
static_assert(kShape.columns_fit(),
              "columns must be 8 or 16 with tensor cores, and at most 16 without");
static_assert(
    kShape.classes_fit(),
    "the warps along L (K-major; else along K) must be a multiple of 16 bytes / alignment, or "
    "divide that if no others have their rows");
static_assert(kShape.threads() <= skinny::kMostThreads, "a CTA has at most 16 warps");
static_assert(kShape.registers() <= 255,
              "unroll units and the accumulators must fit in 255 registers");
static_assert(kShape.split_k >= 1 && kShape.unroll >= 1, "split_k and unroll must be 1 or more");
static_assert(THREADS == kShape.threads(), "THREADS must be 32 a warp");
static_assert(SHARED_BYTES == kShape.shared_bytes(),
              "SHARED_BYTES must be the larger of the narrow operand's chunk and the warps' sums");

// ---- 4. Mainloop --------------------------------------------------------------------------------
// Adds the products of the CTA's slice of K to the sums. In each step, the units of the next step
// are loaded.
__device__ __forceinline__ void multiply_slice(const Arguments& arguments,
                                               const SkinnyWorkTile& work, WideLoads& loads,
                                               char* shared, Sums& sums) {
  const NarrowChunk chunk{
      arguments, span_of<Narrow>(arguments, work.batch_index, narrow_rows(arguments)), shared};
  const auto rows = Sums::narrow_rows_at(chunk, loads.shift);
  const int steps = work.end_step - work.first_step;
  int offset = 0;
  WideUnit units[kUnroll];
#pragma unroll 1
  for (int step = -1; step < steps; ++step) {
    if (step >= 0 && step % kChunkSteps == 0) {
      __syncthreads();  // before the last chunk is overwritten
      chunk.copy((work.first_step + step) * kStepK - kFront,
                 min(steps - step, kChunkSteps) * kStepK + kFront);
      __syncthreads();
      offset = 0;
    }
#pragma unroll
    for (int ahead = 0; ahead < kUnroll; ++ahead) {
      if (step >= 0) {
        loads.clear_outside_k(units[ahead], ahead);
        sums.multiply(units[ahead], rows, offset + ahead * kNextK * kElementBytes);
      }
      if (step + 1 < steps) {
        loads.load_unit(units[ahead], ahead);
      }
      loads.advance_unit(ahead);
    }
    loads.advance_step();
    offset += step >= 0 ? kStepK * kElementBytes : 0;
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
constexpr int kSumsPitch = kShape.sums_pitch();

// The position along L of a lane's row, from l0. `shift` is that of the warp's vectors.
__device__ __forceinline__ int position_of_row(const SkinnyWorkTile& work, int row, int shift) {
  const int lane_l = threadIdx.x % 32 / kLanesOfK;
  return Wide::kIsKMajor ? first_row_of_warp(work) + row * kNextRow + kClasses * lane_l
                         : position_of_warp().l * kUnitL + lane_l * kVector + row +
                               (kShiftsL ? kVector - shift : 0);
}

// Stores a warp's sums to shared memory: for each warp along K, kColumns rows of kSumsPitch
// elements along L.
__device__ __forceinline__ void share_sums(const SkinnyWorkTile& work, const Sums& sums, int shift,
                                           Accumulator* shared) {
  Accumulator* const own = shared + position_of_warp().k * (kColumns * kSumsPitch);
  sums.for_each([&](int row, int column, Accumulator sum) {
    own[column * kSumsPitch + position_of_row(work, row, shift)] = sum;
  });
}

struct CollectiveEpilogue {
  const Arguments& arguments;
  const SkinnyWorkTile& work;
  char* shared;

  // Calls function(index, l, column) for each element of the tile. Neighbouring threads get
  // neighbouring elements of D.
  template <class Function>
  __device__ __forceinline__ void for_each_element(const Function& function) const {
    const int rows = min(extent_l(arguments) - work.l0, kBlockL);
    const int columns = narrow_rows(arguments);
    const int elements = (kWideIsB ? columns : kColumns) * kBlockL;
    for (int index = threadIdx.x; index < elements; index += kThreads) {
      const int l = kWideIsB ? index % kBlockL : index / kColumns;
      const int column = kWideIsB ? index / kBlockL : index % kColumns;
      if (l < rows && column < columns) {
        function(index, l, column);
      }
    }
  }

  // The sum of the warps along K.
  __device__ __forceinline__ Accumulator sum_of_warps(int l, int column) const {
    const auto* const sums = reinterpret_cast<const Accumulator*>(shared);
    Accumulator sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarpsK; ++warp) {
      add(sums[(warp * kColumns + column) * kSumsPitch + l + (kShiftsL ? kVector : 0)], sum);
    }
    return sum;
  }

  __device__ __forceinline__ void store_element(const Epilogue& epilogue, int l, int column,
                                                Accumulator sum) const {
    const int m = kWideIsB ? column : work.l0 + l, n = kWideIsB ? work.l0 + l : column;
    matrix_d(arguments, work.batch_index)[offset_d(arguments, m, n)] =
        apply_epilogue(epilogue, sum, m, n);
  }

  template <class SumOf>
  __device__ __forceinline__ void store(const SumOf& sum_of) const {
    const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
    for_each_element([&](int index, int l, int column) {
      store_element(epilogue, l, column, sum_of(index, l, column));
    });
  }

  __device__ __forceinline__ void store_own_sums(const Sums& sums) const {
    const int rows = extent_l(arguments) - work.l0, columns = narrow_rows(arguments);
    const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
    sums.for_each([&](int row, int column, Accumulator sum) {
      const int l = position_of_row(work, row, 0);
      if (l < rows && column < columns) {
        store_element(epilogue, l, column, sum);
      }
    });
  }

  __device__ __forceinline__ void store_sums() const {
    if constexpr (kSplitK == 1) {
      store([&](int, int l, int column) { return sum_of_warps(l, column); });
      return;
    }
    constexpr int kElements = kShape.partial_elements();
    Accumulator* const partial = partial_tile(arguments, work.tile, work.slice, kSplitK, kElements);
    for_each_element(
        [&](int index, int l, int column) { partial[index] = sum_of_warps(l, column); });
    const ThreadGroup group{static_cast<int>(threadIdx.x), kThreads, 0};
    if (!arrives_last(arguments, work.tile, kSplitK, group, reinterpret_cast<int*>(shared))) {
      return;
    }
    const Accumulator* const partials = partial_tile(arguments, work.tile, 0, kSplitK, kElements);
    store([&](int index, int, int) {
      Accumulator sum = 0;
#pragma unroll 8
      for (int slice = 0; slice < kSplitK; ++slice) {
        add(partials[slice * kElements + index], sum);
      }
      return sum;
    });
  }
};

// ---- 6. Entry -----------------------------------------------------------------------------------
__device__ __forceinline__ void compute(const Arguments& arguments, const SkinnyWorkTile& work,
                                        char* shared) {
  WideLoads loads = make_wide_loads(arguments, work);
  Sums sums = {};
  multiply_slice(arguments, work, loads, shared, sums);
  const CollectiveEpilogue epilogue{arguments, work, shared};
  if constexpr (kShape.stores_own_sums()) {
    epilogue.store_own_sums(sums);
  } else {
    __syncthreads();  // before the sums overwrite the narrow operand
    share_sums(work, sums, loads.shift, reinterpret_cast<Accumulator*>(shared));
    __syncthreads();
    epilogue.store_sums();
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kShape.ctas_per_sm())
    tunedgemm_skinny(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(128) char shared[];
  constexpr int kSlices = kSplitK * kCtasOfClasses;
  for_each_work_tile<kWideIsB ? kColumns : kGroupL, kWideIsB ? kGroupL : kColumns, kSlices>(
      arguments, [&](int index) { compute(arguments, work_tile_at(arguments, index), shared); });
}
