#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernel_templates/cuda/families.h"

namespace tunedgemm::internal {
namespace {

std::string value(std::string_view knob, int value) {
  return std::string(knob) + "=" + std::to_string(value);
}

std::string why_not_operands(const Problem& problem) {
  if (std::string why = why_not_wgmma_types(problem); !why.empty()) {
    return why;
  }
  constexpr std::int64_t kMostExtent = std::numeric_limits<std::int32_t>::max() - 1024;
  for (const auto& [letter, extent] :
       {std::pair("M", problem.m), {"N", problem.n}, {"K", problem.k}, {"batch", problem.batch}}) {
    if (extent > kMostExtent) {
      return std::string(letter) + "=" + std::to_string(extent) + " exceeds the " +
             std::to_string(kMostExtent) + " that TMA can address";
    }
  }
  constexpr std::int64_t kMostStrideBytes = (std::int64_t{1} << 40) - 1;
  for (const auto& [letter, matrix] :
       {std::pair("A", &problem.a), {"B", &problem.b}, {"D", &problem.d}}) {
    const std::int64_t most = kMostStrideBytes / size_bytes(matrix->type);
    for (const std::int64_t stride : {matrix->leading_dimension, matrix->batch_stride}) {
      if (stride > most) {
        return "a stride of " + std::to_string(stride) + " elements in " + letter +
               " exceeds the " + std::to_string(most) + " that TMA can address";
      }
    }
    if (problem.batch > 1 && matrix->batch_stride != 0 &&
        matrix->batch_stride < matrix->leading_dimension) {
      return std::string("the matrices ") + letter + " of the batch are " +
             std::to_string(matrix->batch_stride) + " elements apart, its lines " +
             std::to_string(matrix->leading_dimension) +
             ": TMA needs matrices that follow each other";
    }
  }
  return "";
}

wgmma::Shape shape_of(const Problem& problem, wgmma::Shape knobs) {
  knobs.element_bytes = static_cast<int>(size_bytes(problem.a.type));
  knobs.element_bytes_d = static_cast<int>(size_bytes(problem.d.type));
  knobs.a_is_k_major = problem.a.order == Order::kRowMajor;
  knobs.b_is_k_major = problem.b.order == Order::kColumnMajor;
  knobs.accumulates_integers = problem.a.type == DataType::kS8;
  knobs.promotes = problem.numerics == Numerics::kPromoted;
  knobs.has_block_scales = has_block_scales(problem);
  knobs.scales_columns = problem.scaling_b == Scaling::kBlock1x128;
  knobs.reads_c = problem.beta != ScalarClass::kZero;
  knobs.reads_bias = problem.bias != Bias::kNone;
  knobs.groups = table_groups(problem);
  return knobs;
}

#define WGMMA_VALUE(type, name, macro, value, meaning) .name = static_cast<type>(config.at(#name)),
wgmma::Shape shape_knobs(const Config& config) {
  return {WGMMA_KNOBS(WGMMA_VALUE, WGMMA_NONE)};
}
wgmma::OtherKnobs other_knobs(const Config& config) {
  return {WGMMA_KNOBS(WGMMA_NONE, WGMMA_VALUE)};
}
#undef WGMMA_VALUE

/// The value of a knob, or of another word that WGMMA_CONSTRAINTS uses.
std::string with_value(std::string_view word, const Problem& requested, const WgmmaShape& shape) {
  if (word == "block_k in bytes") {
    return value("block_k", shape.block_k) + " is " + std::to_string(shape.bytes_along_k()) +
           " bytes";
  }
  if (word == "layout") {
    return "layout " + std::string(layout_text(requested));
  }
#define WGMMA_WORD(type, name, macro, default_value, meaning) \
  if (word == #name) {                                        \
    return value(word, shape.name);                           \
  }
  WGMMA_KNOBS(WGMMA_WORD, WGMMA_WORD)
#undef WGMMA_WORD
  return std::string(word);
}

/// "block_m=64 and consumers=2" for "block_m and consumers".
std::string with_values(std::string_view words, const Problem& requested, const WgmmaShape& shape) {
  constexpr std::string_view kAnd = " and ";
  const std::size_t end = words.find(kAnd);
  const std::string first = with_value(words.substr(0, end), requested, shape);
  return end == std::string_view::npos
             ? first
             : first + " and " + with_values(words.substr(end + kAnd.size()), requested, shape);
}

}  // namespace

std::string why_not_wgmma_types(const Problem& problem) {
  if (!traits(problem.a.type).tensor_cores || !traits(problem.b.type).tensor_cores) {
    return "tensor cores do not multiply " + types_text(problem);
  }
  if (problem.a.type == DataType::kF32 && problem.numerics != Numerics::kTf32) {
    return "wgmma multiplies f32 only as tf32: ask for the numerics tf32, or use another family";
  }
  return problem.k == 0 ? "K=0 leaves nothing for TMA to load" : "";
}

int table_groups(const Problem& problem) {
  constexpr std::int64_t kLeast = 64, kMost = 1 << 20;
  return groups_rows(problem) ? static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(
                                    std::clamp(problem.batch, kLeast, kMost))))
                              : 0;
}

Problem problem_of_kernel(const Problem& problem, const Config& config) {
  return config.at("swap_ab") != 0 ? transposed(problem) : problem;
}

WgmmaShape::WgmmaShape(const Problem& problem, const wgmma::Shape& knobs)
    : Shape(shape_of(problem, knobs)) {}

WgmmaShape::WgmmaShape(const Problem& problem, const Config& config)
    : Shape(shape_of(problem, shape_knobs(config))), OtherKnobs(other_knobs(config)) {}

Config config_of(const WgmmaShape& shape) {
#define WGMMA_PAIR(type, name, macro, value, meaning) {#name, static_cast<int>(shape.name)},
  return Config({WGMMA_KNOBS(WGMMA_PAIR, WGMMA_PAIR)});
#undef WGMMA_PAIR
}

Tiling WgmmaShape::clusters(const Problem& problem) const {
  return tiling(problem, block_m * cluster_m, block_n * cluster_n, split_k);
}

Tiling WgmmaShape::most_clusters(const Problem& requested) const {
  const int rows = swap_ab ? block_n * cluster_n : block_m * cluster_m;
  const int columns = swap_ab ? block_m * cluster_m : block_n * cluster_n;
  return tiling(requested, rows, columns, split_k);
}

Tiling WgmmaShape::partial_tiles(const Problem& problem) const {
  Tiling tiles = clusters(problem);
  tiles.tiles_m *= cluster_size() * consumers_of_tile();
  return tiles;
}

std::int64_t WgmmaShape::clusters_of_wave(const DeviceLimits& limits) const {
  // Clusters of two CTAs can use every SM. Larger clusters leave some SMs of a GPC idle, since a
  // cluster must fit into one GPC: the 132 SMs of an H200 run 30 clusters of 4 at a time.
  constexpr int kIdleSms = 12;
  const int usable = cluster_size() <= 2 ? limits.sm_count : limits.sm_count - kIdleSms;
  return std::max(usable / cluster_size(), 1);
}

std::int64_t WgmmaShape::grid(const Problem& problem, const DeviceLimits& limits) const {
  const std::int64_t work_tiles = clusters(problem).blocks().value_or(kMaxGridX);
  const std::int64_t most = std::min(work_tiles, clusters_of_wave(limits));
  // With many waves, use the fewest CTAs that need no additional wave. More CTAs would draw power,
  // which lowers the clock, without saving a wave. With few waves, fewer CTAs are slower
  // (LABBOOK.md).
  constexpr std::int64_t kWavesToBalance = 4;
  const std::int64_t waves = ceil_divide(work_tiles, most);
  return (waves < kWavesToBalance ? most : ceil_divide(work_tiles, waves)) * cluster_size();
}

namespace {

// TMA cannot end at a group's last row along the contiguous dimension of an operand.
std::string why_not_groups(const Problem& requested, const WgmmaShape& shape) {
  if (requested.group_kind == GroupKind::kNone) {
    return "";
  }
  if (shape.prefetch > 0) {
    return value("prefetch", shape.prefetch) + ": groups are not known so early";
  }
  if (shares_depth(requested)) {
    const bool is_mn_major =
        requested.a.order == Order::kColumnMajor && requested.b.order == Order::kRowMajor;
    return !is_mn_major        ? "groups along K need a column-major A and a row-major B"
           : shape.split_k > 1 ? value("split_k", shape.split_k) + ": groups along K need 1"
           : has_block_scales(requested) ? "groups along K may begin inside a block of scales"
                                         : "";
  }
  if (requested.a.order != Order::kRowMajor) {
    return "groups of rows need a row-major A";
  }
  constexpr std::int64_t kMostRows = 1 << 30;
  if (total_rows(requested) >= kMostRows) {
    return std::to_string(total_rows(requested)) + " rows in all groups exceed the " +
           std::to_string(kMostRows - 1) + " that TMA can address";
  }
  if (shape.tensor_store && requested.d.batch_stride % requested.d.leading_dimension != 0) {
    return "tensor_store=1, but the matrices D of the groups are not whole rows apart";
  }
  return "";
}

}  // namespace

std::string why_not_wgmma(const Problem& requested, const WgmmaShape& shape) {
  if (std::string why = why_not_groups(requested, shape); !why.empty()) {
    return why;
  }
  if (std::string why = why_not_operands(requested); !why.empty()) {
    return why;
  }
  const Problem problem = shape.swap_ab ? transposed(requested) : requested;
#define WGMMA_REFUSAL(function, knobs, sentence)                     \
  if (!shape.function()) {                                           \
    return with_values(knobs, requested, shape) + ": " + (sentence); \
  }
  WGMMA_CONSTRAINTS(WGMMA_REFUSAL)
#undef WGMMA_REFUSAL
  if (shape.tensor_store && problem.d.alignment_bytes < 16) {
    return "tensor_store=1, but the rows of D are aligned to " +
           std::to_string(problem.d.alignment_bytes) + " bytes, and TMA needs 16";
  }
  // TMA writes whole chunks of 16 bytes.
  if (shape.tensor_store && requested.n * shape.element_bytes_d % 16 != 0) {
    return "tensor_store=1, but rows of N=" + std::to_string(requested.n) + " elements are " +
           std::to_string(requested.n * shape.element_bytes_d) +
           " bytes: they must be a multiple of 16";
  }
  if (shape.tensor_store && has_long_activation(problem)) {
    return "tensor_store=1 with the activation " + std::string(name(problem.activation)) +
           " in f64: it needs the rolled loop of tensor_store=0";
  }
  if (!shape.accumulators_fit()) {
    return "the tile needs " + std::to_string(shape.accumulators()) +
           " accumulators per thread, and there is room for " +
           std::to_string(shape.most_accumulators()) + " with " +
           value("consumers", shape.consumers) + "; make the tile smaller";
  }
  return "";
}

int stages_that_fit(WgmmaShape shape, int most, const DeviceLimits& limits) {
  shape.stages = most;
  while (shape.stages > 0 && shape.shared_bytes() > limits.shared_bytes_per_block) {
    --shape.stages;
  }
  return shape.stages;
}

}  // namespace tunedgemm::internal
