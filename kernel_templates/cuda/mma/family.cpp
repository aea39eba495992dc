#include "kernel_templates/cuda/mma/mma.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/mma/cost.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

constexpr int kRevision = 2;  // 2: another expectation of f64
constexpr std::array<TritonConfig, 16> kTritonTutorialConfigs{{
    {128, 256, 64, 3, 8},
    {64, 256, 32, 4, 4},
    {128, 128, 32, 4, 4},
    {128, 64, 32, 4, 4},
    {64, 128, 32, 4, 4},
    {128, 32, 32, 4, 4},
    {64, 32, 32, 5, 2},
    {32, 64, 32, 5, 2},
    {128, 256, 128, 3, 8},
    {256, 128, 128, 3, 8},
    {256, 64, 128, 4, 4},
    {64, 256, 128, 4, 4},
    {128, 128, 128, 4, 4},
    {128, 64, 64, 4, 4},
    {64, 128, 64, 4, 4},
    {128, 32, 64, 4, 4},
}};

/// The tiles of a block and a warp.
struct Shape {
  int block_m, block_n, warp_m, warp_n;
};

// What a search tries: large tiles reuse most, small ones fill the device.
constexpr Shape kShapes[] = {
    {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 64, 64}, {128, 128, 64, 32},
    {128, 128, 32, 64}, {64, 256, 64, 64},  {256, 64, 64, 64},  {128, 64, 64, 32},
    {64, 128, 32, 64},  {128, 64, 32, 32},  {64, 128, 32, 32},  {64, 64, 32, 32},
    {128, 32, 32, 32},  {32, 128, 32, 32},  {64, 32, 32, 16},   {32, 64, 16, 32},
    {32, 32, 16, 16},   {16, 64, 16, 16},   {64, 16, 16, 16},   {16, 128, 16, 32},
    {128, 16, 32, 16},  {16, 256, 16, 64},  {256, 16, 64, 16},
};

/// A tile along K, by the bytes that one row of it has, and how many are in shared memory.
struct Pipeline {
  int row_bytes, stages;
};
constexpr Pipeline kPipelines[] = {{128, 3}, {128, 4}, {64, 4}, {64, 6}};

constexpr int kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
/// Tiles along K below which a part is not worth a block.
constexpr std::int64_t kLeastTilesOfPart = 4;

Config make_config(const Shape& shape, int block_k, int stages, int group_m, int split_k) {
  return Config({{"block_m", shape.block_m},
                 {"block_n", shape.block_n},
                 {"block_k", block_k},
                 {"warp_m", shape.warp_m},
                 {"warp_n", shape.warp_n},
                 {"stages", stages},
                 {"group_m", group_m},
                 {"split_k", split_k}});
}

/// A quarter of them in each direction, more along the longer side of the tile.
Config from_triton(const TritonConfig& triton) {
  Shape shape{triton.block_m, triton.block_n, triton.block_m, triton.block_n};
  for (int warps = triton.warps; warps > 1; warps /= 2) {
    (shape.warp_m >= shape.warp_n ? shape.warp_m : shape.warp_n) /= 2;
  }
  return make_config(shape, triton.block_k, triton.stages, 8, 1);
}

std::string and_value(std::string_view left, int left_value, std::string_view right,
                      int right_value) {
  return std::string(left) + "=" + std::to_string(left_value) + " and " + std::string(right) + "=" +
         std::to_string(right_value);
}

/// The static_asserts of mma.cu, part 3, as sentences.
std::string why_not_numbers(const Problem& problem, const MmaNumbers& numbers) {
  if (problem.a.type == DataType::kF32 && problem.numerics == Numerics::kIeee) {
    return "tensor cores do not form IEEE products of f32: use the simt family, or ask for the "
           "numerics tf32 or emulated";
  }
  if (numbers.block_m % numbers.warp_m != 0) {
    return and_value("block_m", numbers.block_m, "warp_m", numbers.warp_m) +
           ": block_m must be a multiple of warp_m";
  }
  if (numbers.block_n % numbers.warp_n != 0) {
    return and_value("block_n", numbers.block_n, "warp_n", numbers.warp_n) +
           ": block_n must be a multiple of warp_n";
  }
  if (numbers.warps() > kMaxMmaWarps) {
    return "block_m/warp_m times block_n/warp_n is " + std::to_string(numbers.warps()) +
           " warps: it must be 1, 2, 4, 8 or 16";
  }
  if (numbers.block_k * numbers.element_bytes % numbers.step_bytes != 0) {
    return "block_k=" + std::to_string(numbers.block_k) + " is " +
           std::to_string(numbers.block_k * numbers.element_bytes) +
           " bytes: it must be a multiple of " + std::to_string(numbers.step_bytes);
  }
  if (numbers.stages < 3 && !(numbers.alignment_a >= 4 && numbers.alignment_b >= 4)) {
    return "stages=" + std::to_string(numbers.stages) +
           ": it must be 3 or more where rows are not aligned to 4 bytes";
  }
  if (problem.k / numbers.block_k >= std::numeric_limits<std::int32_t>::max()) {
    return "K=" + std::to_string(problem.k) +
           " has more than 2147483647 tiles of block_k=" + std::to_string(numbers.block_k);
  }
  return "";
}

class Mma final : public CudaFamily {
 public:
  Mma()
      : CudaFamily(
            "mma", "cuda/mma/kernel.cu",
            {{"block_m", {16, 32, 64, 128, 256}, "rows of a block's tile of D", Knob::kTile},
             {"block_n", {16, 32, 64, 128, 256}, "columns of it", Knob::kTile},
             {"block_k", {8, 16, 32, 64, 128}, "a tile along K", Knob::kTile},
             {"warp_m", {16, 32, 64, 128}, "rows of a warp's part of the tile"},
             {"warp_n", {16, 32, 64, 128}, "columns of it"},
             {"stages", {2, 3, 4, 5, 6}, "tiles in shared memory at a time"},
             {"group_m", {1, 2, 4, 8, 16}, "rows of tiles that rasterization takes together"},
             {"split_k",
              {std::begin(kSplits), std::end(kSplits)},
              "blocks that share the K of a tile"}},
            kRevision) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits, kLeastMmaArch); !why.empty()) {
      return why;
    }
    const MmaNumbers numbers(problem, config);
    if (std::string why = why_not_numbers(problem, numbers); !why.empty()) {
      return why;
    }
    if (std::string why =
            why_not_block(32 * numbers.warps(), numbers.registers(products(problem, limits)),
                          numbers.shared_bytes(), limits);
        !why.empty()) {
      return why;
    }
    const Tiling blocks = numbers.tiles(problem);
    if (std::string why =
            why_not_tiling(problem, blocks, numbers.block_k, numbers.partial_tile_bytes(), limits);
        !why.empty()) {
      return why;
    }
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {static_cast<std::uint32_t>(blocks.blocks().value_or(0)), 1, 1},
        .block = {static_cast<std::uint32_t>(32 * numbers.warps()), 1, 1},
        .shared_bytes = static_cast<std::uint32_t>(numbers.shared_bytes()),
        .workspace_bytes = split_workspace_bytes(blocks, numbers.partial_tile_bytes())};
    instance.predicted_us = mma_us(problem, numbers, limits);
    return instance;
  }

 protected:
  /// A choice out of all that is legal: good shapes, with those split-K slices that fill the device,
  /// and the tutorial's configs.
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    std::vector<Config> chosen;
    const auto consider = [&](Config config) {
      if (std::find(chosen.begin(), chosen.end(), config) == chosen.end()) {
        chosen.push_back(std::move(config));
      }
    };
    for (const Shape& shape : kShapes) {
      for (const Pipeline& pipeline : kPipelines) {
        const int block_k = pipeline.row_bytes / static_cast<int>(size_bytes(problem.a.type));
        for (const int group_m : {8, 1}) {
          for (const int split_k : kSplits) {
            const Config config = make_config(shape, block_k, pipeline.stages, group_m, split_k);
            if (worth_trying(problem, config, limits)) {
              consider(config);
            }
          }
        }
      }
    }
    for (const TritonConfig& triton : triton_tutorial_configs()) {
      consider(from_triton(triton));
    }
    return chosen;
  }

 private:
  /// Leaves out what cannot be better than something else that is tried.
  static bool worth_trying(const Problem& problem, const Config& config,
                           const DeviceLimits& limits) {
    const MmaNumbers numbers(problem, config);
    // Half of the tile or more would lie outside D, and there is a smaller one.
    if ((numbers.block_m > 16 && numbers.block_m >= 2 * problem.m) ||
        (numbers.block_n > 16 && numbers.block_n >= 2 * problem.n)) {
      return false;
    }
    const Tiling tiles = numbers.tiles(problem);
    const std::int64_t blocks = tiles.blocks().value_or(kMaxGridX);
    const bool one_round = blocks <= 2 * limits.sm_count;
    if (config.at("group_m") == 1 ? one_round : tiles.tiles_m == 1 && !one_round) {
      return false;  // all of them run at once, or there is one order only
    }
    const bool small = numbers.block_m * numbers.block_n <= 64 * 64;
    if (numbers.stages > 4 && !(small && one_round && numbers.split_k == 1)) {
      return false;  // other blocks on the SM hide what more stages would
    }
    if (numbers.stages < 4 && numbers.split_k > 1) {
      return false;  // a part of K has few tiles, and it takes long until the first is there
    }
    const std::int64_t tiles_of_k = ceil_divide(problem.k, numbers.block_k);
    return numbers.split_k == 1 || (one_round && tiles_of_k / numbers.split_k >= kLeastTilesOfPart);
  }
};

}  // namespace

std::span<const TritonConfig> triton_tutorial_configs() {
  return kTritonTutorialConfigs;
}

std::vector<Config> mma_configs_of_triton_tutorial() {
  std::vector<Config> configs;
  configs.reserve(kTritonTutorialConfigs.size());
  for (const TritonConfig& triton : kTritonTutorialConfigs) {
    configs.push_back(from_triton(triton));
  }
  return configs;
}

const Family& mma_family() {
  static const Mma family;
  return family;
}

}  // namespace tunedgemm
