#include <algorithm>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/naive/shape.h"

namespace tunedgemm::internal {
namespace {

class Naive1d final : public CudaFamily {
 public:
  Naive1d()
      : CudaFamily("naive_1d", "cuda/naive/naive_1d.cu",
                   {{"threads", {128, 256, 512}, "threads of a CTA"}}) {}

  bool computes_groups() const override { return true; }

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const int threads = config.at("threads");
    // If there are more elements than threads, the kernel loops.
    const std::int64_t elements = total_rows(problem) * problem.n;
    const std::int64_t blocks =
        ctas_for(std::min(ceil_divide(elements, threads), kMaxGridX), limits);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 / scatter_of_b(problem),
                         .cycles_per_step = load_cycles_of_a_and_b(problem)};
    Instance instance = begin_instance(problem, config);
    instance.launch = {.grid = {static_cast<std::uint32_t>(blocks), 1, 1},
                       .block = {static_cast<std::uint32_t>(threads), 1, 1}};
    instance.predicted_us = naive_us(problem, cost, static_cast<double>(problem.k), limits);
    return instance;
  }
};

class Naive2d final : public CudaFamily {
 public:
  Naive2d() : CudaFamily("naive_2d", "cuda/naive/naive_2d.cu", {}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    // If D or the batch exceeds the largest grid, the kernel loops.
    const std::int64_t x = std::min(ceil_divide(problem.n, naive::kBlockN), kMaxGridX);
    const std::int64_t y = std::min(ceil_divide(problem.m, naive::kBlockM), kMaxGridYZ);
    const std::int64_t z = std::min(problem.batch, kMaxGridYZ);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 / scatter_of_b(problem),
                         .cycles_per_step = load_cycles_of_a_and_b(problem)};
    Instance instance = begin_instance(problem, config);
    instance.launch = {.grid = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                                static_cast<std::uint32_t>(z)},
                       .block = {naive::kBlockN, naive::kBlockM, 1}};
    instance.predicted_us = naive_us(problem, cost, static_cast<double>(problem.k), limits);
    return instance;
  }
};

class RowPerBlock final : public CudaFamily {
 public:
  RowPerBlock()
      : CudaFamily("row_per_block", "cuda/naive/row_per_block.cu",
                   {{"threads", {128, 256, 512}, "threads of a CTA"}}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    // If D or the batch exceeds the largest grid, the kernel loops.
    const std::int64_t rows = std::min(problem.m, kMaxGridX);
    const std::int64_t batch_indices = std::min(problem.batch, kMaxGridYZ);
    const int threads = config.at("threads");
    const double columns_of_a_thread = static_cast<double>(ceil_divide(problem.n, threads));
    const double utilization = static_cast<double>(problem.n) / (columns_of_a_thread * threads);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 * utilization / scatter_of_b(problem),
                         .cycles_per_step = load_cycles_of_a_and_b(problem)};
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(batch_indices), 1},
        .block = {static_cast<std::uint32_t>(threads), 1, 1}};
    instance.predicted_us =
        naive_us(problem, cost, columns_of_a_thread * static_cast<double>(problem.k), limits);
    return instance;
  }
};

class RowShared final : public CudaFamily {
 public:
  RowShared()
      : CudaFamily("row_shared", "cuda/naive/row_shared.cu",
                   {{"threads", {128, 256, 512}, "threads of a CTA"},
                    {"chunk", {256, 1024}, "elements of the row in shared memory"}}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const int threads = config.at("threads");
    const auto accumulator_bytes =
        static_cast<int>(size_bytes(accumulator(problem.a.type, problem.b.type)));
    const int shared_bytes = naive::row_shared_bytes(config.at("chunk"), accumulator_bytes);
    if (std::string why = why_not_block(threads, naive::kRegisters, shared_bytes, limits);
        !why.empty()) {
      return why;
    }
    // If D or the batch exceeds the largest grid, the kernel loops.
    const std::int64_t rows = std::min(problem.m, kMaxGridX);
    const std::int64_t batch_indices = std::min(problem.batch, kMaxGridYZ);
    const double columns_of_a_thread = static_cast<double>(ceil_divide(problem.n, threads));
    const double utilization = static_cast<double>(problem.n) / (columns_of_a_thread * threads);
    // Shorter chunks need more barriers.
    const double barriers = 1 + 64.0 / config.at("chunk");
    const NaiveCost cost{
        .multiply_adds_per_cycle = 10 * utilization / (barriers * scatter_of_b(problem)),
        .cycles_per_step = load_cycles_of_b(problem) + kMemoryLatency / config.at("chunk")};
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(batch_indices), 1},
        .block = {static_cast<std::uint32_t>(threads), 1, 1},
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes)};
    instance.predicted_us =
        naive_us(problem, cost, columns_of_a_thread * static_cast<double>(problem.k), limits);
    return instance;
  }
};

class TiledShared final : public CudaFamily {
 public:
  TiledShared()
      : CudaFamily("tiled_shared", "cuda/naive/tiled_shared.cu",
                   {{"tile", {8, 16, 32}, "rows and columns of a CTA's tile, and of its k tile"}}) {
  }

  Instantiation make_instance(const Problem& problem, const Config& config,
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
    const double utilization =
        static_cast<double>(problem.m) * static_cast<double>(problem.n) / covered;
    // A multiply-add needs two loads from shared memory. Small tiles need more barriers.
    const double rate = 14 * utilization / (1 + 8.0 / tile);
    // Each k tile waits for memory and at two barriers; a step's shared-memory reads take tile^2 /
    // 16 cycles.
    const double cycles_per_step = 8 + tile * tile / 16.0 + (kMemoryLatency + 80) / tile;
    const NaiveCost cost{.multiply_adds_per_cycle = rate, .cycles_per_step = cycles_per_step};
    // If there are more tiles than CTAs, the kernel loops.
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

const Family& naive_1d_family() {
  static const Naive1d family;
  return family;
}

const Family& naive_2d_family() {
  static const Naive2d family;
  return family;
}

const Family& row_per_block_family() {
  static const RowPerBlock family;
  return family;
}

const Family& row_shared_family() {
  static const RowShared family;
  return family;
}

const Family& tiled_shared_family() {
  static const TiledShared family;
  return family;
}

}  // namespace tunedgemm::internal
