#include "kernel_templates/cuda/mma/cost.h"

#include <algorithm>

#include "kernel_templates/cuda/gpu_facts.h"

namespace tunedgemm {
namespace {

constexpr int kOtherRegisters = 50;
constexpr int kMaxRegistersPerThread = 255;
constexpr int kElementsInFlight = 8;  // of a copy that goes through registers: mma/tile.cuh
constexpr std::int64_t kTileRows = 16, kTilePadding = 8;  // the sums on their way out: mma.cu

// An SM, in bytes a cycle.
constexpr double kSharedBytesPerCycle = 128;
constexpr double kL2BytesPerCycle = 28;       // when all of them ask
constexpr double kL2BytesPerCycleAlone = 50;  // when few do
// In cycles.
constexpr double kLatencyOfTile = 900;     // from asking for a tile to having it
constexpr double kBarrierOfTile = 90;      // and the fragments of its first step
constexpr double kBarrierOfLongTile = 10;  // of f64: the products of other warps fill the gap
constexpr double kStartOfBlock = 1300;     // its first tile
constexpr double kMeetingOfParts = 2500;

bool is_fp8_native(int arch) {
  return arch == 89 || arch >= 120;
}

// Multiply-adds that mma.sync does in a cycle of an SM.
double multiply_adds(const Problem& problem, Products how, int arch) {
  const GpuFacts& facts = gpu_facts(arch);
  if (problem.a.type == DataType::kF64) {
    return facts.mma_sync_f64;
  }
  const double rate = facts.mma_sync_f16;
  switch (how) {
    case Products::kTf32:
      return rate / 2;
    case Products::kEmulated:
      return rate / 6;
    case Products::kWidened:
      return rate;
    case Products::kAsTheyAre:
      break;
  }
  return size_bytes(problem.a.type) == 1 ? 2 * rate : rate;
}

// Instructions that bring a tile of an operand into shared memory, for all threads together.
double instructions_of_copy(int alignment, double bytes, int element_bytes) {
  constexpr double kOfOneCopy = 10;
  const bool asynchronous = alignment >= 4;
  const double copies = bytes / (asynchronous ? alignment : kElementsInFlight * element_bytes);
  return copies * (asynchronous ? kOfOneCopy : kOfOneCopy + 4 * kElementsInFlight);
}

// A tile along K of one block on an SM that it shares: the longest of what its products,
// its instructions, its shared memory and its reading take.
double cycles_of_tile(const Problem& problem, const MmaNumbers& numbers, double l2_rate,
                      const DeviceLimits& limits) {
  const Products how = products(problem, limits);
  const double tile = static_cast<double>(numbers.block_m) * numbers.block_n * numbers.block_k;
  const double bytes_of_k = static_cast<double>(numbers.block_k) * numbers.element_bytes;
  const double bytes_a = numbers.block_m * bytes_of_k, bytes_b = numbers.block_n * bytes_of_k;

  const double tensor = tile / multiply_adds(problem, how, limits.arch);
  const double fragment_bytes = numbers.warps() * (numbers.warp_m + numbers.warp_n) * bytes_of_k;
  const double shared = (fragment_bytes + bytes_a + bytes_b) / kSharedBytesPerCycle;
  const double l2 = (bytes_a + bytes_b) / l2_rate;

  // An instruction multiplies 16 x 8 sums by 32 bytes of k; four schedulers start one in a cycle.
  const double instructions_of_products =
      tile * numbers.element_bytes / (16 * 8 * 32) * (how == Products::kEmulated ? 5 : 1);
  const double converted = how == Products::kAsTheyAre ? 0 : fragment_bytes / 128 * 4;
  const double copied =
      (instructions_of_copy(numbers.alignment_a, bytes_a, numbers.element_bytes) +
       instructions_of_copy(numbers.alignment_b, bytes_b, numbers.element_bytes)) /
      32;
  const double loaded = fragment_bytes / 512 * 2;
  const double issue = (instructions_of_products + converted + copied + loaded) / 4;
  // They run side by side, but never perfectly; least of all where a warp reads its next fragments
  // only when it has multiplied the last ones (f64 4096^3, H200, 2026-11-22: 2318 us with 8 warps
  // of 32 x 32, 2505 with 4 of 64 x 32, which have no room for two steps' fragments).
  const bool in_turn = problem.a.type == DataType::kF64 && !numbers.has_two_buffers(how);
  return std::max({tensor, issue, shared, l2}) + (tensor + issue + shared + l2) / 20 +
         (in_turn ? shared / 3 : 0);
}

// What is read from memory when blocks that run at the same time share what they read, and the next
// ones find little of it in the cache.
double bytes_read(const Problem& problem, const MmaNumbers& numbers, double side_by_side) {
  const Tiling blocks = numbers.tiles(problem);
  const auto tiles_m = static_cast<double>(blocks.tiles_m);
  const auto tiles_n = static_cast<double>(blocks.tiles_n);
  const double at_a_time = std::clamp(side_by_side / numbers.split_k, 1.0, tiles_m * tiles_n);
  const double columns = std::min(tiles_n, at_a_time / std::min<double>(numbers.group_m, tiles_m));
  const double rows = std::min(tiles_m, at_a_time / columns);
  const double row_bytes = static_cast<double>(problem.k) * numbers.element_bytes;
  return tiles_m * tiles_n / at_a_time * static_cast<double>(problem.batch) * row_bytes *
         (rows * numbers.block_m + columns * numbers.block_n);
}

}  // namespace

Products products(const Problem& problem, const DeviceLimits& limits) {
  if (problem.a.type == DataType::kF32) {
    return problem.numerics == Numerics::kEmulated ? Products::kEmulated : Products::kTf32;
  }
  const bool as_it_is = is_fp8_native(limits.arch) && problem.numerics == Numerics::kFast;
  return is_fp8(problem.a.type) && !as_it_is ? Products::kWidened : Products::kAsTheyAre;
}

MmaNumbers::MmaNumbers(const Problem& problem, const Config& config)
    : block_m(config.at("block_m")),
      block_n(config.at("block_n")),
      block_k(config.at("block_k")),
      warp_m(config.at("warp_m")),
      warp_n(config.at("warp_n")),
      stages(config.at("stages")),
      group_m(config.at("group_m")),
      split_k(config.at("split_k")),
      element_bytes(static_cast<int>(size_bytes(problem.a.type))),
      sum_bytes(static_cast<int>(size_bytes(accumulator(problem.a.type, problem.b.type)))),
      step_bytes(element_bytes == 8 || problem.numerics == Numerics::kEmulated ? 64 : 32),
      alignment_a(problem.a.alignment_bytes),
      alignment_b(problem.b.alignment_bytes) {}

std::int64_t MmaNumbers::shared_bytes() const {
  const std::int64_t ring =
      static_cast<std::int64_t>(stages) * block_k * element_bytes * (block_m + block_n);
  const std::int64_t row_tiles = warps() * kTileRows * (warp_n + kTilePadding) * sum_bytes;
  return std::max(ring, row_tiles);
}

std::int64_t MmaNumbers::partial_tile_bytes() const {
  return static_cast<std::int64_t>(block_m) * block_n * sum_bytes;
}

int MmaNumbers::fragment_registers() const {
  return (warp_m + warp_n) * step_bytes / 32 / 4;
}

int MmaNumbers::sum_and_factor_registers(Products how) const {
  const int factors = how == Products::kEmulated  ? 12 * warp_m / 16 + 18 * warp_n / 16
                      : how == Products::kWidened ? 8 + 8 * warp_n / 16
                                                  : 0;
  return warp_m * warp_n / 32 * sum_bytes / 4 + factors;
}

bool MmaNumbers::has_two_buffers(Products how) const {
  return sum_and_factor_registers(how) + 2 * fragment_registers() + kOtherRegisters <=
         kMaxRegistersPerThread;
}

int MmaNumbers::registers(Products how) const {
  // Copies hold what goes through registers, and the more of them a tile takes, the more of their
  // addresses and limits does the compiler hold, too.
  const int steps = std::max(block_k * element_bytes / step_bytes, 1);
  int in_flight = 0, held = 0;
  for (const auto& [extent, alignment] :
       {std::pair(block_m, alignment_a), {block_n, alignment_b}}) {
    const bool asynchronous = alignment >= 4;
    const int bytes = asynchronous ? alignment : kElementsInFlight * element_bytes;
    const auto copies = ceil_divide(extent * block_k * element_bytes / bytes, 32 * warps());
    held += static_cast<int>(asynchronous ? copies : 3 * copies);
    in_flight +=
        asynchronous ? 0 : static_cast<int>(ceil_divide(copies, steps)) * kElementsInFlight;
  }
  const int of_f64 = sum_bytes == 8 ? 28 : 0;  // addresses of single elements
  return sum_and_factor_registers(how) + (has_two_buffers(how) ? 2 : 1) * fragment_registers() +
         in_flight + std::max(held - 16, 0) + of_f64 + kOtherRegisters;
}

double mma_us(const Problem& problem, const MmaNumbers& numbers, const DeviceLimits& limits) {
  const Tiling blocks = numbers.tiles(problem);
  const std::int64_t count = blocks.blocks().value_or(1);
  const std::int64_t tiles_of_k =
      ceil_divide(ceil_divide(problem.k, numbers.block_k), numbers.split_k);
  const double busy = std::min(1.0, static_cast<double>(count) / limits.sm_count);
  const double l2_rate = kL2BytesPerCycleAlone - busy * (kL2BytesPerCycleAlone - kL2BytesPerCycle);
  const double tile_cycles = cycles_of_tile(problem, numbers, l2_rate, limits);

  // A block alone on its SM waits at every barrier, uses only the schedulers that its
  // warps are on, and has its tiles no sooner than they come.
  const double latency = kLatencyOfTile / (numbers.stages - 1);
  const double barrier = problem.a.type == DataType::kF64 ? kBarrierOfLongTile : kBarrierOfTile;
  const double alone = std::max(
      tile_cycles * std::max(1.0, 4.0 / numbers.warps()) + barrier + latency / 20, latency);
  const auto tile_of_d = static_cast<double>(numbers.block_m) * numbers.block_n;
  const double end = 400 + tile_of_d * (2.0 * numbers.sum_bytes / kSharedBytesPerCycle +
                                        static_cast<double>(size_bytes(problem.d.type)) / 24);
  const auto cycles_of = [&](double side_by_side) {
    const double tile = std::max(side_by_side * tile_cycles, alone);
    return kStartOfBlock + static_cast<double>(tiles_of_k) * tile + side_by_side * end;
  };
  const int resident =
      blocks_per_sm(32 * numbers.warps(), numbers.registers(products(problem, limits)),
                    numbers.shared_bytes(), limits);
  double cycles = cycles_of_waves(count, resident, limits, cycles_of);
  if (numbers.split_k > 1) {
    // The last block reads what the others have written.
    const double partial = static_cast<double>(numbers.partial_tile_bytes());
    cycles += kMeetingOfParts + (numbers.split_k + 1) * partial / kL2BytesPerCycleAlone;
  }
  const double least = minimum_bytes(problem);
  const bool stays_in_cache = least < static_cast<double>(limits.l2_bytes);
  const double side_by_side = static_cast<double>(resident) * limits.sm_count;
  const double read = bytes_read(problem, numbers, side_by_side);
  const double memory = memory_us(stays_in_cache ? least : std::max(least, read), limits);
  const double compute = cycles_us(cycles, limits);
  // They overlap, but not perfectly.
  return kLaunchUs + std::max(compute, memory) + std::min(compute, memory) / 20;
}

}  // namespace tunedgemm
