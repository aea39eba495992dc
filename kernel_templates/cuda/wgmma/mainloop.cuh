// Mainloop: a consumer, which is a warpgroup, multiplies the k tiles of a work tile. The usual case
// is multiply(). The others are variants of it:
//
//   multiply_first_row_block(),
//   multiply_overlapped()         while another row block is stored
//   multiply_promoted()           fp8: adds the (scaled) sums of a k tile to f32 accumulators
//   multiply_a_from_registers()   an MN-major A of 32 bits
//   multiply_by_warps()           f64
//
// A consumer has one or several row blocks of 64 rows of D. ptx/wgmma.cuh has the layout of their
// accumulators.
#pragma once

#include "../common/problem.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/mma.cuh"
#include "../ptx/wgmma.cuh"
#include "block_scales.cuh"
#include "f64_fragments.cuh"
#include "pipeline.cuh"
#include "shape.h"
#include "shared_tile.cuh"
#include "transpose.cuh"

using namespace tunedgemm::internal;

// A thread's accumulators.
template <wgmma::Shape kShape>
using RowBlockAccumulators = Accumulator[kShape.block_n / 2];
template <wgmma::Shape kShape>
using Accumulators = RowBlockAccumulators<kShape>[kShape.row_blocks()];

template <wgmma::Shape kShape>
__device__ __forceinline__ void clear(Accumulators<kShape>& accumulators) {
  constexpr int kOfRowBlock = kShape.block_n / 2;
#pragma unroll
  for (int i = 0; i < kShape.row_blocks() * kOfRowBlock; ++i) {
    accumulators[i / kOfRowBlock][i % kOfRowBlock] = 0;
  }
}

template <wgmma::Shape kShape>
struct CollectiveMainloop {
  static constexpr int kRowBlocks = kShape.row_blocks();
  static constexpr int kSteps = kShape.bytes_along_k() / wgmma::kStepBytes;  // of a k tile
  static constexpr wgmma::SharedTile kTileA = kShape.tile_a(), kTileB = kShape.tile_b();
  using Wgmma = ::Wgmma<TypeA, TypeB, kShape.block_n>;
  using Accumulators = ::Accumulators<kShape>;
  using RowBlockAccumulators = ::RowBlockAccumulators<kShape>;

  const Arguments& arguments;
  SharedMemory<kShape> shared;
  int first_row;  // of this consumer, in the CTA's tile
  PipelineState<kShape.stages> state;
  StageRelease<kShape> stage_release;

  __device__ __forceinline__ void multiply_work_tile(const WorkTile& work,
                                                     Accumulators& accumulators) {
    const int k_tiles = work.k_tiles;
    if constexpr (kShape.split_k > 1 && !kShape.promotes) {
      clear<kShape>(accumulators);  // not earlier: stores need the registers
    }
    if constexpr (kShape.promotes) {
      multiply_promoted(work, accumulators);
    } else if constexpr (kShape.a_from_registers()) {
      multiply_a_from_registers(k_tiles, accumulators);
    } else if constexpr (kShape.multiplies_by_warps()) {
      multiply_by_warps(k_tiles, accumulators);
    } else {
      multiply(k_tiles, accumulators);
    }
  }

  // ---- The usual case ---------------------------------------------------------------------------
  // With in_flight=1, the wgmma of a k tile still runs when the wgmma of the next k tile starts.
  // Stages are therefore released one k tile later.
  __device__ __forceinline__ void multiply(int k_tiles, Accumulators& accumulators) {
    int previous_stage = 0;
#pragma unroll 1
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      wait(shared.full(state.stage), state.phase);
      fence(accumulators);
      wgmma_fence();
      multiply_row_blocks(0, kRowBlocks, k_tile > 0, accumulators);
      wgmma_commit_group();
      wgmma_wait_group(kShape.in_flight);
      fence(accumulators);
      if constexpr (kShape.in_flight == 0) {
        stage_release.release(state.stage);
      } else if (k_tile > 0) {
        stage_release.release(previous_stage);
      }
      previous_stage = state.stage;
      state.advance();
    }
  }

  // With in_flight=1, waits for wgmma, so that the accumulators can be read, and releases the last
  // stage. With in_flight=0, or promoted accumulators, this has already happened.
  __device__ __forceinline__ void finish(Accumulators& accumulators) const {
    if constexpr (kShape.in_flight == 1 && !kShape.promotes) {
      wgmma_wait_group(0);
      fence(accumulators);
      stage_release.release(state.previous_stage());
    }
  }

  // Multiplies the current stage's k tile for row blocks `first` to `end` - 1. scale_d is an
  // operand of wgmma: 0 overwrites the accumulators, 1 adds to them.
  __device__ __forceinline__ void multiply_row_blocks(int first, int end, int scale_d,
                                                      Accumulators& accumulators) const {
#pragma unroll
    for (int block = first; block < end; ++block) {
      multiply_row_block(block, scale_d, accumulators[block]);
    }
  }
  __device__ __forceinline__ void multiply_row_block(int block, int scale_d,
                                                     RowBlockAccumulators& accumulators) const {
    const int row = first_row + wgmma::kRowBlock * block;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Wgmma::mma_async(step > 0 ? 1 : scale_d, descriptor(operand_a(state.stage), row, step),
                       descriptor(operand_b(state.stage), 0, step), accumulators);
    }
  }
  __device__ __forceinline__ SharedOperand operand_a(int stage) const {
    return {kTileA, descriptor_address(shared.a(0)) + stage * (tile_bytes(kTileA) / 16)};
  }
  __device__ __forceinline__ SharedOperand operand_b(int stage) const {
    return {kTileB, descriptor_address(shared.b(0)) + stage * (tile_bytes(kTileB) / 16)};
  }

  __device__ __forceinline__ static void fence(Accumulators& accumulators) {
    fence_row_blocks(0, accumulators);
  }
  __device__ __forceinline__ static void fence_row_blocks(int first, Accumulators& accumulators) {
#pragma unroll
    for (int block = first; block < kRowBlocks; ++block) {
      fence_registers(accumulators[block]);
    }
  }

  // ---- While another row block is stored --------------------------------------------------------
  //
  //   first row block | last wgmma            | stored            | first wgmma       | ...
  //   the others      | last wgmma of this work tile              | stored            | first wgmma
  //
  // A work tile begins with the first k tile of the first row block. multiply_overlapped()
  // continues with the same k tile of the other row blocks.
  __device__ __forceinline__ void multiply_first_row_block(Accumulators& accumulators) const {
    wait(shared.full(state.stage), state.phase);
    fence_registers(accumulators[0]);
    wgmma_fence();
    multiply_row_blocks(0, 1, 0, accumulators);
    wgmma_commit_group();
  }

  // Multiplies the rest of the work tile. Each later k tile has two commit groups: one for the
  // first row block, one for the others. On return the last groups still run, and their stage is
  // not released.
  __device__ __forceinline__ void multiply_overlapped(int k_tiles, Accumulators& accumulators) {
    fence_row_blocks(1, accumulators);
    wgmma_fence();
    multiply_row_blocks(1, kRowBlocks, 0, accumulators);
    wgmma_commit_group();
    int previous_stage = state.stage;
    state.advance();
#pragma unroll 1
    for (int k_tile = 1; k_tile < k_tiles; ++k_tile) {
      wait(shared.full(state.stage), state.phase);
      fence(accumulators);
      wgmma_fence();
      multiply_row_blocks(0, 1, 1, accumulators);
      wgmma_commit_group();
      multiply_row_blocks(1, kRowBlocks, 1, accumulators);
      wgmma_commit_group();
      wgmma_wait_group(2);
      fence(accumulators);
      stage_release.release(previous_stage);
      previous_stage = state.stage;
      state.advance();
    }
  }

  // ---- Promoted accumulators --------------------------------------------------------------------
  // The tensor cores add fp8 products with less precision than f32, and scales of blocks change
  // along K. Therefore they sum only one k tile, and these partial sums are then added to the f32
  // accumulators. A step is a row block of a k tile. With in_flight=0, each step is added before
  // the next one starts; meanwhile the tensor cores compute for another consumer. With
  // in_flight=1, there are two sets of partial sums, and a round of several k tiles overlaps:
  //
  //     tensor cores | step 0 | step 1 | step 2 | ...
  //     FMA                   | step 0 | step 1 | ...
  //
  // A round is unrolled: while wgmma runs from one iteration of a loop to the next, the compiler
  // takes only a wait for all wgmma as their end.
  static constexpr int kTilesOfRound = kShape.in_flight == 1 ? 4 : 1;
  static constexpr int kSets = 1 + kShape.in_flight;
  using PartialSums = Accumulator[kShape.block_n / 2];

  __device__ __forceinline__ void multiply_promoted(const WorkTile& work,
                                                    Accumulators& accumulators) {
    clear<kShape>(accumulators);
    const int columns_of_first = columns_of_first_scale(work);
    if (kScalingB != Scaling::kBlock128x128 || columns_of_first >= kShape.block_n) {
      promote_rounds<true>(work.k_tiles, columns_of_first, accumulators);
    } else {
      promote_rounds<false>(work.k_tiles, columns_of_first, accumulators);
    }
  }

  template <bool kHasOne>
  __device__ __forceinline__ void promote_rounds(int k_tiles, int columns_of_first,
                                                 Accumulators& accumulators) {
    int k_tile = 0;
#pragma unroll 1
    for (; k_tile + kTilesOfRound <= k_tiles; k_tile += kTilesOfRound) {
      promote_round<kTilesOfRound, kHasOne>(columns_of_first, accumulators);
    }
    if constexpr (kTilesOfRound > 1) {
#pragma unroll 1
      for (; k_tile < k_tiles; ++k_tile) {
        promote_round<1, kHasOne>(columns_of_first, accumulators);
      }
    }
  }

  template <int kTiles, bool kHasOne>
  __device__ __forceinline__ void promote_round(int columns_of_first, Accumulators& accumulators) {
    constexpr int kStepsOfRound = kTiles * kRowBlocks;
    PartialSums sums[kSets];
    PipelineState<kShape.stages> added = state;  // the stage whose partial sums are added next
#pragma unroll
    for (int next = 0; next < kStepsOfRound + kShape.in_flight; ++next) {
      if (next < kStepsOfRound) {
        start_step(next % kRowBlocks, sums[next % kSets]);
      }
      const int step = next - kShape.in_flight, block = step % kRowBlocks;
      if (step >= 0) {
        BlockFactors<kShape, kHasOne> factors{.columns_of_first = columns_of_first};
        if constexpr (kHasBlockScales) {
          __syncwarp();  // otherwise the compiler issues these loads, and waits, between the wgmma
          factors.load(shared.scales_a(added.stage) + 4 * (first_row + block * wgmma::kRowBlock),
                       shared.scales_b(added.stage));
        }
        wgmma_wait_group(next < kStepsOfRound ? kShape.in_flight : 0);
        fence_registers(sums[step % kSets]);
        if (block + 1 == kRowBlocks) {
          stage_release.release(added.stage);
          added.advance();
        }
        add(factors, sums[step % kSets], accumulators[block]);
      }
    }
  }

  __device__ __forceinline__ void start_step(int block, PartialSums& sums) {
    if (block == 0) {
      wait(shared.full(state.stage), state.phase);
    }
    fence_registers(sums);
    wgmma_fence();
    multiply_row_block(block, 0, sums);
    wgmma_commit_group();
    if (block + 1 == kRowBlocks) {
      state.advance();
    }
  }

  template <class BlockFactors>
  __device__ __forceinline__ static void add(const BlockFactors& factors, const PartialSums& sums,
                                             RowBlockAccumulators& accumulators) {
#pragma unroll
    for (int i = 0; i < kShape.block_n / 2; ++i) {
      multiply_add(kHasBlockScales ? factors.of_sum(i) : 1, sums[i], accumulators[i]);
    }
    // Otherwise the compiler may move an addition behind the next step's wgmma, and serialize them.
    fence_registers(accumulators);
  }

  // ---- f64 --------------------------------------------------------------------------------------
  // A warp multiplies its 16 rows of each row block by 8 columns at a time. While it does so, it
  // reads the next columns and, in the last ones, the rows of the next step.
  struct RowFragments {
    double of_block[kRowBlocks][8];
  };

  __device__ __forceinline__ void multiply_by_warps(int k_tiles, Accumulators& accumulators) {
    constexpr int kF64Steps = kShape.block_k / kF64Step;
    const unsigned offset_a = f64_offset_of_lane(kTileA), offset_b = f64_offset_of_lane(kTileB);
    RowFragments rows, next_rows;
    F64Fragment columns, next_columns;
    clear<kShape>(accumulators);
    wait(shared.full(state.stage), state.phase);
    load_rows(state.stage, offset_a, 0, rows);
    load_f64(kTileB, shared.b(state.stage), offset_b, 0, 0, columns);
#pragma unroll 1
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      const int stage = state.stage;
      state.advance();
#pragma unroll
      for (int step = 0; step < kF64Steps; ++step) {
#pragma unroll
        for (int column = 0; column < kShape.block_n; column += 8) {
          if (column + 8 < kShape.block_n) {
            load_f64(kTileB, shared.b(stage), offset_b, column + 8, step, next_columns);
          } else if (step + 1 < kF64Steps) {
            load_rows(stage, offset_a, step + 1, next_rows);
            load_f64(kTileB, shared.b(stage), offset_b, 0, step + 1, next_columns);
          } else if (k_tile + 1 < k_tiles) {
            wait(shared.full(state.stage), state.phase);
            load_rows(state.stage, offset_a, 0, next_rows);
            load_f64(kTileB, shared.b(state.stage), offset_b, 0, 0, next_columns);
          }
#pragma unroll
          for (int block = 0; block < kRowBlocks; ++block) {
            mma_sync_k16(rows.of_block[block], columns.element, &accumulators[block][column / 2]);
          }
          columns = next_columns;
          if (column + 8 == kShape.block_n) {
            rows = next_rows;
          }
        }
      }
      __syncwarp();  // all lanes have read the stage
      stage_release.release(stage);
    }
  }

  __device__ __forceinline__ void load_rows(int stage, unsigned offset, int step,
                                            RowFragments& rows) const {
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      const int row = first_row + wgmma::kRowBlock * block + threadIdx.x % 128 / 32 * 16;
      F64Fragment upper, lower;
      load_f64(kTileA, shared.a(stage), offset, row, step, upper);
      load_f64(kTileA, shared.a(stage), offset, row + 8, step, lower);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        rows.of_block[block][2 * i] = upper.element[i];
        rows.of_block[block][2 * i + 1] = lower.element[i];
      }
    }
  }

  // ---- A from registers -------------------------------------------------------------------------
  // wgmma does not take an MN-major A of 32 bits from shared memory. The consumers read it into
  // registers instead. A is read one step ahead: before the wgmma of step s is issued, A of step
  // s + 1 is read, while the wgmma of step s - 1 may still be running. If A were read later, the
  // compiler would make each wgmma wait for the previous one.
  __device__ __forceinline__ void multiply_a_from_registers(int k_tiles,
                                                            Accumulators& accumulators) {
    FragmentA fragments[kSteps][kRowBlocks];
    const unsigned offset = fragment_offset_of_lane();
    clear<kShape>(accumulators);
    wait(shared.full(state.stage), state.phase);
    load_fragments(state.stage, offset, 0, fragments[0]);
#pragma unroll 1
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      const int stage = state.stage, previous_stage = state.previous_stage();
      state.advance();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (step + 1 < kSteps) {
          load_fragments(stage, offset, step + 1, fragments[step + 1]);
        } else if (k_tile + 1 < k_tiles) {
          wait(shared.full(state.stage), state.phase);
          load_fragments(state.stage, offset, 0, fragments[0]);
        }
        fence(accumulators);
        wgmma_fence();
#pragma unroll
        for (int block = 0; block < kRowBlocks; ++block) {
          WgmmaAFromRegisters<kShape.block_n>::mma_async(
              fragments[step][block], descriptor(operand_b(stage), 0, step), accumulators[block]);
        }
        wgmma_commit_group();
        wgmma_wait_group(1);
        fence(accumulators);
        if (step == 0 && k_tile > 0) {
          stage_release.release(previous_stage);
        }
      }
    }
  }

  __device__ __forceinline__ void load_fragments(int stage, unsigned offset, int step,
                                                 FragmentA (&fragments)[kRowBlocks]) const {
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      const int row = first_row + wgmma::kRowBlock * block;
      fragments[block] = load_fragment(
          shared.a(stage) + row / 32 * atom_column_bytes(kTileA) + step * 8 * wgmma::kSwizzleBytes,
          offset);
    }
  }
  // The offset, in a tile, of this lane's row 16 w + g in step 0 (ptx/wgmma.cuh defines w, g and
  // t). It is the offset of k = t for an even t, and of k = t + 4 for an odd t, which avoids bank
  // conflicts.
  __device__ __forceinline__ static unsigned fragment_offset_of_lane() {
    const int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int row = 16 * warp + g, k = t ^ (t % 2 * 4);
    const unsigned atom_column = row / 32 * atom_column_bytes(kTileA);
    return vector_address(atom_column, k, row % 32 / 4) + row % 4 * 4;
  }
  // `base` is the address of the row block's step. The lane's other k is 4 rows of shared memory
  // away, with a different swizzle. The lane's other row of A is 8 rows of A further.
  __device__ __forceinline__ static FragmentA load_fragment(unsigned base, unsigned offset) {
    constexpr unsigned kOtherK = 4 * wgmma::kSwizzleBytes + 4 * 16, kOtherRow = 2 * 16;
    const unsigned long long own_k = load_register_pair(base + offset, base + (offset ^ kOtherRow));
    const unsigned long long other_k =
        load_register_pair(base + (offset ^ kOtherK), base + (offset ^ kOtherK ^ kOtherRow));
    return threadIdx.x % 2 == 0 ? FragmentA{{own_k, other_k}} : FragmentA{{other_k, own_k}};
  }
  __device__ __forceinline__ static unsigned long long load_register_pair(unsigned low_address,
                                                                          unsigned high_address) {
    const unsigned low = load_shared(low_address), high = load_shared(high_address);
    return low | static_cast<unsigned long long>(high) << 32;
  }
};
