#include <algorithm>
#include <limits>
#include <span>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/simt/simt_numbers.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

/// The tiles of a block, a warp and a thread.
struct Shape {
  int block_m, block_n, warp_m, warp_n, thread_m, thread_n;
};

// What a search tries, for accumulators of 4 bytes and for f64, whose tiles have half the numbers.
constexpr Shape kShapes[] = {
    {256, 128, 64, 64, 16, 8}, {128, 256, 64, 64, 16, 8}, {128, 128, 64, 64, 16, 8},
    {128, 128, 32, 64, 8, 8},  {128, 128, 64, 32, 8, 8},  {256, 64, 64, 64, 16, 8},
    {64, 256, 64, 64, 16, 8},  {128, 64, 32, 64, 8, 8},   {64, 128, 64, 32, 8, 8},
    {64, 64, 32, 32, 8, 4},    {128, 32, 32, 32, 8, 4},   {32, 128, 32, 32, 4, 8},
    {64, 32, 32, 32, 8, 4},    {32, 64, 32, 32, 4, 8},    {32, 32, 16, 32, 4, 4},
};
constexpr Shape kShapesF64[] = {
    {128, 128, 32, 64, 8, 8}, {128, 128, 64, 32, 8, 8}, {128, 64, 32, 64, 8, 8},
    {128, 64, 32, 32, 8, 4},  {64, 128, 32, 32, 4, 8},  {64, 64, 32, 32, 8, 4},
    {128, 32, 32, 32, 8, 4},  {32, 128, 32, 32, 4, 8},  {64, 32, 32, 32, 8, 4},
    {32, 64, 32, 32, 4, 8},   {32, 32, 16, 32, 4, 4},   {32, 32, 16, 16, 4, 2},
};

struct Pipeline {
  int block_k, async_copy, stages;
};
constexpr Pipeline kPipelines[] = {{8, 0, 2}, {16, 0, 2}, {8, 1, 4}, {16, 1, 3}, {32, 1, 3}};

constexpr int kMostSplits = 64;
/// Where K is cut: blocks that an SM computes, side by side or one after the other.
constexpr int kMostBlocksOnSm = 4;
/// Steps along K below which a part is not worth a block.
constexpr std::int64_t kLeastStepsOfPart = 4;
constexpr int kAsyncCopyArch = 80;
/// A block counts its steps, and those that it copies ahead, in 32 bits.
constexpr std::int64_t kMostSteps = std::numeric_limits<int>::max() - 8;
constexpr int kRevision = 2;  // 2: any number of split-K slices, other costs

/// Into how many parts K may be cut, `most` at the most: a few powers of two; and so many that
/// every SM has a block, or two, or more, and few have one less.
std::vector<int> splits(std::int64_t tiles, std::int64_t most, const DeviceLimits& limits) {
  const std::int64_t fill = limits.sm_count / std::max<std::int64_t>(tiles, 1);
  std::vector<int> found{1};
  const auto add = [&](std::int64_t parts) {
    parts = std::min<std::int64_t>({parts, most, kMostSplits});
    if (parts > found.back()) {
      found.push_back(static_cast<int>(parts));
    }
  };
  for (int parts = 2; parts < fill; parts *= 2) {
    add(parts);
  }
  for (int blocks_on_sm = 1; blocks_on_sm <= kMostBlocksOnSm; ++blocks_on_sm) {
    add(static_cast<std::int64_t>(blocks_on_sm) * limits.sm_count /
        std::max<std::int64_t>(tiles, 1));
  }
  return found;
}

std::string product(std::string_view left, int left_value, std::string_view right,
                    int right_value) {
  return std::string(left) + "=" + std::to_string(left_value) + " and " + std::string(right) + "=" +
         std::to_string(right_value);
}

/// The static_asserts of simt.cu, part 3, as sentences.
std::string why_not_numbers(const Problem& problem, const SimtNumbers& numbers) {
  if (numbers.block_m % numbers.warp_m != 0) {
    return product("block_m", numbers.block_m, "warp_m", numbers.warp_m) +
           ": block_m must be a multiple of warp_m";
  }
  if (numbers.block_n % numbers.warp_n != 0) {
    return product("block_n", numbers.block_n, "warp_n", numbers.warp_n) +
           ": block_n must be a multiple of warp_n";
  }
  const int lanes_m = numbers.warp_m / numbers.thread_m;
  const int lanes_n = numbers.warp_n / numbers.thread_n;
  if (numbers.warp_m % numbers.thread_m != 0 || numbers.warp_n % numbers.thread_n != 0 ||
      lanes_m * lanes_n != 32 || lanes_m < 2 || lanes_n < 2) {
    return "warp_m/thread_m times warp_n/thread_n is " + std::to_string(lanes_m) + " times " +
           std::to_string(lanes_n) + ": it must be 32 lanes, with 2 or more each way";
  }
  if (numbers.thread_m * numbers.sum_bytes % 16 != 0 ||
      numbers.thread_n * numbers.sum_bytes % 16 != 0) {
    return product("thread_m", numbers.thread_m, "thread_n", numbers.thread_n) +
           ": both must be multiples of 16 bytes of accumulators, which have " +
           std::to_string(numbers.sum_bytes) + " bytes";
  }
  if (!numbers.async_copy && numbers.stages != 2) {
    return "stages=" + std::to_string(numbers.stages) + ": it must be 2 unless async_copy=1";
  }
  if (numbers.async_copy && (size_bytes(problem.a.type) != numbers.sum_bytes ||
                             size_bytes(problem.b.type) != numbers.sum_bytes)) {
    return "async_copy=1 cannot convert " + std::string(name(problem.a.type)) + " to " +
           std::string(name(numbers.sums)) + ": use async_copy=0";
  }
  return "";
}

std::string why_not_launch(const Problem& problem, const SimtNumbers& numbers,
                           const DeviceLimits& limits) {
  if (std::string why = why_not_numbers(problem, numbers); !why.empty()) {
    return why;
  }
  if (ceil_divide(ceil_divide(problem.k, numbers.block_k), numbers.split_k) > kMostSteps) {
    return "k=" + std::to_string(problem.k) + ": with block_k=" + std::to_string(numbers.block_k) +
           " a block would have more than " + std::to_string(kMostSteps) +
           " steps: raise split_k or block_k";
  }
  if (std::string why = why_not_block(numbers.threads, numbers.registers(problem),
                                      numbers.shared_bytes(), limits);
      !why.empty()) {
    return why;
  }
  return why_not_tiling(problem, numbers.tiles(problem), numbers.block_k,
                        numbers.partial_tile_bytes(), limits);
}

class Simt final : public CudaFamily {
 public:
  Simt()
      : CudaFamily(
            "simt", "cuda/simt/kernel.cu",
            {{"block_m", {32, 64, 128, 256}, "rows of a block's tile of D", Knob::kTile},
             {"block_n", {32, 64, 128, 256}, "columns of it", Knob::kTile},
             {"block_k", {8, 16, 32}, "a step along K", Knob::kTile},
             {"warp_m", {16, 32, 64, 128}, "rows of a warp's tile"},
             {"warp_n", {16, 32, 64, 128}, "columns of it"},
             {"thread_m", {2, 4, 8, 16}, "rows of a thread's sums"},
             {"thread_n", {2, 4, 8, 16}, "columns of them"},
             {"stages", {2, 3, 4, 5, 6}, "steps in shared memory at a time"},
             {"async_copy", {0, 1}, "1: copied by cp.async, 0: through registers"},
             {"group_m", {1, 2, 4, 8, 16}, "rows of tiles that rasterization takes together"},
             {"split_k", in_steps(1, kMostSplits), "blocks that share the K of a tile"}},
            kRevision) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    const bool async_copy = config.find("async_copy") == 1;
    if (std::string why = why_not_device(config, limits, async_copy ? kAsyncCopyArch : 0);
        !why.empty()) {
      return why;
    }
    const SimtNumbers numbers(problem, config);
    if (std::string why = why_not_launch(problem, numbers, limits); !why.empty()) {
      return why;
    }
    const Tiling blocks = numbers.tiles(problem);
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {static_cast<std::uint32_t>(blocks.blocks().value_or(0)), 1, 1},
        .block = {static_cast<std::uint32_t>(numbers.threads), 1, 1},
        .shared_bytes = static_cast<std::uint32_t>(numbers.shared_bytes()),
        .workspace_bytes = split_workspace_bytes(blocks, numbers.partial_tile_bytes())};
    instance.predicted_us = simt_us(problem, numbers, limits);
    instance.defines = {{"BLOCKS_PER_SM", std::to_string(numbers.blocks_on_sm(problem, limits))}};
    return instance;
  }

 protected:
  /// A choice out of all that is legal: good shapes, with those split-K slices that fill the device.
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    const bool f64 = problem.a.type == DataType::kF64;
    std::vector<Config> chosen;
    for (const Shape& shape : f64 ? std::span<const Shape>(kShapesF64) : kShapes) {
      // Half of the tile or more would lie outside D, and there is a smaller one.
      if ((shape.block_m > 32 && shape.block_m >= 2 * problem.m) ||
          (shape.block_n > 32 && shape.block_n >= 2 * problem.n)) {
        continue;
      }
      const Tiling tiles = tiling(problem, shape.block_m, shape.block_n, 1);
      for (const Pipeline& pipeline : kPipelines) {
        const std::int64_t steps = ceil_divide(problem.k, pipeline.block_k);
        const std::vector<int> all_splits =
            splits(tiles.blocks().value_or(kMaxGridX), steps / kLeastStepsOfPart, limits);
        for (const int group_m : {8, 1}) {
          for (const int split_k : all_splits) {
            Config config({{"block_m", shape.block_m},
                           {"block_n", shape.block_n},
                           {"block_k", pipeline.block_k},
                           {"warp_m", shape.warp_m},
                           {"warp_n", shape.warp_n},
                           {"thread_m", shape.thread_m},
                           {"thread_n", shape.thread_n},
                           {"stages", pipeline.stages},
                           {"async_copy", pipeline.async_copy},
                           {"group_m", group_m},
                           {"split_k", split_k}});
            if (worth_trying(problem, config, limits)) {
              chosen.push_back(std::move(config));
            }
          }
        }
      }
    }
    return chosen;
  }

 private:
  /// Leaves out what cannot be better than something else that is tried.
  static bool worth_trying(const Problem& problem, const Config& config,
                           const DeviceLimits& limits) {
    const SimtNumbers numbers(problem, config);
    const Tiling blocks = numbers.tiles(problem);
    const std::int64_t count = blocks.blocks().value_or(kMaxGridX);
    const bool one_round = count <= 2 * limits.sm_count;
    if (config.at("group_m") == 1 ? one_round : blocks.tiles_m == 1 && !one_round) {
      return false;  // all of them run at once, or there is one order only
    }
    return numbers.block_k < 32 || numbers.block_m * numbers.block_n <= 64 * 64;
  }
};

}  // namespace

const Family& simt_family() {
  static const Simt family;
  return family;
}

}  // namespace tunedgemm
