#include <algorithm>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/wgmma/wgmma.h"

namespace tunedgemm::internal {
namespace {

static_assert(kClaimCounterBytes <= kFamilyCounterBytes);

struct LegalValues {
  std::vector<int> values;
  Knob::Role role = Knob::kVariant;
};
struct LegalValuesOfKnobs {
#define WGMMA_LEGAL(type, name, macro, value, meaning) LegalValues name;
  WGMMA_KNOBS(WGMMA_LEGAL, WGMMA_LEGAL)
#undef WGMMA_LEGAL
};

std::vector<Knob> wgmma_knobs() {
  const LegalValuesOfKnobs legal{
      .block_m = {{64, 128, 192, 256}, Knob::kTile},
      .block_n = {in_steps(wgmma::kLeastWidth, wgmma::kMostWidth, wgmma::kWidthStep), Knob::kTile},
      .block_k = {{16, 32, 64, 128, 256}, Knob::kTile},
      .stages = {in_steps(2, wgmma::kMostStages)},
      .epilogue_stages = {{1, 2}, Knob::kTile},
      .consumers = {{1, 2, 3}, Knob::kTile},
      .ping_pong = {{0, 1}, Knob::kTile},
      .cluster_m = {{1, 2, 4}},
      .cluster_n = {{1, 2, 4}},
      .group_m = {{1, 2, 4, 8, 16, 32}},
      .raster_along_n = {{0, 1}},
      .gpc_aware = {{0, 1}},
      .evict_first = {{0, 1, 2}},
      .split_k = {in_steps(1, wgmma::kMostSplitK)},
      .in_flight = {{0, 1}},
      .tensor_store = {{0, 1}},
      .programmatic = {{1, 0}, Knob::kLaunch},
      .swap_ab = {{0, 1}, Knob::kTile},
      .prefetch = {{0, 1, 2, 4, 8, 16}}};
#define WGMMA_KNOB(type, name, macro, value, meaning) \
  {#name, legal.name.values, meaning, legal.name.role},
  return {WGMMA_KNOBS(WGMMA_KNOB, WGMMA_KNOB)};
#undef WGMMA_KNOB
}

class Wgmma final : public CudaFamily {
 public:
  Wgmma() : CudaFamily("wgmma", "cuda/wgmma/kernel.cu", wgmma_knobs()) {}

  bool computes_groups() const override { return true; }

  Instantiation make_instance(const Problem& requested, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits, kWgmmaArch); !why.empty()) {
      return why;
    }
    if (limits.arch != kWgmmaArch) {
      return "compute capability " + std::to_string(limits.arch / 10) + "." +
             std::to_string(limits.arch % 10) + " does not have the instructions of 9.0a";
    }
    const Problem problem = problem_of_kernel(requested, config);
    const WgmmaShape shape(problem, config);
    if (std::string why = why_not_wgmma(requested, shape); !why.empty()) {
      return why;
    }
    const Tiling clusters =
        shape.groups > 0 ? shape.most_clusters(requested) : shape.clusters(problem);
    if (std::string why = why_not_launch(problem, shape, clusters, limits); !why.empty()) {
      return why;
    }
    Instance instance = begin_instance(requested, config);
    instance.launch = launch(problem, shape, clusters, limits);
    if (shape.groups > 0) {
      instance.defines.emplace_back("GROUPS", std::to_string(shape.groups));
    }
    if (shape.programmatic) {
      instance.launch.programmatic = problem.launch_regime == LaunchRegime::kBackToBack
                                         ? ProgrammaticLaunch::kAlways
                                         : ProgrammaticLaunch::kAfterOwn;
    }
    instance.predicted_us =
        padding_us(problem, limits) + predicted_us(requested, [&](const Problem& batch) {
          return wgmma_us(padded(problem_of_kernel(batch, config)), shape, limits);
        });
    instance.needs_exact_architecture = true;
    instance.lacks_probe = shape.gpc_aware && limits.gpc_of_sm.empty();
    return instance;
  }

  AccumulationClass accumulation_class(const Problem& problem,
                                       const DeviceLimits& limits) const override {
    if (limits.arch != kWgmmaArch || !why_not_wgmma_types(problem).empty()) {
      return AccumulationClass::kNone;
    }
    const DataType type = problem.a.type;
    const bool as_mma = type != DataType::kF32 && type != DataType::kF64 && !is_fp8(type);
    return as_mma ? AccumulationClass::kMma : AccumulationClass::kWgmma;
  }

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    return wgmma_candidates(problem, limits);
  }

 private:
  static std::string why_not_launch(const Problem& problem, const WgmmaShape& shape,
                                    const Tiling& clusters, const DeviceLimits& limits) {
    constexpr int kNoRegisterCheck = 0;  // setmaxnreg redistributes what the launch allocates
    if (std::string why =
            why_not_block(shape.threads(), kNoRegisterCheck, shape.shared_bytes(), limits);
        !why.empty()) {
      return why;
    }
    if (std::string why =
            why_not_tiling(problem, clusters, shape.block_k, shape.partial_tile_bytes(), limits);
        !why.empty()) {
      return why;
    }
    // The kernel adds the number of clusters in the grid to its work tile index, which is an int.
    const std::int64_t work_tiles = clusters.blocks().value_or(kMaxGridX);
    if (limits.most_ctas > 0 && shape.cluster_size() > 1) {
      return "a cluster needs neighbouring SMs, and with an sm_limit others may hold them";
    }
    if (work_tiles > kMaxGridX - limits.sm_count) {
      return std::to_string(work_tiles) + " work tiles exceed the " +
             std::to_string(kMaxGridX - limits.sm_count) +
             " that the kernel can count; make the tile larger";
    }
    if (std::string why = why_not_padding(problem, limits); !why.empty()) {
      return why;
    }
    return shape.split_k == 1 ? ""
                              : why_not_tiling(problem, shape.partial_tiles(problem), shape.block_k,
                                               shape.partial_tile_bytes(), limits);
  }

  static Launch launch(const Problem& problem, const WgmmaShape& shape, const Tiling& work_tiles,
                       const DeviceLimits& limits) {
    const std::int64_t clusters =
        shape.groups > 0
            ? std::min(work_tiles.blocks().value_or(kMaxGridX), shape.clusters_of_wave(limits))
            : shape.grid(problem, limits) / shape.cluster_size();
    const std::int64_t grid = clusters * shape.cluster_size();
    const bool claims = shape.gpc_aware && ranges_fit(limits) && clusters <= kMostSms;
    const bool is_padded = needs_padding(problem);
    const std::int64_t unpadded_bytes =
        std::max(split_workspace_bytes(shape.partial_tiles(problem), shape.partial_tile_bytes()),
                 claims || is_padded ? kWorkspaceCounterBytes : 0);
    const OperandPadding padding = operand_padding(problem, unpadded_bytes);
    const Problem in_copies = padded(problem);
    Launch launch{
        .grid = {static_cast<std::uint32_t>(grid), 1, 1},
        .block = {static_cast<std::uint32_t>(shape.threads()), 1, 1},
        .shared_bytes = static_cast<std::uint32_t>(shape.shared_bytes()),
        .workspace_bytes = padding_end(problem, unpadded_bytes),
        .workspace_is_optional = claims && shape.split_k == 1 && !is_padded,
        .swaps_operands = shape.swap_ab,
        .triggers_next = true,
        .tensor_map_count = 3,
        .tensor_maps = {map_of_a(in_copies, shape), map_of_b(in_copies, shape),
                        map_of_d(problem, shape)},
        .parameters = ParameterBytes(
            claims ? gpc_cluster_ranges(static_cast<int>(clusters), shape.cluster_size(), limits)
                   : GpcClusterRanges{})};
    if (is_padded) {
      launch.prologue = {.entry = "tunedgemm_wgmma_pad",
                         .grid = padding_grid(problem, limits),
                         .block = kPaddingThreads,
                         .parameters = ParameterBytes(padding)};
    }
    launch.tensor_maps[0].workspace_offset = padding.offset_a;
    launch.tensor_maps[1].workspace_offset = padding.offset_b;
    return launch;
  }

  /// The map of an operand with `extent` rows of A (columns of B). A tile has `block` of these
  /// rows; `multicast` CTAs share the tile.
  static TensorMap map_of_operand(TensorMap::Operand operand, const Matrix& matrix, bool is_k_major,
                                  std::int64_t extent, int block, int multicast,
                                  const Problem& problem, const WgmmaShape& shape) {
    const int rows = (is_k_major ? block : shape.block_k) / multicast;
    const std::int64_t length = is_k_major ? problem.k : extent;
    const std::int64_t count = is_k_major ? extent : problem.k;
    TensorMap map = tensor_map(operand, matrix, {length, count},
                               {wgmma::kSwizzleBytes / shape.element_bytes, rows},
                               wgmma::kSwizzleBytes, problem.batch);
    map.is_ragged = shares_depth(problem);
    return map;
  }
  static TensorMap tensor_map(TensorMap::Operand operand, const Matrix& matrix,
                              std::array<std::int64_t, 2> extent, std::array<int, 2> box, int span,
                              std::int64_t batch) {
    const std::int64_t row_stride = matrix.leading_dimension * size_bytes(matrix.type);
    const bool one_matrix = batch == 1 || matrix.batch_stride == 0;
    return {
        .operand = operand,
        .type = matrix.type,
        .extent = {extent[0], extent[1], one_matrix ? 1 : batch},
        .stride_bytes = {row_stride,
                         one_matrix ? row_stride : matrix.batch_stride * size_bytes(matrix.type)},
        .box = box,
        .span_bytes = span};
  }
  static TensorMap map_of_a(const Problem& problem, const WgmmaShape& shape) {
    return map_of_operand(TensorMap::Operand::kA, problem.a, problem.a.order == Order::kRowMajor,
                          problem.m, shape.block_m, shape.cluster_n, problem, shape);
  }
  static TensorMap map_of_b(const Problem& problem, const WgmmaShape& shape) {
    return map_of_operand(TensorMap::Operand::kB, problem.b, problem.b.order == Order::kColumnMajor,
                          problem.n, shape.block_n, shape.cluster_m, problem, shape);
  }
  static TensorMap map_of_d(const Problem& problem, const WgmmaShape& shape) {
    if (!shape.tensor_store) {
      return {};
    }
    const int row_bytes = shape.epilogue_row_bytes();
    const auto& [length, lines] =
        shape.swap_ab ? std::array{problem.m, problem.n} : std::array{problem.n, problem.m};
    TensorMap map = tensor_map(TensorMap::Operand::kD, problem.d, {length, lines},
                               {row_bytes / shape.element_bytes_d, wgmma::kEpilogueRows}, row_bytes,
                               problem.batch);
    if (shape.groups > 0) {
      map.is_ragged = true;
      map.extent[1] += (problem.batch - 1) * problem.d.batch_stride / problem.d.leading_dimension;
    }
    return map;
  }
};

}  // namespace

const Family& wgmma_family() {
  static const Wgmma family;
  return family;
}

}  // namespace tunedgemm::internal
