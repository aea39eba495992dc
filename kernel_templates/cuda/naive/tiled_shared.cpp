#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/naive/shape.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm::internal {
namespace {

class TiledShared final : public CudaFamily {
 public:
  TiledShared()
      : CudaFamily("tiled_shared", "cuda/naive/tiled_shared.cu",
                   {{"tile", {8, 16, 32}, "rows and columns of a block's tile, and its step"}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const int tile = config.at("tile");
    const auto accumulator_bytes =
        static_cast<int>(size_bytes(accumulator(problem.a.type, problem.b.type)));
    const int shared_bytes = naive::tiled_shared_bytes(tile, accumulator_bytes);
    if (std::string why =
            why_not_block(naive::tile_threads(tile), naive::kRegisters, shared_bytes, limits);
        !why.empty()) {
      return why;
    }
    const Tiling tiles = tiling(problem, tile, tile);
    const double covered =
        static_cast<double>(tiles.tiles_m) * tile * static_cast<double>(tiles.tiles_n) * tile;
    const double busy = static_cast<double>(problem.m) * static_cast<double>(problem.n) / covered;
    // Two reads from shared memory a multiply-add, and barriers that weigh more in a small tile.
    const double rate = 14 * busy / (1 + 8.0 / tile);
    const NaiveCost cost{.multiply_adds_per_cycle = rate, .cycles_per_step = 8 + 600.0 / tile};
    // The kernel goes on in a loop where the grid ends.
    const std::int64_t blocks = tiles.blocks().value_or(kMaxGridX);
    const auto side = static_cast<std::uint32_t>(tile);
    Instance instance = begin_instance(problem, config);
    instance.launch = {.grid = {static_cast<std::uint32_t>(blocks), 1, 1},
                       .block = {side, side, 1},
                       .shared_bytes = static_cast<std::uint32_t>(shared_bytes)};
    instance.predicted_us = naive_us(problem, cost, static_cast<double>(problem.k), limits);
    return instance;
  }
};

}  // namespace

const Family& tiled_shared_family() {
  static const TiledShared family;
  return family;
}

}  // namespace tunedgemm::internal
