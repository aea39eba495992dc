#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/sm90/candidates.h"
#include "kernel_templates/cuda/sm90/cost.h"
#include "kernel_templates/cuda/sm90/gpc_cluster_ranges.h"
#include "kernel_templates/cuda/sm90/wgmma_numbers.h"
#include "kernel_templates/families.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

constexpr int kArch = 90;
constexpr int kRevision = 10;  // 10: consumers that store and multiply at the same time

class Wgmma final : public CudaFamily {
 public:
  Wgmma()
      : CudaFamily(
            "wgmma", "cuda/sm90/kernel.cu",
            {{"block_m", {64, 128, 192, 256}, "rows of a tile of D", Knob::kTile},
             {"block_n", in_steps(kLeastWgmmaWidth, kMostWgmmaWidth, kWgmmaWidthStep),
              "columns of it", Knob::kTile},
             {"block_k", {32, 64, 128, 256}, "a tile along K", Knob::kTile},
             {"stages",
              {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, kMostWgmmaStages},
              "tiles in shared memory at a time"},
             {"epilogue_stages",
              {1, 2},
              "places in shared memory where a warp prepares what it stores",
              Knob::kTile},
             {"consumers", {1, 2, 3}, "warpgroups that multiply", Knob::kTile},
             {"ping_pong", {0, 1}, "1: they take tiles in turn", Knob::kTile},
             {"cluster_m", {1, 2, 4}, "blocks below each other that share B"},
             {"cluster_n", {1, 2, 4}, "blocks beside each other that share A"},
             {"group_m", {1, 2, 4, 8, 16, 32}, "rows of tiles that walk together"},
             {"raster_along_n", {0, 1}, "1: columns that walk together"},
             {"gpc_aware", {0, 1}, "1: neighbouring tiles go to multiprocessors of one GPC"},
             {"evict_first", {0, 1}, "1: D and what walks past leave the L2 cache first"},
             {"split_k", in_steps(1, kMostWgmmaSplits), "parts of K that are computed apart"},
             {"in_flight", {0, 1}, "tiles along K that are multiplied ahead"},
             {"tensor_store", {0, 1}, "1: D leaves by tensor copies"},
             {"swap_ab", {0, 1}, "1: D's transpose is computed, from B and A", Knob::kTile},
             {"prefetch", {0, 1, 2, 4, 8, 16}, "tiles along K that come into the L2 cache early"}},
            kRevision) {}

  Instantiation instantiate(const Problem& asked, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits, kArch); !why.empty()) {
      return why;
    }
    if (limits.arch != kArch) {
      return "compute capability " + std::to_string(limits.arch / 10) + "." +
             std::to_string(limits.arch % 10) + " does not have the instructions of 9.0a";
    }
    const Problem problem = told_to_wgmma(asked, config);
    const WgmmaNumbers numbers(problem, config);
    if (std::string why = why_not_wgmma(asked, numbers); !why.empty()) {
      return why;
    }
    if (std::string why = why_not_launch(problem, numbers, limits); !why.empty()) {
      return why;
    }
    Instance instance = begin_instance(asked, config);
    instance.launch = launch(problem, numbers, limits);
    instance.predicted_us = wgmma_us(problem, numbers, limits);
    instance.defines = {{"SLICE_COLUMNS", std::to_string(numbers.columns_of_slice())}};
    instance.needs_exact_architecture = true;
    return instance;
  }

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    return wgmma_candidates(problem, limits);
  }

 private:
  static std::string why_not_launch(const Problem& problem, const WgmmaNumbers& numbers,
                                    const DeviceLimits& limits) {
    constexpr int kRegistersAtStart = 0;  // what a launch takes; setmaxnreg deals them out
    if (std::string why =
            why_not_block(numbers.threads(), kRegistersAtStart, numbers.shared_bytes(), limits);
        !why.empty()) {
      return why;
    }
    if (std::string why = why_not_tiling(problem, numbers.clusters(problem), numbers.block_k,
                                         numbers.partial_tile_bytes(), limits);
        !why.empty()) {
      return why;
    }
    // The kernel counts works with an int, and adds the number of blocks.
    const std::int64_t works = numbers.clusters(problem).blocks().value_or(kMaxGridX);
    if (works > kMaxGridX - limits.sm_count) {
      return std::to_string(works) + " tiles are more than the " +
             std::to_string(kMaxGridX - limits.sm_count) + " of a grid; make the tile larger";
    }
    return numbers.split_k == 1
               ? ""
               : why_not_tiling(problem, numbers.partial_tiles(problem), numbers.block_k,
                                numbers.partial_tile_bytes(), limits);
  }

  static Launch launch(const Problem& problem, const WgmmaNumbers& numbers,
                       const DeviceLimits& limits) {
    const std::int64_t grid = numbers.grid(problem, limits);
    const std::int64_t clusters = grid / numbers.cluster();
    const bool asks = numbers.gpc_aware && !limits.gpc_of_sm.empty() && clusters <= kMostSms;
    return {.grid = {static_cast<std::uint32_t>(grid), 1, 1},
            .block = {static_cast<std::uint32_t>(numbers.threads()), 1, 1},
            .shared_bytes = static_cast<std::uint32_t>(numbers.shared_bytes()),
            .workspace_bytes = std::max(
                split_workspace_bytes(numbers.partial_tiles(problem), numbers.partial_tile_bytes()),
                asks ? kWorkspaceCounterBytes : 0),
            .workspace_is_optional = asks && numbers.split_k == 1,
            .dependent = true,
            .swaps_operands = numbers.swap_ab,
            .tensor_maps = {map_of_a(problem, numbers), map_of_b(problem, numbers),
                            map_of_d(problem, numbers)},
            .gpc_cluster_ranges =
                asks ? gpc_cluster_ranges(static_cast<int>(clusters), numbers.cluster(), limits)
                     : GpcClusterRanges{}};
  }

 private:
  /// `extent` rows (of A) or columns (of B), `block` of them a tile, which so many blocks share.
  static TensorMap map_of_operand(TensorMap::Operand operand, const Matrix& matrix,
                                  bool lines_follow_k, std::int64_t extent, int block, int sharers,
                                  const Problem& problem, const WgmmaNumbers& numbers) {
    const int lines = (lines_follow_k ? block : numbers.block_k) / sharers;
    const std::int64_t length = lines_follow_k ? problem.k : extent;
    const std::int64_t count = lines_follow_k ? extent : problem.k;
    return tensor_map(operand, matrix, {length, count},
                      {kWgmmaLineBytes / numbers.element_bytes, lines}, kWgmmaLineBytes,
                      problem.batch);
  }
  static TensorMap tensor_map(TensorMap::Operand operand, const Matrix& matrix,
                              std::array<std::int64_t, 2> extent, std::array<int, 2> box, int span,
                              std::int64_t batch) {
    const std::int64_t line_stride = matrix.leading_dimension * size_bytes(matrix.type);
    const bool one_entry = batch == 1 || matrix.batch_stride == 0;
    return {
        .operand = operand,
        .type = matrix.type,
        .extent = {extent[0], extent[1], one_entry ? 1 : batch},
        .stride_bytes = {line_stride,
                         one_entry ? line_stride : matrix.batch_stride * size_bytes(matrix.type)},
        .box = box,
        .span_bytes = span};
  }
  static TensorMap map_of_a(const Problem& problem, const WgmmaNumbers& numbers) {
    return map_of_operand(TensorMap::Operand::kA, problem.a, problem.a.order == Order::kRowMajor,
                          problem.m, numbers.block_m, numbers.cluster_n, problem, numbers);
  }
  static TensorMap map_of_b(const Problem& problem, const WgmmaNumbers& numbers) {
    return map_of_operand(TensorMap::Operand::kB, problem.b, problem.b.order == Order::kColumnMajor,
                          problem.n, numbers.block_n, numbers.cluster_m, problem, numbers);
  }
  static TensorMap map_of_d(const Problem& problem, const WgmmaNumbers& numbers) {
    if (!numbers.tensor_store) {
      return {};
    }
    if (numbers.swap_ab) {
      constexpr int kLinesOfCopy = 16;
      return tensor_map(TensorMap::Operand::kD, problem.d, {problem.m, problem.n},
                        {kWgmmaLineBytes / numbers.element_bytes_d, kLinesOfCopy}, kWgmmaLineBytes,
                        problem.batch);
    }
    const int row_bytes = numbers.columns_of_copies() * numbers.element_bytes_d;
    const int span = row_bytes % 128 == 0 ? 128 : row_bytes % 64 == 0 ? 64 : 32;
    constexpr int kRowsOfWarp = 16;
    return tensor_map(TensorMap::Operand::kD, problem.d, {problem.n, problem.m},
                      {span / numbers.element_bytes_d, kRowsOfWarp}, span, problem.batch);
  }
};

}  // namespace

const Family& wgmma_family() {
  static const Wgmma family;
  return family;
}

}  // namespace tunedgemm
