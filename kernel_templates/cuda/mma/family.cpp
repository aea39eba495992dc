#include "kernel_templates/cuda/mma/mma.h"

#include <limits>

#include "kernel_templates/cuda/families.h"

namespace tunedgemm::internal {
namespace {

std::string and_value(std::string_view left, int left_value, std::string_view right,
                      int right_value) {
  return std::string(left) + "=" + std::to_string(left_value) + " and " + std::string(right) + "=" +
         std::to_string(right_value);
}

mma::Shape shape_of(const Problem& problem, const Config& config, const DeviceLimits& limits) {
  const DataType accumulators = accumulator(problem.a.type, problem.b.type);
  return {.block_m = config.at("block_m"),
          .block_n = config.at("block_n"),
          .block_k = config.at("block_k"),
          .warp_m = config.at("warp_m"),
          .warp_n = config.at("warp_n"),
          .stages = config.at("stages"),
          .split_k = config.at("split_k"),
          .element_bytes = static_cast<int>(size_bytes(problem.a.type)),
          .accumulator_bytes = static_cast<int>(size_bytes(accumulators)),
          .alignment_a = problem.a.alignment_bytes,
          .alignment_b = problem.b.alignment_bytes,
          .has_block_scales = has_block_scales(problem),
          .products = mma_products(problem, limits)};
}

/// Why the kernel cannot compute the problem with this shape; empty if it can. Most reasons are
/// static_asserts of the kernel.
std::string why_not_shape(const Problem& problem, const MmaShape& shape) {
  if (std::string why = why_not_mma_products(problem); !why.empty()) {
    return why;
  }
  if (!shape.warps_divide_block_m()) {
    return and_value("block_m", shape.block_m, "warp_m", shape.warp_m) +
           ": block_m must be a multiple of warp_m";
  }
  if (!shape.warps_divide_block_n()) {
    return and_value("block_n", shape.block_n, "warp_n", shape.warp_n) +
           ": block_n must be a multiple of warp_n";
  }
  if (!shape.warps_fit()) {
    return "block_m/warp_m times block_n/warp_n is " + std::to_string(shape.warps()) +
           " warps: it must be 1, 2, 4, 8 or 16";
  }
  if (!shape.steps_fit()) {
    return "block_k=" + std::to_string(shape.block_k) + " is " +
           std::to_string(shape.block_k * shape.element_bytes) +
           " bytes: it must be a multiple of " + std::to_string(shape.step_bytes());
  }
  if (!shape.block_scales_fit()) {
    return "block_k=" + std::to_string(shape.block_k) +
           ": it must divide the 128 elements along K that a scale of blocks belongs to";
  }
  if (has_block_scales(problem) && shares_depth(problem)) {
    return "groups along K may begin inside a block of scales";
  }
  if (!shape.stages_fit()) {
    return "stages=" + std::to_string(shape.stages) +
           ": it must not be 2 if rows are not aligned to 4 bytes";
  }
  if (problem.k / shape.block_k >= std::numeric_limits<std::int32_t>::max()) {
    return "K=" + std::to_string(problem.k) +
           " has more than 2147483647 tiles of block_k=" + std::to_string(shape.block_k);
  }
  return "";
}

class Mma final : public CudaFamily {
 public:
  Mma()
      : CudaFamily(
            "mma", "cuda/mma/kernel.cu",
            {{"block_m", {16, 32, 64, 128, 256}, "rows of a CTA's tile of D", Knob::kTile},
             {"block_n", {16, 32, 64, 128, 256}, "columns of a CTA's tile of D", Knob::kTile},
             {"block_k", {8, 16, 32, 64, 128, 256}, "elements of a k tile", Knob::kTile},
             {"warp_m", {16, 32, 64, 128}, "rows of a warp tile"},
             {"warp_n", {16, 32, 64, 128}, "columns of a warp tile"},
             {"stages", {1, 2, 3, 4, 5, 6}, "k tiles in shared memory"},
             {"group_m", {1, 2, 4, 8, 16}, "rows of tiles in a rasterization group"},
             {"split_k", {kMmaSplits.begin(), kMmaSplits.end()}, "split-K slices"}}) {}

  bool computes_groups() const override { return true; }

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits, mma::kLeastArch); !why.empty()) {
      return why;
    }
    const MmaShape shape(problem, config, limits);
    if (std::string why = why_not_shape(problem, shape); !why.empty()) {
      return why;
    }
    if (std::string why =
            why_not_block(shape.threads(), shape.registers(), shape.shared_bytes(), limits);
        !why.empty()) {
      return why;
    }
    const Tiling blocks = shape.tiles(problem);
    if (std::string why =
            why_not_tiling(problem, blocks, shape.block_k, shape.partial_tile_bytes(), limits);
        !why.empty()) {
      return why;
    }
    Instance instance = begin_instance(problem, config);
    instance.launch = tiled_launch(shape.threads(), shape.shared_bytes(), blocks,
                                   shape.partial_tile_bytes(), limits);
    instance.predicted_us =
        predicted_us(problem, [&](const Problem& batch) { return mma_us(batch, shape, limits); });
    if (limits.most_ctas > 0) {
      instance.defines = {{"PERSISTENT", "1"}};
    }
    return instance;
  }

  AccumulationClass accumulation_class(const Problem& problem,
                                       const DeviceLimits& limits) const override {
    if (limits.arch < mma::kLeastArch || !why_not_mma_products(problem).empty()) {
      return AccumulationClass::kNone;
    }
    // The f64 instruction adds its products one after the other.
    return problem.a.type == DataType::kF64 ? AccumulationClass::kInOrder : AccumulationClass::kMma;
  }

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    return mma_candidates(batch_of_equal_groups(problem), limits);
  }
};

}  // namespace

mma::Products mma_products(const Problem& problem, const DeviceLimits& limits) {
  if (problem.a.type == DataType::kF32) {
    return problem.numerics == Numerics::kEmulated ? mma::Products::kEmulated
                                                   : mma::Products::kTf32;
  }
  const bool native_fp8 = mma::multiplies_fp8(limits.arch) && problem.numerics == Numerics::kFast;
  return is_fp8(problem.a.type) && !native_fp8 ? mma::Products::kAsF16 : mma::Products::kDirect;
}

std::string why_not_mma_products(const Problem& problem) {
  if (!traits(problem.a.type).tensor_cores) {
    return "tensor cores do not multiply " + types_text(problem);
  }
  if (problem.a.type == DataType::kF32 && problem.numerics == Numerics::kIeee) {
    return "tensor cores do not compute IEEE products of f32: use the simt family, or ask for the "
           "numerics tf32 or emulated";
  }
  return "";
}

MmaShape::MmaShape(const Problem& problem, const Config& config, const DeviceLimits& limits)
    : Shape(shape_of(problem, config, limits)), group_m(config.at("group_m")) {}

Tiling MmaShape::tiles(const Problem& problem) const {
  return tiling(problem, block_m, block_n, split_k);
}

const Family& mma_family() {
  static const Mma family;
  return family;
}

}  // namespace tunedgemm::internal
