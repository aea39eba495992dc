// The Shape of the Hopper kernel: the bytes, registers and columns that follow from a config. The
// kernel and its host code both include this file, so that nothing is computed twice. The kernel's
// static_asserts and the host's why_not functions call the same functions.
#pragma once

#include "../../problem/scaling.h"
#include "../common/host_device.cuh"
#include "../common/strip.cuh"

namespace tunedgemm::internal::wgmma {

constexpr int kWarpgroupThreads = 128;
constexpr int kRowBlock = 64;       // rows of D that one wgmma instruction computes
constexpr int kStepBytes = 32;      // of every row along K, in one wgmma instruction
constexpr int kSwizzleBytes = 128;  // a row of a swizzle atom, and a line of the L2 cache
constexpr int kSwizzleAtomRows = 8;
constexpr int kTmaAlignment = 16;  // of rows in global memory, in bytes

constexpr int kLeastWidth = 16, kMostWidth = 256, kWidthStep = 8;  // of block_n
constexpr int kMostStages = 12, kMostSplitK = 16, kMostClusterSize = 4;

// An epilogue stage of a warp: 16 rows of 128 bytes.
constexpr int kEpilogueStageBytes = 2048, kEpilogueRows = 16;
constexpr int kControlBytes = 1024;  // barriers, an int for each consumer, the claimed cluster id
constexpr int kGroupEntryBytes = 16, kMostGroups = 1024;
constexpr int kCompletingWarps = 3;  // all warps of the producer's warpgroup but the first
constexpr int kRegistersOfSm = 65536;

TUNEDGEMM_CONSTEXPR int least(int x, int y) {
  return x < y ? x : y;
}
TUNEDGEMM_CONSTEXPR int divided_up(int x, int y) {
  return (x + y - 1) / y;
}

// An operand's tile in shared memory. It consists of columns of swizzle atoms, each with `rows`
// rows of 128 bytes. If the operand is K-major, a row holds 128 bytes of a row of A (column of B).
// If it is MN-major, a row holds neighbouring rows of A (columns of B) at one k:
//
//               rows                        atom columns
//   K-major     rows of A (columns of B)    128 bytes along K each
//   MN-major    block_k                     128 bytes along M (N) each, the last partly filled
struct SharedTile {
  bool is_k_major;
  int atom_columns, rows, element_bytes;
};
// `extent` is the number of rows of A (columns of B).
TUNEDGEMM_CONSTEXPR SharedTile shared_tile(int extent, int block_k, int element_bytes,
                                           bool is_k_major) {
  return {is_k_major, divided_up((is_k_major ? block_k : extent) * element_bytes, kSwizzleBytes),
          is_k_major ? extent : block_k, element_bytes};
}
// The layout of the tile after each of its squares of 128 x 128 bytes is transposed.
TUNEDGEMM_CONSTEXPR SharedTile transposed(SharedTile tile) {
  return {!tile.is_k_major, 1, tile.atom_columns * kSwizzleBytes / tile.element_bytes,
          tile.element_bytes};
}
TUNEDGEMM_CONSTEXPR int atom_column_bytes(SharedTile tile) {
  return tile.rows * kSwizzleBytes;
}
TUNEDGEMM_CONSTEXPR int tile_bytes(SharedTile tile) {
  return tile.atom_columns * atom_column_bytes(tile);
}

// The knobs: type, name, macro of kernel.cu, default, meaning. S: a member of Shape. O: a knob that
// only places or orders work. All lists of knobs are made from this one; family.cpp adds the legal
// values.
// clang-format off
#define WGMMA_KNOBS(S, O)                                                                      \
  S(int, block_m, BLOCK_M, 128, "rows of a CTA's tile of D")                                   \
  S(int, block_n, BLOCK_N, 256, "columns of a CTA's tile of D")                                \
  S(int, block_k, BLOCK_K, 64, "elements of a k tile")                                         \
  S(int, stages, STAGES, 4, "k tiles in shared memory")                                        \
  S(int, epilogue_stages, EPILOGUE_STAGES, 2, "16-row buffers of D per warp in shared memory") \
  S(int, consumers, CONSUMERS, 2, "consumer warpgroups")                                       \
  S(bool, ping_pong, PING_PONG, false,                                                         \
    "1: consumers alternate tiles, and one stores while the other multiplies")                 \
  S(int, cluster_m, CLUSTER_M, 2, "CTAs along M that share B by multicast")                    \
  S(int, cluster_n, CLUSTER_N, 1, "CTAs along N that share A by multicast")                    \
  O(int, group_m, GROUP_M, 8, "rows (columns) of tiles in a rasterization group")              \
  O(bool, raster_along_n, RASTER_ALONG_N, false, "1: groups extend along N, not along M")      \
  O(bool, gpc_aware, GPC_AWARE, false, "1: neighbouring tiles go to the SMs of one GPC")       \
  O(int, evict_first, EVICT_FIRST, 0,                                                          \
    "1: D and the streaming operand are evicted from L2 first; 2: only the operand")           \
  S(int, split_k, SPLIT_K, 1, "split-K slices")                                                \
  S(int, in_flight, IN_FLIGHT, 1, "k tiles whose wgmma still run when the next one is issued") \
  S(bool, tensor_store, TENSOR_STORE, true, "1: D is stored by TMA")                           \
  O(bool, programmatic, PROGRAMMATIC, true,                                                    \
    "1: may start while the previous kernel of this library still runs")                       \
  S(bool, swap_ab, SWAP_AB, false, "1: computes D's transpose from B and A")                   \
  O(int, prefetch, PREFETCH, 0, "k tiles prefetched into L2")
// clang-format on

#define WGMMA_NONE(type, name, macro, value, meaning)
#define WGMMA_MEMBER(type, name, macro, value, meaning) type name = value;
struct OtherKnobs {
  WGMMA_KNOBS(WGMMA_NONE, WGMMA_MEMBER)
};

// The value of a knob, given the text of its macro: a number or, if the macro is not defined, its
// name. Any other text gives -1, which is no legal value.
TUNEDGEMM_CONSTEXPR int macro_value(const char* text, int value_if_undefined) {
  if (*text >= 'A' && *text <= 'Z') {
    return value_if_undefined;
  }
  int value = 0;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9') {
      return -1;
    }
    value = 10 * value + (*text - '0');
  }
  return value;
}

// The constraints: C(function of Shape, its knobs, sentence). The kernel asserts them. The host
// half refuses a config with the sentence and the values of the knobs.
// clang-format off
#define WGMMA_CONSTRAINTS(C)                                                                    \
  C(cluster_fits, "cluster_m and cluster_n", "a cluster has 1, 2 or at most 4 CTAs")            \
  C(width_fits, "block_n",                                                                      \
    "it must be a multiple of 8 from 16 to 256; s8, and an 8-bit B that is not "                \
    "K-major, need a multiple of 16")                                                           \
  C(multicast_fits, "block_n and cluster_m", "each CTA must load a multiple of 8 columns of B") \
  C(ping_pong_fits, "consumers", "ping_pong=1 needs two")                                       \
  C(rows_fit, "block_m and consumers",                                                          \
    "block_m must be 64 rows for each consumer, or a multiple of that")                         \
  C(block_k_fits, "block_k in bytes", "it must be 128 or 256")                                  \
  C(block_k_fits_order, "block_k in bytes and layout",                                          \
    "operands of 8 or 32 bits that are not K-major need 128")                                   \
  C(in_flight_fits_registers, "in_flight",                                                      \
    "an A of 32 bits that is not K-major needs in_flight=1")                                    \
  C(in_flight_fits_warps, "in_flight", "f64 needs 0, since mma.sync is not asynchronous")       \
  C(block_scales_fit, "block_k", "scales of blocks need 128")                                   \
  C(epilogue_stages_fit, "epilogue_stages and tensor_store",                                    \
    "epilogue_stages=1 needs tensor_store=1: threads store longer rows")                        \
  C(groups_fit, "split_k",                                                                      \
    "groups of rows, of which there may be 1024, need split_k=1")                               \
  C(swap_fits, "swap_ab and tensor_store",                                                      \
    "swap_ab=1 needs tensor_store=1: threads store rows of D")
// clang-format on

// The knobs, and the properties of the problem that the kernel depends on. With swap_ab these are
// properties of the transposed problem. The kernel's headers are templates over a Shape.
struct Shape {
  WGMMA_KNOBS(WGMMA_MEMBER, WGMMA_NONE)

  int element_bytes = 0, element_bytes_d = 0;
  bool a_is_k_major = false, b_is_k_major = false;
  bool accumulates_integers = false;
  bool promotes = false;          // adds the accumulators of each k tile in f32
  bool has_block_scales = false;  // of A or B: factors of the sums of a k tile
  bool scales_columns = false;    // each column of B has its own
  bool reads_c = false, reads_bias = false;
  int groups = 0;  // of rows: of M, or of N with swap_ab

  // ---- The schedule -----------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR int cluster_size() const { return cluster_m * cluster_n; }
  TUNEDGEMM_CONSTEXPR int threads() const { return kWarpgroupThreads * (1 + consumers); }
  // The number of consumers that share a tile.
  TUNEDGEMM_CONSTEXPR int consumers_of_tile() const { return ping_pong ? 1 : consumers; }
  TUNEDGEMM_CONSTEXPR int rows_of_consumer() const { return block_m / consumers_of_tile(); }
  TUNEDGEMM_CONSTEXPR int row_blocks() const { return rows_of_consumer() / kRowBlock; }

  // wgmma has no instruction for f64. The warps multiply it with mma.sync.
  TUNEDGEMM_CONSTEXPR bool multiplies_by_warps() const { return element_bytes == 8; }
  TUNEDGEMM_CONSTEXPR int accumulator_bytes() const { return multiplies_by_warps() ? 8 : 4; }

  // ---- Tiles in shared memory -------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR SharedTile loaded_tile_a() const {
    return shared_tile(block_m, block_k, element_bytes, a_is_k_major);
  }
  TUNEDGEMM_CONSTEXPR SharedTile loaded_tile_b() const {
    return shared_tile(block_n, block_k, element_bytes, b_is_k_major);
  }
  // wgmma takes 16-bit operands in either order, and others only if they are K-major. So an
  // MN-major A of 32 bits comes from registers, and other MN-major operands of 8 or 32 bits are
  // transposed in shared memory.
  TUNEDGEMM_CONSTEXPR bool a_from_registers() const { return element_bytes == 4 && !a_is_k_major; }
  TUNEDGEMM_CONSTEXPR bool transposes_a() const { return element_bytes == 1 && !a_is_k_major; }
  TUNEDGEMM_CONSTEXPR bool transposes_b() const {
    return !b_is_k_major && (element_bytes == 1 || element_bytes == 4);
  }
  TUNEDGEMM_CONSTEXPR bool transposes() const { return transposes_a() || transposes_b(); }
  // The tiles that wgmma reads.
  TUNEDGEMM_CONSTEXPR SharedTile tile_a() const {
    return transposes_a() ? transposed(loaded_tile_a()) : loaded_tile_a();
  }
  TUNEDGEMM_CONSTEXPR SharedTile tile_b() const {
    return transposes_b() ? transposed(loaded_tile_b()) : loaded_tile_b();
  }
  TUNEDGEMM_CONSTEXPR int stage_bytes() const {
    return tile_bytes(loaded_tile_a()) + tile_bytes(loaded_tile_b());
  }
  TUNEDGEMM_CONSTEXPR int epilogue_bytes_of_warp() const {
    return epilogue_stages * kEpilogueStageBytes;
  }
  // The scales of a stage: one for each row of the tile, and one for each column or, if 128 columns
  // share one, three (block_scales.cuh). The next stage's begin at a multiple of 16 bytes.
  TUNEDGEMM_CONSTEXPR int scales_of_stage() const {
    return !has_block_scales ? 0 : block_m + (scales_columns ? block_n : 4);
  }
  TUNEDGEMM_CONSTEXPR int scale_bytes() const {
    return divided_up(4 * stages * scales_of_stage(), kControlBytes) * kControlBytes;
  }
  // The table of groups (tile_scheduler.cuh): an entry for each, and one behind the last.
  TUNEDGEMM_CONSTEXPR int group_bytes() const {
    return groups == 0 ? 0
                       : divided_up(kGroupEntryBytes * (groups + 1), kControlBytes) * kControlBytes;
  }
  TUNEDGEMM_CONSTEXPR int shared_bytes() const {
    return stages * stage_bytes() + consumers * 4 * epilogue_bytes_of_warp() + scale_bytes() +
           group_bytes() + kControlBytes;
  }

  // If true, a TMA copy of B must begin at a multiple of 16 bytes in a row of memory; otherwise it
  // fails with "illegal instruction".
  TUNEDGEMM_CONSTEXPR bool bytes_are_n_major() const { return element_bytes == 1 && !b_is_k_major; }
  // block_n must be a multiple of this. Integer instructions wider than 32 columns exist only for
  // multiples of 16.
  TUNEDGEMM_CONSTEXPR int width_step() const {
    return accumulates_integers || bytes_are_n_major() ? 16 : kWidthStep;
  }
  // Tiles begin at multiples of these numbers of elements, so that vectors and boxes are aligned.
  TUNEDGEMM_CONSTEXPR int origin_step_m() const { return transposes_a() ? 16 : 8; }
  TUNEDGEMM_CONSTEXPR int origin_step_n() const { return bytes_are_n_major() ? 16 : 8; }

  // ---- Promoted accumulators --------------------------------------------------------------------
  // The registers for a thread's sums of a k tile and their factors.
  TUNEDGEMM_CONSTEXPR int partial_sums() const {
    const int factors = scales_columns ? block_n / 4 : 0;
    return promotes ? (1 + in_flight) * block_n / 2 + factors : 0;
  }

  // ---- Registers --------------------------------------------------------------------------------
  // The registers for fragments of A, except those of one row block, which always fit.
  TUNEDGEMM_CONSTEXPR int fragment_registers() const {
    return a_from_registers() || multiplies_by_warps() ? 32 * (row_blocks() - 1) : 0;
  }
  // The registers for a thread's accumulators at the end of a tile.
  TUNEDGEMM_CONSTEXPR int stored_accumulators() const {
    return row_blocks() * block_n / 2 * accumulator_bytes() / 4;
  }
  // The registers for a thread's accumulators and fragments.
  TUNEDGEMM_CONSTEXPR int accumulators() const {
    return stored_accumulators() + partial_sums() + fragment_registers();
  }
  // The most accumulators and fragments that a thread may have (LABBOOK.md, "Registers"):
  //
  //   consumers              limit                                                      fitted
  //   1, 2                   224 or 232 registers; the end of a tile needs the others,   192
  //                          and the compiler spills above this
  //   3                      the 128 registers at launch, since an instruction names     100
  //                          all accumulators; ptxas needs 26 others
  //   3, A from registers    the same; ptxas needs 4 others                               96
  //   f64: 1; 2; 3           the same; each further row block has 32 of fragments     160; 136; 48
  //
  // The epilogue needs 1/6 of this limit for C or a bias, unless partial sums leave it more, or for
  // split-K with three consumers or partial sums. It needs 2/6 for C or a bias together with
  // fragments of several row blocks of A. With C it has room for kMostBesideC accumulators if they
  // are of several row blocks.
  TUNEDGEMM_CONSTEXPR int most_accumulators() const {
    const bool adds_operand = (reads_c || reads_bias) && !promotes;
    const bool few_are_left = split_k > 1 && (consumers == 3 || promotes);
    const int sixths = adds_operand && a_from_registers() && row_blocks() > 1 ? 4
                       : adds_operand || few_are_left                         ? 5
                                                                              : 6;
    const int of_f64 = consumers == 1 ? 160 : consumers == 2 ? 136 : 48;
    const int of_others = consumers < 3 ? 192 : a_from_registers() ? 96 : 100;
    const int most = (multiplies_by_warps() ? of_f64 : of_others) * sixths / 6;
    constexpr int kMostBesideC = 112;
    const int most_beside_c = kMostBesideC + accumulators() - stored_accumulators();
    return reads_c && row_blocks() > 1 && most_beside_c < most ? most_beside_c : most;
  }
  // The registers of a thread. The consumers take the registers that the producer releases.
  TUNEDGEMM_CONSTEXPR int producer_registers() const {
    return consumers == 3 || transposes() ? 56 : 40;
  }
  TUNEDGEMM_CONSTEXPR int consumer_registers() const {
    return consumers == 3 ? 152 : transposes() ? 224 : 232;
  }
  TUNEDGEMM_CONSTEXPR int registers_at_launch() const { return kRegistersOfSm / threads() / 8 * 8; }

  // ---- The epilogue -----------------------------------------------------------------------------
  // With split_k > 1, tiles are reduced in chunks of equal width. The width divides block_n, and
  // differs from it by a multiple of 16. This returns the width with the shortest reduction. It
  // assumes that the consumers of all slices share the chunks, and that taking a chunk costs as
  // much as adding kCostOfTaking columns.
  TUNEDGEMM_CONSTEXPR int reduction_chunk_columns() const {
    constexpr int kCostOfTaking = 64;
    if (split_k == 1) {
      return block_n;
    }
    int best = block_n, shortest = 1 << 30;
    for (int columns = block_n; columns >= 16; columns -= 16) {
      const int chunks = block_n / columns * row_blocks();
      const int duration = divided_up(chunks, split_k) * (kCostOfTaking + columns);
      if (block_n % columns == 0 && duration < shortest) {
        best = columns;
        shortest = duration;
      }
    }
    return best;
  }
  // The number of columns that are stored in blocks of 16, after which 8 tail columns may follow.
  TUNEDGEMM_CONSTEXPR int columns_of_blocks() const { return reduction_chunk_columns() / 16 * 16; }
  // The columns that a warp stores together if TMA cannot store D.
  TUNEDGEMM_CONSTEXPR int columns_of_strip() const {
    return strip::columns_that_fit(columns_of_blocks(), epilogue_bytes_of_warp(), element_bytes_d);
  }
  // The length of a row of the box that TMA stores: the widest swizzle span (128, 64 or 32 bytes)
  // that evenly divides a row of all blocks of 16 columns. With swap_ab, a row holds 128 bytes of a
  // column of D.
  TUNEDGEMM_CONSTEXPR int epilogue_row_bytes() const {
    const int bytes = columns_of_blocks() * element_bytes_d;
    return swap_ab || bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32;
  }
  // A consumer with several row blocks can store some while it multiplies others. If D has 32-bit
  // elements, overlap does not pay: a store takes as long as several k tiles, but the wgmma of only
  // one k tile runs meanwhile. With transpose warps, the consumers have too few registers left to
  // store and multiply at once.
  TUNEDGEMM_CONSTEXPR bool overlaps_epilogue() const {
    return row_blocks() > 1 && !ping_pong && split_k == 1 && in_flight == 1 && !promotes &&
           !a_from_registers() && !transposes() && element_bytes_d <= 2;
  }

  // ---- What must hold ---------------------------------------------------------------------------
  TUNEDGEMM_CONSTEXPR bool cluster_fits() const {
    return cluster_size() == 1 || cluster_size() == 2 || cluster_size() == kMostClusterSize;
  }
  TUNEDGEMM_CONSTEXPR bool ping_pong_fits() const { return !ping_pong || consumers == 2; }
  TUNEDGEMM_CONSTEXPR bool rows_fit() const {
    return row_blocks() >= 1 && row_blocks() * kRowBlock * consumers_of_tile() == block_m;
  }
  TUNEDGEMM_CONSTEXPR bool width_fits() const {
    return block_n >= kLeastWidth && block_n <= kMostWidth && block_n % width_step() == 0;
  }
  // Each CTA of a cluster loads whole swizzle atoms of the shared B.
  TUNEDGEMM_CONSTEXPR bool multicast_fits() const {
    return !b_is_k_major || block_n % (kSwizzleAtomRows * cluster_m) == 0;
  }
  TUNEDGEMM_CONSTEXPR int bytes_along_k() const { return block_k * element_bytes; }
  TUNEDGEMM_CONSTEXPR bool block_k_fits() const {
    return bytes_along_k() == kSwizzleBytes || bytes_along_k() == 2 * kSwizzleBytes;
  }
  TUNEDGEMM_CONSTEXPR bool block_k_fits_order() const {
    return (!transposes() && !a_from_registers()) || bytes_along_k() == kSwizzleBytes;
  }
  TUNEDGEMM_CONSTEXPR bool in_flight_fits_registers() const {
    return !a_from_registers() || in_flight == 1;
  }
  TUNEDGEMM_CONSTEXPR bool in_flight_fits_warps() const {
    return !multiplies_by_warps() || in_flight == 0;
  }
  TUNEDGEMM_CONSTEXPR bool block_scales_fit() const {
    return !has_block_scales || block_k == kScaledDepth;
  }
  TUNEDGEMM_CONSTEXPR bool epilogue_stages_fit() const {
    return epilogue_stages == 2 || (epilogue_stages == 1 && tensor_store);
  }
  TUNEDGEMM_CONSTEXPR bool groups_fit() const {
    return groups == 0 || (groups <= kMostGroups && split_k == 1);
  }
  TUNEDGEMM_CONSTEXPR bool swap_fits() const { return !swap_ab || tensor_store; }
  TUNEDGEMM_CONSTEXPR bool accumulators_fit() const {
    return accumulators() <= most_accumulators();
  }
  TUNEDGEMM_CONSTEXPR bool registers_fit() const {
    return consumers == 1 || producer_registers() + consumers * consumer_registers() <=
                                 registers_at_launch() * (1 + consumers);
  }
};

}  // namespace tunedgemm::internal::wgmma
