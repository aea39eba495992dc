#include "kernel_templates/cuda/geometry.h"

#include <algorithm>

#include "kernel_templates/cuda/gpu_facts.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kCounterBytes = 4;
constexpr int kWarp = 32;
constexpr int kSmPartitions = 4;
constexpr int kRegisterGranularity = 8;  // registers per thread are allocated in multiples of this
constexpr int kMaxBlocksPerSm = 16;      // the minimum of all supported architectures
constexpr std::int64_t kSystemSharedBytesPerBlock = 1024;
constexpr int kMaxRegistersPerThread = 255;

}  // namespace

std::optional<std::int64_t> Tiling::blocks() const {
  std::int64_t product = 1;
  for (const std::int64_t factor : {tiles_m, tiles_n, batch, split_k}) {
    if (factor > kMaxGridX / product) {
      return std::nullopt;
    }
    product *= factor;
  }
  return product;
}

Tiling tiling(const Problem& problem, int block_m, int block_n, int split_k) {
  return {most_tile_rows(problem.group_kind, problem.batch, problem.m, block_m),
          ceil_divide(problem.n, block_n), groups_rows(problem) ? 1 : problem.batch, split_k};
}

std::int64_t split_workspace_bytes(const Tiling& tiling, std::int64_t partial_tile_bytes) {
  return tiling.split_k == 1
             ? 0
             : kWorkspaceCounterBytes + tiling.tiles() * tiling.split_k * partial_tile_bytes;
}

std::string why_not_cuda(const DeviceLimits& limits, int least_arch) {
  if (limits.backend != "cuda") {
    return "this family runs on CUDA devices only";
  }
  if (limits.arch < least_arch) {
    return "compute capability " + std::to_string(limits.arch / 10) + "." +
           std::to_string(limits.arch % 10) + " is less than the " +
           std::to_string(least_arch / 10) + "." + std::to_string(least_arch % 10) +
           " that this config needs";
  }
  return "";
}

std::string why_not_block(int threads, int registers_per_thread, std::int64_t shared_bytes,
                          const DeviceLimits& limits) {
  if (threads > limits.max_threads_per_block) {
    return "a CTA of " + std::to_string(threads) + " threads exceeds the device's limit of " +
           std::to_string(limits.max_threads_per_block);
  }
  if (registers_per_thread > kMaxRegistersPerThread) {
    return "about " + std::to_string(registers_per_thread) +
           " registers per thread exceed the limit of 255; make the thread's tile smaller";
  }
  const int registers = static_cast<int>(round_up(registers_per_thread, kRegisterGranularity));
  if (threads * registers > limits.registers_per_sm) {
    return std::to_string(threads) + " threads with about " + std::to_string(registers) +
           " registers each exceed the " + std::to_string(limits.registers_per_sm) +
           " of an SM; make the tile of a thread or of a CTA smaller";
  }
  if (shared_bytes > limits.shared_bytes_per_block) {
    return std::to_string(shared_bytes) + " bytes of shared memory exceed the " +
           std::to_string(limits.shared_bytes_per_block) +
           " of a CTA; make the tile smaller or the stages fewer";
  }
  return "";
}

std::string why_not_tiling(const Problem& problem, const Tiling& tiling, int block_k,
                           std::int64_t partial_tile_bytes, const DeviceLimits& limits) {
  if (!tiling.blocks()) {
    return std::to_string(tiling.tiles_m) + " x " + std::to_string(tiling.tiles_n) +
           " tiles, a batch of " + std::to_string(tiling.batch) +
           " and split_k=" + std::to_string(tiling.split_k) +
           " make more CTAs than the 2147483647 of a grid; make the tile larger";
  }
  if (tiling.split_k == 1) {
    return "";
  }
  if (tiling.split_k > ceil_divide(problem.k, block_k)) {
    return "split_k=" + std::to_string(tiling.split_k) +
           " leaves slices empty: K=" + std::to_string(problem.k) + " has only " +
           std::to_string(ceil_divide(problem.k, block_k)) +
           " tiles of block_k=" + std::to_string(block_k);
  }
  constexpr std::int64_t kCounters = (kWorkspaceCounterBytes - kFamilyCounterBytes) / kCounterBytes;
  if (tiling.tiles() > kCounters) {
    return "split_k=" + std::to_string(tiling.split_k) + " needs a counter for each of " +
           std::to_string(tiling.tiles()) + " tiles, and the workspace has " +
           std::to_string(kCounters);
  }
  const std::int64_t bytes = split_workspace_bytes(tiling, partial_tile_bytes);
  if (bytes > limits.memory_bytes / 4) {
    return "split_k=" + std::to_string(tiling.split_k) + " needs a workspace of " +
           std::to_string(bytes) + " bytes, more than a quarter of the device's memory";
  }
  return "";
}

std::int64_t ctas_for(std::int64_t work_tiles, const DeviceLimits& limits) {
  return limits.most_ctas > 0 ? std::min(work_tiles, limits.most_ctas) : work_tiles;
}

Launch tiled_launch(int threads, std::int64_t shared_bytes, const Tiling& tiling,
                    std::int64_t partial_tile_bytes, const DeviceLimits& limits) {
  return {.grid = {static_cast<std::uint32_t>(ctas_for(tiling.blocks().value_or(0), limits)), 1, 1},
          .block = {static_cast<std::uint32_t>(threads), 1, 1},
          .shared_bytes = static_cast<std::uint32_t>(shared_bytes),
          .workspace_bytes = split_workspace_bytes(tiling, partial_tile_bytes)};
}

int blocks_per_sm(int threads, int registers_per_thread, std::int64_t shared_bytes,
                  const DeviceLimits& limits) {
  if (limits.most_ctas > 0) {
    return 1;
  }
  // Each of the four SM partitions has its own registers and runs whole warps.
  const std::int64_t registers = round_up(registers_per_thread, kRegisterGranularity) * kWarp;
  const std::int64_t warps = limits.registers_per_sm / kSmPartitions / registers * kSmPartitions;
  const std::int64_t by_registers = warps / ceil_divide(threads, kWarp);
  const std::int64_t by_threads = limits.max_threads_per_sm / round_up(threads, kWarp);
  const std::int64_t by_shared =
      limits.shared_bytes_per_sm / (shared_bytes + kSystemSharedBytesPerBlock);
  const std::int64_t most = std::min({by_registers, by_threads, by_shared});
  return static_cast<int>(std::clamp<std::int64_t>(most, 1, kMaxBlocksPerSm));
}

double multiply_adds_per_cycle(DataType accumulator, int arch) {
  const GpuFacts& facts = gpu_facts(arch);
  return accumulator == DataType::kF64   ? facts.cuda_f64
         : accumulator == DataType::kS32 ? facts.cuda_s32
                                         : facts.cuda_f32;
}

double memory_us(double bytes, const DeviceLimits& limits) {
  const double gb_per_s =
      limits.memory_gb_per_s > 0 ? limits.memory_gb_per_s : gpu_facts(limits.arch).memory_gb_per_s;
  return bytes / (gb_per_s * 1e3);
}

double cycles_us(double cycles, const DeviceLimits& limits) {
  const double ghz = limits.clock_ghz > 0 ? limits.clock_ghz : gpu_facts(limits.arch).clock_ghz;
  return cycles / (ghz * 1e3);
}

double predicted_us(const Problem& problem,
                    const std::function<double(const Problem&)>& us_of_batch) {
  const double equal = us_of_batch(batch_of_equal_groups(problem));
  if (!groups_rows(problem) || problem.batch < 2) {
    return equal;
  }
  const auto [large, small] = batches_of_skewed_groups(problem);
  return equal + (us_of_batch(large) + us_of_batch(small) - equal) / kSkewedTurn;
}

double cycles_of_waves(std::int64_t blocks, int resident, const DeviceLimits& limits,
                       const std::function<double(double)>& cycles_of) {
  const std::int64_t on_busiest = ceil_divide(blocks, std::max(limits.sm_count, 1));
  const std::int64_t waves = on_busiest / resident;
  const std::int64_t remainder = on_busiest % resident;
  return static_cast<double>(waves) * cycles_of(resident) +
         (remainder > 0 ? cycles_of(static_cast<double>(remainder)) : 0);
}

}  // namespace tunedgemm::internal
