#include <algorithm>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/mma/mma.h"
#include "kernel_templates/cuda/skinny/skinny.h"

namespace tunedgemm::internal {
namespace {

/// The kernel counts elements of a row, and from a row to the next one of its class, in 32 bits.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 30;

skinny::Shape shape_of(const Problem& problem, const Config& config) {
  const DataType accumulators = accumulator(problem.a.type, problem.b.type);
  const bool wide_b = config.at("wide_b") == 1;
  const Matrix& wide = wide_b ? problem.b : problem.a;
  return {.columns = config.at("columns"),
          .unroll = config.at("unroll"),
          .warps_l = config.at("warps_l"),
          .warps_k = config.at("warps_k"),
          .split_k = config.at("split_k"),
          .element_bytes = static_cast<int>(size_bytes(problem.a.type)),
          .accumulator_bytes = static_cast<int>(size_bytes(accumulators)),
          .is_k_major = wide.order == (wide_b ? Order::kColumnMajor : Order::kRowMajor),
          .alignment = wide.alignment_bytes,
          .uses_tensor_cores = skinny_uses_tensor_cores(problem),
          .takes_steps_of_16 = problem.numerics == Numerics::kEmulated};
}

/// Why the kernel cannot compute the problem with this shape; empty if it can. Most reasons are
/// static_asserts of the kernel.
std::string why_not_shape(const Problem& problem, const SkinnyShape& shape) {
  if (has_block_scales(problem)) {
    return "skinny has one factor for the whole sum over K, not one for each block";
  }
  if (size_bytes(problem.a.type) != size_bytes(problem.b.type)) {
    return "skinny needs elements of one size, not " + types_text(problem);
  }
  if (shape.uses_tensor_cores) {
    if (std::string why = why_not_mma_products(problem); !why.empty()) {
      return why;
    }
  }
  if (!shape.columns_fit()) {
    return "columns=" + std::to_string(shape.columns) +
           ": it must be 8 or 16 on tensor cores, which compute all but f32 with ieee products";
  }
  if (shape.narrow_extent(problem) > shape.columns) {
    return "columns=" + std::to_string(shape.columns) + ": D has " +
           std::to_string(shape.narrow_extent(problem)) + (shape.wide_b ? " rows" : " columns");
  }
  const std::int64_t wide_stride =
      (shape.wide_b ? problem.b : problem.a).leading_dimension * shape.classes();
  if (std::max({problem.k, shape.wide_extent(problem), wide_stride}) > kMostExtent) {
    return "K=" + std::to_string(problem.k) + ", the " +
           std::to_string(shape.wide_extent(problem)) + (shape.wide_b ? " columns" : " rows") +
           " of D or the wide operand's leading dimension are more than skinny counts";
  }
  if (!shape.classes_fit()) {
    return (shape.is_k_major ? "warps_l=" + std::to_string(shape.warps_l)
                             : "warps_k=" + std::to_string(shape.warps_k)) +
           ": rows aligned to " + std::to_string(shape.alignment) + " bytes need a multiple of " +
           std::to_string(shape.classes()) + " warps" +
           (shape.is_k_major ? " or, with warps_k=1 and split_k=1, a divisor of it" : "");
  }
  if (shape.threads() > skinny::kMostThreads) {
    return "warps_l=" + std::to_string(shape.warps_l) +
           " and warps_k=" + std::to_string(shape.warps_k) + " are more than " +
           std::to_string(skinny::kMostThreads / 32) + " warps";
  }
  return "";
}

class Skinny final : public CudaFamily {
 public:
  Skinny()
      : CudaFamily("skinny", "cuda/skinny/kernel.cu",
                   {{"wide_b", {0, 1}, "1: D has few rows, 0: few columns"},
                    {"columns", {1, 2, 4, 8, 16}, "the most rows of the narrow operand"},
                    {"unroll", {1, 2, 4, 8}, "units of a warp along K in a step"},
                    {"warps_l", {1, 2, 4, 8, 16}, "warps of a CTA along L", Knob::kTile},
                    {"warps_k", {1, 2, 4, 8, 16}, "warps of a CTA along K", Knob::kTile},
                    {"split_k", {kSkinnySplits.begin(), kSkinnySplits.end()}, "split-K slices"}}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    const int least_arch = skinny_uses_tensor_cores(problem) ? mma::kLeastArch : 0;
    if (std::string why = why_not_device(config, limits, least_arch); !why.empty()) {
      return why;
    }
    const SkinnyShape shape(problem, config);
    if (std::string why = why_not_shape(problem, shape); !why.empty()) {
      return why;
    }
    if (std::string why =
            why_not_block(shape.threads(), shape.registers(), shape.shared_bytes(), limits);
        !why.empty()) {
      return why;
    }
    const Tiling blocks = shape.tiles(problem);
    const std::int64_t partial_bytes =
        std::int64_t{shape.partial_elements()} * shape.accumulator_bytes;
    if (std::string why = why_not_tiling(problem, blocks, shape.step_k(), partial_bytes, limits);
        !why.empty()) {
      return why;
    }
    Instance instance = begin_instance(problem, config);
    instance.launch =
        tiled_launch(shape.threads(), shape.shared_bytes(), blocks, partial_bytes, limits);
    instance.predicted_us = skinny_us(problem, shape, limits);
    if (limits.most_ctas > 0) {
      instance.defines = {{"PERSISTENT", "1"}};
    }
    return instance;
  }

  AccumulationClass accumulation_class(const Problem&, const DeviceLimits&) const override {
    return AccumulationClass::kNone;  // warps divide K among them
  }

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    return skinny_candidates(problem, limits);
  }
};

}  // namespace

bool skinny_uses_tensor_cores(const Problem& problem) {
  return problem.a.type != DataType::kF32 || problem.numerics != Numerics::kIeee;
}

SkinnyShape::SkinnyShape(const Problem& problem, const Config& config)
    : Shape(shape_of(problem, config)), wide_b(config.at("wide_b") == 1) {}

Tiling SkinnyShape::tiles(const Problem& problem) const {
  Tiling tiles =
      tiling(problem, wide_b ? columns : group_l(), wide_b ? group_l() : columns, split_k);
  (wide_b ? tiles.tiles_n : tiles.tiles_m) *= ctas_of_classes();
  return tiles;
}

const Family& skinny_family() {
  static const Skinny family;
  return family;
}

}  // namespace tunedgemm::internal
