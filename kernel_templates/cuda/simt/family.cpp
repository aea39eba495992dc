#include <limits>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/simt/simt.h"

namespace tunedgemm::internal {
namespace {

constexpr int kAsyncCopyArch = 80;
/// A CTA counts its k tiles, including those copied ahead, in 32 bits.
constexpr std::int64_t kMostKTiles = std::numeric_limits<int>::max() - 8;

std::string product(std::string_view left, int left_value, std::string_view right,
                    int right_value) {
  return std::string(left) + "=" + std::to_string(left_value) + " and " + std::string(right) + "=" +
         std::to_string(right_value);
}

simt::Shape shape_of(const Problem& problem, const Config& config) {
  const DataType accumulators = accumulator(problem.a.type, problem.b.type);
  return {.block_m = config.at("block_m"),
          .block_n = config.at("block_n"),
          .block_k = config.at("block_k"),
          .warp_m = config.at("warp_m"),
          .warp_n = config.at("warp_n"),
          .thread_m = config.at("thread_m"),
          .thread_n = config.at("thread_n"),
          .stages = config.at("stages"),
          .async_copy = config.at("async_copy") == 1,
          .split_k = config.at("split_k"),
          .element_bytes_a = static_cast<int>(size_bytes(problem.a.type)),
          .element_bytes_b = static_cast<int>(size_bytes(problem.b.type)),
          .accumulator_bytes = static_cast<int>(size_bytes(accumulators)),
          .alignment_a = problem.a.alignment_bytes,
          .alignment_b = problem.b.alignment_bytes,
          .a_is_k_major = problem.a.order == Order::kRowMajor,
          .b_is_k_major = problem.b.order == Order::kColumnMajor,
          .accumulates_integers = accumulators == DataType::kS32,
          .transcendental = traits(problem.activation).is_transcendental};
}

/// A sentence about the first static_assert of the kernel that would fail; empty if all hold.
std::string why_not_shape(const Problem& problem, const SimtShape& shape) {
  if (has_block_scales(problem)) {
    return "simt has one factor for the whole sum over K, not one for each block";
  }
  if (!shape.warps_divide_block_m()) {
    return product("block_m", shape.block_m, "warp_m", shape.warp_m) +
           ": block_m must be a multiple of warp_m";
  }
  if (!shape.warps_divide_block_n()) {
    return product("block_n", shape.block_n, "warp_n", shape.warp_n) +
           ": block_n must be a multiple of warp_n";
  }
  if (!shape.lanes_fit()) {
    return "warp_m/thread_m times warp_n/thread_n is " + std::to_string(shape.lanes_m()) +
           " times " + std::to_string(shape.lanes_n()) +
           ": it must be 32 lanes, with 2 or more each way";
  }
  if (!shape.quads_fit()) {
    return product("thread_m", shape.thread_m, "thread_n", shape.thread_n) +
           ": both must be multiples of 16 bytes of accumulators, which have " +
           std::to_string(shape.accumulator_bytes) + " bytes";
  }
  if (!shape.stages_fit()) {
    return "stages=" + std::to_string(shape.stages) + ": it must be 2 unless async_copy=1";
  }
  if (!shape.async_copy_fits()) {
    return "async_copy=1 cannot convert " + std::string(name(problem.a.type)) + " to " +
           std::string(name(accumulator(problem.a.type, problem.b.type))) + ": use async_copy=0";
  }
  return "";
}

std::string why_not_launch(const Problem& problem, const SimtShape& shape,
                           const DeviceLimits& limits) {
  if (std::string why = why_not_shape(problem, shape); !why.empty()) {
    return why;
  }
  if (ceil_divide(ceil_divide(problem.k, shape.block_k), shape.split_k) > kMostKTiles) {
    return "k=" + std::to_string(problem.k) + ": with block_k=" + std::to_string(shape.block_k) +
           " a CTA would have more than " + std::to_string(kMostKTiles) +
           " k tiles: raise split_k or block_k";
  }
  if (std::string why =
          why_not_block(shape.threads(), shape.registers(), shape.shared_bytes(), limits);
      !why.empty()) {
    return why;
  }
  return why_not_tiling(problem, shape.tiles(problem), shape.block_k, shape.partial_tile_bytes(),
                        limits);
}

class Simt final : public CudaFamily {
 public:
  Simt()
      : CudaFamily("simt", "cuda/simt/kernel.cu",
                   {{"block_m", {32, 64, 128, 256}, "rows of a CTA's tile of D", Knob::kTile},
                    {"block_n", {32, 64, 128, 256}, "columns of a CTA's tile of D", Knob::kTile},
                    {"block_k", {8, 16, 32}, "elements of a k tile", Knob::kTile},
                    {"warp_m", {16, 32, 64, 128}, "rows of a warp tile"},
                    {"warp_n", {16, 32, 64, 128}, "columns of a warp tile"},
                    {"thread_m", {2, 4, 8, 16}, "rows of a thread tile"},
                    {"thread_n", {2, 4, 8, 16}, "columns of a thread tile"},
                    {"stages", in_steps(2, simt::kMostStages), "k tiles in shared memory"},
                    {"async_copy", {0, 1}, "1: copied by cp.async, 0: through registers"},
                    {"group_m", {1, 2, 4, 8, 16}, "rows of tiles in a rasterization group"},
                    {"split_k", in_steps(1, simt::kMostSplitK), "split-K slices"}}) {}

  bool computes_groups() const override { return true; }

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    const bool async_copy = config.find("async_copy") == 1;
    if (std::string why = why_not_device(config, limits, async_copy ? kAsyncCopyArch : 0);
        !why.empty()) {
      return why;
    }
    const SimtShape shape(problem, config);
    if (std::string why = why_not_launch(problem, shape, limits); !why.empty()) {
      return why;
    }
    const Tiling blocks = shape.tiles(problem);
    Instance instance = begin_instance(problem, config);
    instance.launch = tiled_launch(shape.threads(), shape.shared_bytes(), blocks,
                                   shape.partial_tile_bytes(), limits);
    instance.predicted_us =
        predicted_us(problem, [&](const Problem& batch) { return simt_us(batch, shape, limits); });
    instance.defines = {{"BLOCKS_PER_SM", std::to_string(shape.blocks_on_sm(limits))}};
    if (limits.most_ctas > 0) {
      instance.defines.emplace_back("PERSISTENT", "1");
    }
    return instance;
  }

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    return simt_candidates(batch_of_equal_groups(problem), limits);
  }
};

}  // namespace

SimtShape::SimtShape(const Problem& problem, const Config& config)
    : Shape(shape_of(problem, config)) {}

Tiling SimtShape::tiles(const Problem& problem) const {
  return tiling(problem, block_m, block_n, split_k);
}

const Family& simt_family() {
  static const Simt family;
  return family;
}

}  // namespace tunedgemm::internal
