#include <algorithm>
#include <bit>

#include "kernel_templates/cuda/skinny/skinny.h"

namespace tunedgemm::internal {
namespace {

constexpr int kMostColumns = 16, kLeastWarps = 4, kLeastWarpsOfClasses = 2;
/// The vectors in flight of a lane: fewer do not hide the latency of memory, more do not fit.
constexpr int kLeastVectors = 4, kMostVectors = 16;
/// Split-K makes at most this many CTAs per SM.
constexpr std::int64_t kMostCtasOnSm = 8;

/// Whether the config may be the fastest in the search.
bool worth_trying(const Problem& problem, const Config& config, const DeviceLimits& limits) {
  const SkinnyShape shape(problem, config);
  const int vectors = shape.lane_vectors();
  const int least_warps = shape.ctas_of_classes() > 1 ? kLeastWarpsOfClasses : kLeastWarps;
  if (shape.warps() < least_warps || vectors < kLeastVectors || vectors > kMostVectors) {
    return false;
  }
  // Half of the tile, or of the steps in flight, would be outside the matrix.
  const std::int64_t extent = shape.wide_extent(problem);
  if (shape.warps_l > shape.classes() && shape.block_l() >= 2 * extent) {
    return false;
  }
  const std::int64_t steps = ceil_divide(problem.k, shape.step_k());
  if (shape.warps_k > (shape.is_k_major ? 1 : shape.classes()) && steps == 1 &&
      shape.step_k() >= 2 * problem.k) {
    return false;
  }
  const std::int64_t tiles = shape.tiles(problem).tiles();
  return shape.split_k == 1 ||
         (steps / shape.split_k >= 1 && tiles * shape.split_k <= kMostCtasOnSm * limits.sm_count);
}

}  // namespace

std::vector<Config> skinny_candidates(const Problem& problem, const DeviceLimits& limits) {
  std::vector<Config> chosen;
  const bool wide_b = problem.n >= problem.m;
  const std::int64_t narrow = std::min(problem.m, problem.n);
  if (narrow > kMostColumns) {
    return chosen;
  }
  const auto exact = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(narrow)));
  const int columns = skinny_uses_tensor_cores(problem) ? std::max(exact, 8) : exact;
  for (const int warps_l : {1, 2, 4, 8, 16}) {
    for (const int warps_k : {1, 2, 4, 8, 16}) {
      for (const int unroll : {1, 2, 4, 8}) {
        for (const int split_k : kSkinnySplits) {
          Config config({{"wide_b", wide_b ? 1 : 0},
                         {"columns", columns},
                         {"unroll", unroll},
                         {"warps_l", warps_l},
                         {"warps_k", warps_k},
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

}  // namespace tunedgemm::internal
