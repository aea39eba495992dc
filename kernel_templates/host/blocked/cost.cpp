#include <algorithm>

#include "kernel_templates/base/division.h"
#include "kernel_templates/host/blocked/blocked.h"
#include "kernel_templates/host/families.h"

namespace tunedgemm::internal {
namespace {

// Cycles to widen an element while it is packed. This number, and each number below that names no
// machine, was measured on an AMD EPYC in 2026-11.
double widening_cycles(DataType type) {
  return is_fp8(type) ? 2.0 : size_bytes(type) < 4 ? 1.2 : 0.0;
}

// Cycles to pack an element of A or B. `adjacent` says whether neighbours in the packed block are
// neighbours in the matrix, too. `run` elements are read from adjacent addresses. If the matrix
// exceeds the second-level cache, every run and every byte costs more.
double packing_cycles(const Matrix& matrix, bool adjacent, double run, double matrix_bytes,
                      const DeviceLimits& limits) {
  const bool exceeds_l2 = matrix_bytes > static_cast<double>(limits.l2_bytes);
  const double memory =
      exceeds_l2 ? 14 / run + 0.25 * static_cast<double>(size_bytes(matrix.type)) : 0;
  return (adjacent ? 0.1 : 0.35) + widening_cycles(matrix.type) + memory;
}

// Cycles of one step along k of a tile, assuming two FMA units of 256 bits or one of 512, two loads
// per cycle, and an addition latency of four cycles. A panel of B that exceeds the first-level
// cache is loaded at 29 bytes per cycle. If the panel and a tile of A do not fit in that cache
// together, every step is slower (Xeon, 2 threads, 2026-11-21, 1024^3 in f32: by 4 to 8 % for all
// tiles).
double cycles_of_k(const BlockedShape& shape, const Problem& problem, const DeviceLimits& limits) {
  const double wide = shape.vector_bytes == 64 ? 1.0 : 0.5;
  const auto tile_m = static_cast<double>(shape.tile_m);
  const auto vectors = static_cast<double>(shape.vectors);
  const double integers = problem.a.type == DataType::kS8 ? 1.25 : 1;
  const double multiply = tile_m * vectors * wide * integers;
  const double loads = tile_m * 0.5 + vectors * wide;
  const std::int64_t depth = std::min<std::int64_t>(shape.block_k, problem.k);
  const std::int64_t panel_bytes = shape.tile_n() * shape.accumulator_bytes * depth;
  const double stream = panel_bytes > limits.l1_bytes ? vectors * 2.2 * wide : 0;
  const std::int64_t tile_of_a_bytes = shape.tile_m * shape.accumulator_bytes * depth;
  const double eviction = panel_bytes + tile_of_a_bytes > limits.l1_bytes ? 1.05 : 1.0;
  // The model assumes one 512-bit unit. A CPU may have two, and 256-bit vectors are then half as
  // fast. So vectors narrower than the CPU's widest get a small penalty, which breaks ties in
  // favour of the widest.
  const double half = 8 * shape.vector_bytes < limits.simd_bits ? 1.05 : 1.0;
  return eviction * half * std::max({multiply, loads, stream, 4.0});
}

}  // namespace

double blocked_us(const Problem& problem, const BlockedShape& shape, const DeviceLimits& limits) {
  const auto blocks = [](std::int64_t extent, std::int64_t block) {
    return static_cast<double>(ceil_divide(std::max<std::int64_t>(extent, 1), block));
  };
  const std::int64_t part_m = ceil_divide(ceil_divide(problem.m, shape.tile_m), shape.split_m);
  const std::int64_t part_n = ceil_divide(ceil_divide(problem.n, shape.tile_n()), shape.split_n);
  const double blocks_m = blocks(part_m, shape.tiles_m());
  const double blocks_n = blocks(part_n, shape.tiles_n());
  const double blocks_k = blocks(problem.k, shape.block_k);
  const auto depth = static_cast<double>(problem.k);
  const auto rows = static_cast<double>(part_m * shape.tile_m);
  const auto columns = static_cast<double>(part_n * shape.tile_n());

  const double bytes_a = rows * depth * static_cast<double>(size_bytes(problem.a.type));
  const double bytes_b = columns * depth * static_cast<double>(size_bytes(problem.b.type));
  const bool adjacent_a = problem.a.order == Order::kColumnMajor;
  const bool adjacent_b = problem.b.order == Order::kRowMajor;
  const double run_a = adjacent_a ? static_cast<double>(shape.tile_m) : 16;
  const double run_b = adjacent_b ? static_cast<double>(shape.tile_n()) : 16;
  const double latency_factor = shape.prefetch > 0 || !adjacent_b ? 1.0 : 1.15;
  const double packing =
      depth * (rows * packing_cycles(problem.a, adjacent_a, run_a, bytes_a, limits) *
                   (blocks_k > 1 ? blocks_n : 1) +
               columns * packing_cycles(problem.b, adjacent_b, run_b, bytes_b, limits) * blocks_m *
                   latency_factor);

  const auto accumulators = static_cast<double>(shape.tile_m * shape.tile_n());
  const auto registers = static_cast<double>(shape.tile_m * shape.vectors);
  const double tile = depth * cycles_of_k(shape, problem, limits) + (blocks_k - 1) * registers * 4 +
                      accumulators * epilogue_cycles(problem) + 30 * blocks_k;

  const std::int64_t jobs = problem.batch * shape.parts();
  const double computing =
      host_us(jobs, static_cast<double>(part_m * part_n) * tile + packing, limits);
  // A few threads cannot use all of the memory bandwidth.
  const auto threads = static_cast<double>(launch_for(jobs, limits).grid[0]);
  const double bandwidth_used = std::min(1.0, threads / std::max(1, limits.threads / 2));
  return std::max(computing, host_memory_us(minimum_bytes(problem), limits) / bandwidth_used);
}

}  // namespace tunedgemm::internal
