// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N, one CTA a square tile of D
//
// Read row_shared.cu first. New here: B goes through shared memory, too. A CTA of tile x tile
// threads computes a tile of D, one square k tile after another. For each k tile, a thread loads
// one element of A and one of B, and every element is used `tile` times.
//
//                       K      tile        N
//                   +--------[====]--+   +---[=]--------+
//                 M |                |   | K [=] tile   |    k tile: [====] x [=]
//                   +----------------+   +--------------+
//
//                   barrier: the tiles are complete    barrier: all threads have read them
//
// If an extent is not a multiple of the tile, elements outside A and B are zero, and elements
// outside D are not stored. Every thread stays until the last barrier.
//
// Cost: two reads from global memory serve `tile` multiply-adds, but each multiply-add needs two
// reads from shared memory, which holds 2 * tile * (tile + 1) values of the accumulator's type. A
// thread has about 40 registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/naive/tiled_shared.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "shape.h"

#ifndef TILE
#define TILE 16  // rows and columns of a CTA's tile of D, and the depth of a k tile
#endif
#ifndef THREADS
#define THREADS naive::tile_threads(TILE)
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES naive::tiled_shared_bytes(TILE, sizeof(Accumulator))
#endif
constexpr int kTile = TILE;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kTile == 8 || kTile == 16 || kTile == 32, "tile must be 8, 16 or 32");
static_assert(THREADS == naive::tile_threads(kTile), "THREADS must be tile * tile");
static_assert(SHARED_BYTES == naive::tiled_shared_bytes(kTile, sizeof(Accumulator)),
              "SHARED_BYTES must be 2 * tile * (tile + 1) accumulators");

// ---- 4. Mainloop --------------------------------------------------------------------------------
using Tile = Accumulator[kTile][naive::tile_pitch(kTile)];

// The first element of a tile of D.
struct TileOrigin {
  long long batch_index, m0, n0;
};

__device__ __forceinline__ TileOrigin origin_at(long long index, long long tiles_m,
                                                long long tiles_n) {
  const long long tile = index % (tiles_m * tiles_n);
  return {index / (tiles_m * tiles_n), tile / tiles_n * kTile, tile % tiles_n * kTile};
}

// threadIdx.x runs along the contiguous dimension of each matrix.
__device__ __forceinline__ void load_tiles(const Arguments& arguments, const TileOrigin& origin,
                                           long long k0, Tile& tile_a, Tile& tile_b) {
  const int m = kOrderA == Order::kRowMajor ? threadIdx.y : threadIdx.x;
  const int k_of_a = kOrderA == Order::kRowMajor ? threadIdx.x : threadIdx.y;
  const bool inside_a = origin.m0 + m < arguments.m && k0 + k_of_a < arguments.k;
  const TypeA* const a = matrix_a(arguments, origin.batch_index);
  Accumulator element_a = 0;
  if (inside_a) {
    element_a = widen(a[offset_a(arguments, origin.m0 + m, k0 + k_of_a)]);
    element_a = scaled_a(arguments, origin.batch_index, origin.m0 + m, k0 + k_of_a, element_a);
  }
  tile_a[m][k_of_a] = element_a;

  const int n = kOrderB == Order::kRowMajor ? threadIdx.x : threadIdx.y;
  const int k_of_b = kOrderB == Order::kRowMajor ? threadIdx.y : threadIdx.x;
  const bool inside_b = origin.n0 + n < arguments.n && k0 + k_of_b < arguments.k;
  const TypeB* const b = matrix_b(arguments, origin.batch_index);
  Accumulator element_b = 0;
  if (inside_b) {
    element_b = widen(b[offset_b(arguments, k0 + k_of_b, origin.n0 + n)]);
    element_b = scaled_b(arguments, origin.batch_index, k0 + k_of_b, origin.n0 + n, element_b);
  }
  tile_b[k_of_b][n] = element_b;
}

__device__ __forceinline__ void multiply_tiles(const Tile& tile_a, const Tile& tile_b,
                                               Accumulator& accumulator) {
  for (int k = 0; k < kTile; ++k) {
    multiply_add(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], accumulator);
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
__device__ __forceinline__ void store(const Arguments& arguments, const TileOrigin& origin,
                                      Accumulator accumulator) {
  const long long m = origin.m0 + threadIdx.y, n = origin.n0 + threadIdx.x;
  if (m < arguments.m && n < arguments.n) {
    const Epilogue epilogue = begin_epilogue(arguments, origin.batch_index);
    matrix_d(arguments, origin.batch_index)[offset_d(arguments, m, n)] =
        apply_epilogue(epilogue, accumulator, m, n);
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(THREADS)
    tunedgemm_tiled_shared(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(16) unsigned char shared[];
  Tile& tile_a = reinterpret_cast<Tile*>(shared)[0];
  Tile& tile_b = reinterpret_cast<Tile*>(shared)[1];
  const long long tiles_m = (arguments.m + kTile - 1) / kTile;
  const long long tiles_n = (arguments.n + kTile - 1) / kTile;
  const long long tiles = arguments.batch * tiles_m * tiles_n;
  // The loop runs once, unless there are more tiles than a grid has CTAs.
  for (long long index = blockIdx.x; index < tiles; index += gridDim.x) {
    const TileOrigin origin = origin_at(index, tiles_m, tiles_n);
    Accumulator accumulator = 0;
    for (long long k0 = 0; k0 < arguments.k; k0 += kTile) {
      load_tiles(arguments, origin, k0, tile_a, tile_b);
      __syncthreads();  // the tiles are complete
      multiply_tiles(tile_a, tile_b, accumulator);
      __syncthreads();  // all threads have read them
    }
    store(arguments, origin, accumulator);
  }
}
