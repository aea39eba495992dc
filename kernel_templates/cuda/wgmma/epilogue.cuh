// Epilogue: a consumer, which is a warpgroup, stores its accumulators to D in chunks. A chunk has
// the 64 rows of a row block and all columns of the tile. With split_k > 1 it may have fewer
// columns, and its accumulators are first added over the slices of K.
//
//   store_chunk()                calls one of these four:
//     store_by_tma()             the usual case: D is prepared in shared memory and copied by TMA
//     store_transposed_by_tma()  the same, if the host has exchanged A and B (swap_ab)
//     store_unaligned_rows()     if TMA cannot copy D
//     store_by_threads()         if the activation is long
//       apply_epilogue()         computes an element of D (common/epilogue.cuh)
//
// A warp has 16 of the 64 rows (ptx/wgmma.cuh has the layout). Accumulators are stored in blocks of
// 16 columns. If 8 columns are left over, they are the chunk's tail columns, which the threads
// store directly from registers.
#pragma once

#include "../common/epilogue.cuh"
#include "../common/problem.cuh"
#include "../common/split_k_reduction.cuh"
#include "../common/store.cuh"
#include "../common/unaligned_rows.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/tensor_copy.cuh"
#include "../ptx/warpgroup.cuh"
#include "mainloop.cuh"
#include "shape.h"
#include "stmatrix.cuh"
#include "tile_scheduler.cuh"

using namespace tunedgemm::internal;

// A thread's accumulators of a chunk.
template <wgmma::Shape kShape>
using ChunkAccumulators = Accumulator[kShape.reduction_chunk_columns() / 2];

// The built-in vector of 16 bytes of accumulators, given their type. For decltype only.
__device__ double2 partial_vector(double);
__device__ float4 partial_vector(float);
__device__ float4 partial_vector(int);
using PartialVector = decltype(partial_vector(Accumulator()));

// The first element of a chunk is D[m0, n0] of the matrix with this batch index.
struct Chunk {
  int batch_index, m0, n0;
  int end;  // of the group's rows, as in WorkTile
};

__device__ __forceinline__ ThreadGroup thread_group_of_consumer(int consumer) {
  return {static_cast<int>(threadIdx.x) % kWarpgroup, kWarpgroup, 1 + consumer};
}

// Hands out the epilogue stages in turn. They are the buffers in which D is prepared for TMA. Each
// warp has its own; with swap_ab, the four warps of a consumer share theirs.
template <wgmma::Shape kShape>
struct EpilogueBuffer {
  unsigned address;
  int next_offset = 0;

  // Returns the address of the stage for the next `bytes` bytes. Before the stage is written, the
  // copying thread must call tma_store_wait_read(epilogue_stages - 1), which waits until the
  // previous copy from this stage has read it.
  __device__ __forceinline__ unsigned next_stage(int bytes) {
    const unsigned stage = address + next_offset;
    next_offset = kShape.epilogue_stages == 1 ? 0 : next_offset ^ bytes;
    return stage;
  }
};

// An optimization barrier: it hides from the compiler how a number was computed that is the same in
// all lanes. Otherwise the compiler would compute the addresses of all columns first, and take
// registers from the accumulators. ptxas, which does not see an empty asm statement, would do so
// with the addresses of C and the bias; it does not look through a shuffle.
__device__ __forceinline__ void optimization_barrier(int& number) {
  if constexpr (kReadC || kBias != Bias::kNone) {
    number = warp_uniform(number);
  } else {
    asm volatile("" : "+r"(number));
  }
}

template <wgmma::Shape kShape>
struct CollectiveEpilogue {
  static constexpr int kChunkColumns = kShape.reduction_chunk_columns();
  static constexpr int kBlockColumns = kShape.columns_of_blocks();  // without tail columns
  using ChunkAccumulators = ::ChunkAccumulators<kShape>;

  const Arguments& arguments;
  const TensorMap& d;
  int lines_of_batch;         // from a group's D to the next, of groups with M rows each
  EvictionPriority eviction;  // of D
  int consumer, first_row;    // first_row: in the CTA's tile
  char* epilogue_stages;      // this warp's or, with swap_ab, those of all four warps
  int* reduction_int;         // in shared memory, for split_k_reduction.cuh
  EpilogueBuffer<kShape> buffer;

  __device__ __forceinline__ Chunk row_block(const WorkTile& work, int block) const {
    return {work.batch_index, work.m0 + first_row + wgmma::kRowBlock * block, work.n0, work.end};
  }
  // The rows and columns of D from these on are not stored.
  __device__ __forceinline__ long long end_m(const Chunk& chunk) const {
    return kGroupsRows && !kShape.swap_ab ? chunk.end : arguments.m;
  }
  __device__ __forceinline__ long long end_n(const Chunk& chunk) const {
    return kGroupsRows && kShape.swap_ab ? chunk.end : arguments.n;
  }

  // Stores a box. A line is a row of the requested D.
  __device__ __forceinline__ void store_box(const Chunk& chunk, int x, int line, unsigned from,
                                            const CacheHint& hint) const {
    if constexpr (kGroupsRows) {
      const int first = chunk.batch_index * lines_of_batch;
      tma_store(RaggedBox{d, x, first + line, first + chunk.end}, from, hint);
    } else {
      tma_store(TensorBox{d, x, line, chunk.batch_index}, from, hint);
    }
  }

  __device__ __forceinline__ void store_chunk(const Chunk& chunk, const ThreadGroup& group,
                                              const ChunkAccumulators& accumulators) {
    const Epilogue epilogue = begin_epilogue(arguments, chunk.batch_index);
    if constexpr (kShape.swap_ab) {
      store_transposed_by_tma(epilogue, chunk, group, accumulators);
    } else if constexpr (kShape.tensor_store) {
      store_by_tma(epilogue, chunk, group, accumulators);
    } else if constexpr (!kLongActivation) {
      store_unaligned_rows(epilogue, chunk, group, accumulators);
    } else {
      store_by_threads(epilogue, chunk, group, accumulators);
    }
  }

  // A lane's accumulators of a block of 16 x 16 elements are in two rows, 8 apart (stmatrix.cuh).
  __device__ __forceinline__ static int row_in_block(int i) {
    return threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
  }
  __device__ __forceinline__ static int column_in_block(int i) {
    return threadIdx.x % 4 * 2 + i / 4 * 8 + i % 2;
  }

  // Computes a lane's elements of the block at D[m0, n0]. C and the bias must not be read outside
  // D. Reading them at the last row or column instead needs no branch, so that all loads of the
  // block are in flight together.
  __device__ __forceinline__ void compute_block(const Epilogue& epilogue,
                                                const Accumulator* accumulators, int m0, int n0,
                                                TypeD (&elements)[8]) const {
    const int last_m = static_cast<int>(arguments.m) - 1;
    const int last_n = static_cast<int>(arguments.n) - 1;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      elements[i] = apply_epilogue(epilogue, accumulators[i], min(m0 + row_in_block(i), last_m),
                                   min(n0 + column_in_block(i), last_n));
    }
  }

  // ---- The usual case: TMA ----------------------------------------------------------------------
  // TMA copies boxes of 16 rows. A row of a box is as long as the widest swizzle span (128, 64 or
  // 32 bytes) that evenly divides a row of the chunk without its tail columns. An epilogue stage
  // holds one or several boxes.
  static constexpr int kRowBytes = kShape.epilogue_row_bytes();
  static constexpr int kRowColumns = kRowBytes / sizeof(TypeD);
  static constexpr int kBoxBytes = wgmma::kEpilogueRows * kRowBytes;
  static constexpr int kStageColumns = wgmma::kEpilogueStageBytes / kBoxBytes * kRowColumns;

  // A warp stores its 16 rows, one epilogue stage at a time. With two stages, one is copied while
  // the other is prepared. Lane 0, rather than an elected lane, starts the copy: the compiler then
  // makes the copy a loop, and moves no code across that loop. With an elected lane, the compiler
  // would apply the epilogue to all accumulators before the first one is stored.
  __device__ __forceinline__ void store_by_tma(const Epilogue& epilogue, const Chunk& chunk,
                                               const ThreadGroup& group,
                                               const ChunkAccumulators& accumulators) {
    const int lane = threadIdx.x % 32, m0 = chunk.m0 + group.thread / 32 * 16;
    int block_n0 = chunk.n0;
#pragma unroll
    for (int column = 0; column < kBlockColumns; column += kStageColumns) {
      const int columns = min(kStageColumns, kBlockColumns - column);
      const unsigned stage = buffer.next_stage(wgmma::kEpilogueStageBytes);
      if (lane == 0) {
        tma_store_wait_read(kShape.epilogue_stages - 1);
      }
      __syncwarp();
#pragma unroll
      for (int prepared = 0; prepared < columns; prepared += 16) {
        TypeD elements[8];
        compute_block(epilogue, &accumulators[(column + prepared) / 2], m0, block_n0, elements);
        store_block(stage + prepared / kRowColumns * kBoxBytes, kRowBytes, prepared % kRowColumns,
                    packed(elements));
        block_n0 += 16;
        optimization_barrier(block_n0);
      }
      fence_async_proxy();
      __syncwarp();
      if (lane == 0) {
        const CacheHint hint = make_cache_hint(eviction);
#pragma unroll
        for (int box = 0; box < columns; box += kRowColumns) {
          store_box(chunk, chunk.n0 + column + box, m0, stage + box / kRowColumns * kBoxBytes,
                    hint);
        }
        tma_store_commit();
      }
    }
    store_tail_columns(epilogue, chunk, group, accumulators);
  }
  // Stores a warp's 16 rows of the 8 tail columns directly from registers.
  __device__ __forceinline__ void store_tail_columns(const Epilogue& epilogue, const Chunk& chunk,
                                                     const ThreadGroup& group,
                                                     const ChunkAccumulators& accumulators) const {
    const int lane = threadIdx.x % 32;
    const int m0 = chunk.m0 + group.thread / 32 * 16, n0 = chunk.n0 + kBlockColumns;
    TypeD* const matrix = matrix_d(arguments, chunk.batch_index);
#pragma unroll
    for (int i = 0; kBlockColumns + 2 * i < kChunkColumns; ++i) {
      const int m = m0 + lane / 4 + i / 2 * 8, n = n0 + lane % 4 * 2 + i % 2;
      if (m < end_m(chunk) && n < end_n(chunk)) {
        const long long offset =
            kShape.swap_ab ? offset_d(arguments, n, m) : offset_d(arguments, m, n);
        matrix[offset] = apply_epilogue(epilogue, accumulators[kBlockColumns / 2 + i], m, n);
      }
    }
  }

  // ---- TMA with exchanged A and B ---------------------------------------------------------------
  // D is column-major here. A row in shared memory holds a span: 128 bytes of a column of D. The 64
  // rows of a chunk have kSpans spans in each column. One copy takes the same span of 16 columns.
  // The four warps prepare columns together, in the epilogue stages of all four.
  static constexpr int kSpanRows = wgmma::kSwizzleBytes / sizeof(TypeD);  // of D
  static constexpr int kSpans = wgmma::kRowBlock / kSpanRows;
  static constexpr int kCopyColumns = wgmma::kEpilogueRows;
  static constexpr int kPreparedBytes = 4 * wgmma::kEpilogueStageBytes;
  static constexpr int kPreparedColumns = kPreparedBytes / (wgmma::kSwizzleBytes * kSpans);
  static constexpr int kSpanBytes = kPreparedColumns * wgmma::kSwizzleBytes;

  // With two epilogue stages, one is copied while the other is prepared.
  __device__ __forceinline__ void store_transposed_by_tma(const Epilogue& epilogue,
                                                          const Chunk& chunk,
                                                          const ThreadGroup& group,
                                                          const ChunkAccumulators& accumulators) {
    const int lane = group.thread % 32, first_row = group.thread / 32 * 16;
    int block_n0 = chunk.n0;
#pragma unroll
    for (int column = 0; column < kBlockColumns; column += kPreparedColumns) {
      const int columns = min(kPreparedColumns, kBlockColumns - column);
      const unsigned stage = buffer.next_stage(kPreparedBytes);
      if (group.thread == 0) {
        tma_store_wait_read(kShape.epilogue_stages - 1);
      }
      sync(group);
#pragma unroll
      for (int prepared = 0; prepared < columns; prepared += 16) {
        TypeD elements[8];
        compute_block(epilogue, &accumulators[(column + prepared) / 2], chunk.m0 + first_row,
                      block_n0, elements);
        store_block_transposed(stage + first_row / kSpanRows * kSpanBytes, prepared,
                               first_row % kSpanRows, packed(elements));
        block_n0 += 16;
        optimization_barrier(block_n0);
      }
      fence_async_proxy();
      sync(group);
      if (group.thread == 0) {
        copy_prepared_columns(stage, {chunk.batch_index, chunk.m0, chunk.n0 + column, chunk.end},
                              columns);
        tma_store_commit();
      }
    }
    store_tail_columns(epilogue, chunk, group, accumulators);
  }
  // One thread calls this.
  __device__ __forceinline__ void copy_prepared_columns(unsigned stage, const Chunk& to,
                                                        int columns) const {
    const CacheHint hint = make_cache_hint(eviction);
#pragma unroll
    for (int column = 0; column < columns; column += kCopyColumns) {
#pragma unroll
      for (int span = 0; span < kSpans; ++span) {
        store_box(to, to.m0 + span * kSpanRows, to.n0 + column,
                  stage + span * kSpanBytes + column * wgmma::kSwizzleBytes, hint);
      }
    }
  }

  // ---- Rows that TMA cannot copy ----------------------------------------------------------------
  // A warp prepares strips of its 16 rows in shared memory (common/unaligned_rows.cuh).
  static constexpr int kStripColumns =
      kShape.tensor_store ? kBlockColumns : kShape.columns_of_strip();

  __device__ __forceinline__ void store_unaligned_rows(
      const Epilogue& epilogue, const Chunk& chunk, const ThreadGroup& group,
      const ChunkAccumulators& accumulators) const {
    const int lane = threadIdx.x % 32, m0 = chunk.m0 + group.thread / 32 * 16;
    UnalignedRows<kStripColumns> rows{
        epilogue_stages, matrix_d(arguments, chunk.batch_index) + offset_d(arguments, m0, chunk.n0),
        arguments.ldd, static_cast<int>(end_m(chunk)) - m0,
        static_cast<int>(arguments.n) - chunk.n0};
    TypeD* const prepared_rows[2] = {rows.prepared(lane / 4), rows.prepared(lane / 4 + 8)};
    int block_n0 = chunk.n0;
#pragma unroll
    for (int strip = 0; strip < kBlockColumns; strip += kStripColumns) {
#pragma unroll
      for (int column = 0; column < kStripColumns; column += 16) {
        TypeD elements[8];
        compute_block(epilogue, &accumulators[(strip + column) / 2], m0, block_n0, elements);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          prepared_rows[i / 2 % 2][column + column_in_block(i)] = elements[i];
        }
        block_n0 += 16;
        optimization_barrier(block_n0);
      }
      __syncwarp();
      rows.store();
      __syncwarp();
      rows.advance();
    }
    store_tail_columns(epilogue, chunk, group, accumulators);
  }

  // ---- Threads ----------------------------------------------------------------------------------
  // A warp stores its 16 rows as in the mma kernel (../mma): the accumulators go through shared
  // memory, so that a thread stores neighbouring elements of a row.
  static constexpr int kSpreadColumns =
      kBlockColumns % 32 == 0 && sizeof(Accumulator) == 4 ? 32 : 16;
  static constexpr int kSpreadPitch = kSpreadColumns + 8;

  __device__ __forceinline__ void store_by_threads(const Epilogue& epilogue, const Chunk& chunk,
                                                   const ThreadGroup& group,
                                                   const ChunkAccumulators& accumulators) const {
    constexpr int kVectorsOfRow = kSpreadColumns / kVectorElements;
    const OutputMatrix output{arguments, epilogue, chunk.batch_index, end_m(chunk)};
    auto* const rows = reinterpret_cast<Accumulator*>(epilogue_stages);
    const int m0 = chunk.m0 + group.thread / 32 * 16;
#pragma unroll
    for (int column = 0; column < kBlockColumns; column += kSpreadColumns) {
#pragma unroll
      for (int n = 0; n < kSpreadColumns; n += 16) {
        const int first = (column + n) / 2;
        const Accumulator left[4] = {accumulators[first], accumulators[first + 1],
                                     accumulators[first + 2], accumulators[first + 3]};
        const Accumulator right[4] = {accumulators[first + 4], accumulators[first + 5],
                                      accumulators[first + 6], accumulators[first + 7]};
        fragments_to_shared<kSpreadPitch>(left, right, rows + n);
      }
      __syncwarp();
      if constexpr (kStoresVectors) {
#pragma unroll 1
        for (int vector = threadIdx.x % 32; vector < 16 * kVectorsOfRow; vector += 32) {
          const int row = vector / kVectorsOfRow, n = vector % kVectorsOfRow * kVectorElements;
          output.store_vector(
              *reinterpret_cast<const AccumulatorVector*>(rows + row * kSpreadPitch + n), m0 + row,
              chunk.n0 + column + n);
        }
      } else {
        output.store_elements<kSpreadColumns, kSpreadPitch>(rows, m0, chunk.n0 + column);
      }
      __syncwarp();
    }
    store_tail_columns(epilogue, chunk, group, accumulators);
  }

  // ---- Split-K reduction ------------------------------------------------------------------------
  // The consumers that hold slices of the same rows of D reduce them together, chunk by chunk
  // (common/split_k_reduction.cuh). Each consumer stores its accumulators as a partial tile, in
  // vectors of 16 bytes. Vectors of neighbouring threads are neighbours in memory.
  static constexpr int kChunksOfRowBlock = kShape.block_n / kChunkColumns;
  static constexpr int kChunks = kShape.row_blocks() * kChunksOfRowBlock;
  static constexpr int kVectorsOfChunk = kChunkColumns / 2 / kVectorElements;
  static constexpr int kVectorsOfTile = kChunks * kVectorsOfChunk;
  static constexpr int kPartialTileElements = kWarpgroup * kVectorsOfTile * kVectorElements;
  using Reduction = SplitKReduction<kShape.split_k, kChunks>;

  // A consumer waits for the others only at its last work tile, when it has nothing else to do.
  __device__ __forceinline__ void reduce_and_store(const WorkTile& work, bool is_last,
                                                   const Accumulators<kShape>& accumulators) {
    const ThreadGroup group = thread_group_of_consumer(consumer);
    const Chunk first_chunk = row_block(work, 0);
    const long long tile = kShape.ping_pong ? work.tile : work.tile * kShape.consumers + consumer;
    const Reduction reduction = split_k_reduction<kShape.split_k, kChunks>(
        arguments, tile, kPartialTileElements, group, reduction_int);
    store_partial_tile(reduction, work.slice, &accumulators[0][0]);
    int index = reduction.begin(is_last);
    for (; index < kChunks; index = reduction.next_chunk()) {
      ChunkAccumulators chunk_accumulators;
      add_slices(reduction, index, chunk_accumulators);
      store_chunk(
          Chunk{first_chunk.batch_index,
                first_chunk.m0 + wgmma::kRowBlock * (index / kChunksOfRowBlock),
                first_chunk.n0 + index % kChunksOfRowBlock * kChunkColumns, first_chunk.end},
          group, chunk_accumulators);
    }
  }

  // Returns the address of this thread's first vector of a chunk.
  __device__ __forceinline__ static PartialVector* vectors_of_chunk(const Reduction& reduction,
                                                                    int slice, int chunk) {
    const int vectors = slice * kVectorsOfTile + chunk * kVectorsOfChunk;
    return reinterpret_cast<PartialVector*>(reduction.partial_tiles) + vectors * kWarpgroup +
           reduction.group.thread;
  }

  __device__ __forceinline__ static void store_partial_tile(const Reduction& reduction, int slice,
                                                            const Accumulator* accumulators) {
    PartialVector* const vectors = vectors_of_chunk(reduction, slice, 0);
#pragma unroll
    for (int index = 0; index < kVectorsOfTile; ++index) {
      AccumulatorVector vector;
#pragma unroll
      for (int i = 0; i < kVectorElements; ++i) {
        vector.element[i] = accumulators[index * kVectorElements + i];
      }
      __stcg(vectors + index * kWarpgroup, reinterpret_cast<const PartialVector&>(vector));
    }
  }

  // Adds the slices in order. Loads the vectors of kSlicesAtOnce slices at a time.
  static constexpr int kVectorsAtOnce = 16;
  static constexpr int kSlicesAtOnce =
      kVectorsOfChunk >= kVectorsAtOnce ? 1 : kVectorsAtOnce / kVectorsOfChunk;
  __device__ __forceinline__ static void add_slices(const Reduction& reduction, int chunk,
                                                    ChunkAccumulators& accumulators) {
#pragma unroll
    for (int i = 0; i < kChunkColumns / 2; ++i) {
      accumulators[i] = 0;
    }
#pragma unroll 1
    for (int first_slice = 0; first_slice < kShape.split_k; first_slice += kSlicesAtOnce) {
      const PartialVector* const from = vectors_of_chunk(reduction, first_slice, chunk);
      PartialVector vectors[kSlicesAtOnce][kVectorsOfChunk];
#pragma unroll
      for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
        for (int index = 0; index < kVectorsOfChunk; ++index) {
          if (first_slice + slice < kShape.split_k) {
            vectors[slice][index] = __ldcg(from + (slice * kVectorsOfTile + index) * kWarpgroup);
          }
        }
      }
#pragma unroll
      for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
        for (int index = 0; index < kVectorsOfChunk; ++index) {
          if (first_slice + slice < kShape.split_k) {
            const auto& vector = reinterpret_cast<const AccumulatorVector&>(vectors[slice][index]);
#pragma unroll
            for (int i = 0; i < kVectorElements; ++i) {
              add(vector.element[i], accumulators[index * kVectorElements + i]);
            }
          }
        }
      }
    }
  }
};
