// The tiles of A and B in shared memory, as they are loaded and as the products take them. Expects
// the sizes as constants.
#pragma once

#include "../common/problem.cuh"
#include "shared_tiles.cuh"

constexpr Slabs kLoadedA = make_slabs(kBlockM, kBlockK, kElementBytes, kOrderA == Order::kRowMajor);
constexpr Slabs kLoadedB =
    make_slabs(kBlockN, kBlockK, kElementBytes, kOrderB == Order::kColumnMajor);

// Products take elements of 16 bits in either order, others along K only (turn.cuh), or A from
// registers (register_products.cuh).
constexpr bool kRegistersA = kElementBytes == 4 && !kLoadedA.lines_follow_k;
constexpr bool kTurnsA = kElementBytes == 1 && !kLoadedA.lines_follow_k;
constexpr bool kTurnsB = kElementBytes != 2 && !kLoadedB.lines_follow_k;
constexpr bool kTurns = kTurnsA || kTurnsB;
constexpr int kTurners = 3;  // warps that do
constexpr Slabs kSlabsA = kTurnsA ? turned(kLoadedA) : kLoadedA;
constexpr Slabs kSlabsB = kTurnsB ? turned(kLoadedB) : kLoadedB;

// The width of a tile is a multiple of 8 columns; of 16 where products are of integers, which know
// no others beyond 32, and where 8-bit elements follow N: their copies must begin at multiples of
// 16 bytes (work_list.cuh).
constexpr bool kBytesFollowN = kElementBytes == 1 && !kLoadedB.lines_follow_k;
constexpr int kWidthStep = kAccumulatorIsInteger || kBytesFollowN ? 16 : 8;

constexpr int kTileBytesA = tile_bytes(kSlabsA), kTileBytesB = tile_bytes(kSlabsB);
