#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <limits>

namespace tunedgemm::internal {
namespace {

std::string value(std::string_view knob, int value) {
  return std::string(knob) + "=" + std::to_string(value);
}

std::string why_not_operands(const Problem& problem) {
  const auto is_supported = [](DataType type) {
    return traits(type).tensor_cores && type != DataType::kF64;
  };
  if (!is_supported(problem.a.type) || !is_supported(problem.b.type)) {
    return "wgmma has no instruction for " + types_text(problem);
  }
  if (problem.a.type == DataType::kF32 && problem.numerics != Numerics::kTf32) {
    return "wgmma multiplies f32 only as tf32: ask for the numerics tf32, or use another family";
  }
  constexpr std::int64_t kMostExtent = std::numeric_limits<std::int32_t>::max() - 1024;
  for (const auto& [letter, extent] :
       {std::pair("M", problem.m), {"N", problem.n}, {"K", problem.k}, {"batch", problem.batch}}) {
    if (extent > kMostExtent) {
      return std::string(letter) + "=" + std::to_string(extent) + " exceeds the " +
             std::to_string(kMostExtent) + " that TMA can address";
    }
  }
  if (problem.k == 0) {
    return "K=0 leaves nothing for TMA to load";
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
      return std::string("batch entries of ") + letter + " are " +
             std::to_string(matrix->batch_stride) + " elements apart, its lines " +
             std::to_string(matrix->leading_dimension) +
             ": TMA needs entries that follow each other";
    }
  }
  return "";
}

wgmma::Shape shape_of(const Problem& problem, const Config& config) {
  return {.block_m = config.at("block_m"),
          .block_n = config.at("block_n"),
          .block_k = config.at("block_k"),
          .stages = config.at("stages"),
          .epilogue_stages = config.at("epilogue_stages"),
          .consumers = config.at("consumers"),
          .ping_pong = config.at("ping_pong") != 0,
          .cluster_m = config.at("cluster_m"),
          .cluster_n = config.at("cluster_n"),
          .split_k = config.at("split_k"),
          .in_flight = config.at("in_flight"),
          .tensor_store = config.at("tensor_store") != 0,
          .swap_ab = config.at("swap_ab") != 0,
          .element_bytes = static_cast<int>(size_bytes(problem.a.type)),
          .element_bytes_d = static_cast<int>(size_bytes(problem.d.type)),
          .a_is_k_major = problem.a.order == Order::kRowMajor,
          .b_is_k_major = problem.b.order == Order::kColumnMajor,
          .accumulates_integers = problem.a.type == DataType::kS8,
          .promotes = problem.numerics == Numerics::kPromoted,
          .reads_c = problem.beta != ScalarClass::kZero,
          .reads_bias = problem.bias != Bias::kNone};
}

}  // namespace

Problem problem_of_kernel(const Problem& problem, const Config& config) {
  return config.at("swap_ab") != 0 ? transposed(problem) : problem;
}

WgmmaShape::WgmmaShape(const Problem& problem, const Config& config)
    : Shape(shape_of(problem, config)),
      group_m(config.at("group_m")),
      raster_along_n(config.at("raster_along_n") != 0),
      gpc_aware(config.at("gpc_aware") != 0) {}

Tiling WgmmaShape::clusters(const Problem& problem) const {
  return tiling(problem, block_m * cluster_m, block_n * cluster_n, split_k);
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

std::string why_not_wgmma(const Problem& requested, const WgmmaShape& shape) {
  if (std::string why = why_not_operands(requested); !why.empty()) {
    return why;
  }
  const Problem problem = shape.swap_ab ? transposed(requested) : requested;
  if (!shape.cluster_fits()) {
    return value("cluster_m", shape.cluster_m) + " and " + value("cluster_n", shape.cluster_n) +
           ": a cluster has at most 4 CTAs";
  }
  if (shape.block_n % shape.width_step() != 0) {
    return value("block_n", shape.block_n) +
           (shape.width_step() == wgmma::kWidthStep
                ? ": it must be a multiple of "
                : ": s8, and an 8-bit B that is not K-major, need a multiple of ") +
           std::to_string(shape.width_step());
  }
  if (!shape.multicast_fits()) {
    return value("block_n", shape.block_n) + " and " + value("cluster_m", shape.cluster_m) +
           ": each CTA must load a multiple of 8 columns of B";
  }
  if (!shape.ping_pong_fits()) {
    return value("consumers", shape.consumers) + ": ping_pong=1 needs two";
  }
  if (!shape.rows_fit()) {
    return value("block_m", shape.block_m) + " and " + value("consumers", shape.consumers) +
           ": block_m must be 64 rows for each consumer, or a multiple of that";
  }
  const std::string bytes_along_k = std::to_string(shape.bytes_along_k());
  if (!shape.block_k_fits()) {
    return value("block_k", shape.block_k) + " is " + bytes_along_k +
           " bytes: it must be 128 or 256";
  }
  if (!shape.block_k_fits_order()) {
    return value("block_k", shape.block_k) + " is " + bytes_along_k +
           " bytes: operands of 8 or 32 bits that are not K-major (layout " +
           layout_text(requested) + ") need 128";
  }
  if (!shape.in_flight_fits_registers()) {
    return value("in_flight", shape.in_flight) +
           ": an A of 32 bits that is not K-major needs in_flight=1";
  }
  if (!shape.in_flight_fits_promotion()) {
    return value("in_flight", shape.in_flight) + ": promoted accumulation needs in_flight=0";
  }
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
  if (!shape.epilogue_stages_fit()) {
    return "epilogue_stages=1 needs tensor_store=1: threads store longer lines";
  }
  if (!shape.swap_fits()) {
    return "swap_ab=1 needs tensor_store=1";
  }
  if (shape.tensor_store && traits(problem.activation).is_long) {
    return "tensor_store=1 with the activation " + std::string(name(problem.activation)) +
           ": long activations need the rolled loop of tensor_store=0";
  }
  if (!shape.accumulators_fit()) {
    return "the tile needs " + std::to_string(shape.accumulators()) +
           " accumulators per thread, and there is room for " +
           std::to_string(shape.most_accumulators()) + " with " +
           value("consumers", shape.consumers) + "; make the tile smaller";
  }
  return "";
}

int stages_that_fit(const WgmmaShape& shape, int most, const DeviceLimits& limits) {
  const std::int64_t other_bytes = shape.shared_bytes() - shape.stages * shape.stage_bytes();
  const std::int64_t fit = (limits.shared_bytes_per_block - other_bytes) / shape.stage_bytes();
  return static_cast<int>(std::min<std::int64_t>(fit, most));
}

}  // namespace tunedgemm::internal
