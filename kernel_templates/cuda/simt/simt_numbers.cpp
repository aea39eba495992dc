#include "kernel_templates/cuda/simt/simt_numbers.h"

#include <algorithm>

namespace tunedgemm {
namespace {

/// Warps of an SM beyond which more do not help.
constexpr int kWarpsWanted = 16;
// Registers of addresses and counters; accumulators on their way; what a long activation, types
// that are converted and the f64 epilogue of integers want beyond them.
constexpr int kOtherRegisters = 12;
constexpr int kOtherSums = 10;
constexpr int kActivationRegisters = 12;
constexpr int kConversionRegisters = 10;
constexpr int kIntegerRegisters = 8;
/// A step's loop of so many multiply-adds does not fit into the cache of instructions (f32 4096^3,
/// H200, 2026-11-22: 128 x 256 with block_k=16 2878 us, with 8 2736).
constexpr double kMultiplyAddsInCache = 2048;
constexpr double kInstructionsAreWaitedFor = 1.07;
/// What an SM gets from the L2 cache in a cycle when all of them ask.
constexpr double kL2BytesPerCycle = 24;
// Cycles of a barrier and the first fragments after it; more of them where registers are written
// down before; and of a block before its first step and after its last.
constexpr double kBarrierCycles = 90;
constexpr double kWriteDownCycles = 30;
constexpr double kBlockCycles = 1500;
/// From the first part of K that is stored to the last that is added, beside the traffic.
constexpr double kMeetingUs = 2;

/// How many loads, and how many stores to shared memory, bring a step's tile of an operand in.
struct CopyCost {
  double loads = 0, stores = 0;
};
CopyCost copy_cost(const Matrix& matrix, Order order_along_k, int block,
                   const SimtNumbers& numbers) {
  const auto aligned = std::max<std::int64_t>(matrix.alignment_bytes / size_bytes(matrix.type), 1);
  const bool along_k = matrix.order == order_along_k;
  const auto most = numbers.async_copy ? (along_k ? 1 : 16 / size_bytes(matrix.type)) : 8;
  const double elements = static_cast<double>(block) * numbers.block_k;
  const double loads = elements / static_cast<double>(std::min<std::int64_t>(aligned, most));
  if (numbers.async_copy) {
    return {loads, 0};
  }
  return {loads, along_k ? elements : elements / (aligned * numbers.sum_bytes >= 16 ? 4 : 1)};
}

/// A step of one block on an SM that it shares: the longest of what its multiply-adds,
/// its instructions, its use of shared memory and its reading take.
double cycles_of_step(const Problem& problem, const SimtNumbers& numbers,
                      const DeviceLimits& limits) {
  const double warps = numbers.threads / 32.0;
  const double quad = 16.0 / numbers.sum_bytes;
  const double multiply_adds =
      static_cast<double>(numbers.thread_m) * numbers.thread_n * numbers.block_k;
  const double fragment_loads = (numbers.thread_m + numbers.thread_n) / quad * numbers.block_k;
  const CopyCost a = copy_cost(problem.a, Order::kRowMajor, numbers.block_m, numbers);
  const CopyCost b = copy_cost(problem.b, Order::kColumnMajor, numbers.block_n, numbers);
  const double loads = (a.loads + b.loads) / numbers.threads;
  const double stores = (a.stores + b.stores) / numbers.threads;

  const double rate = multiply_adds_per_cycle(numbers.sums, limits.arch);
  const double arithmetic = multiply_adds * numbers.threads / rate;
  // Four schedulers start an instruction each in a cycle; an address takes about four.
  const double issued = multiply_adds + fragment_loads + 4 * loads + stores + 20;
  const bool loop_is_cached = multiply_adds < kMultiplyAddsInCache;
  const double issue = warps * issued / 4 * (loop_is_cached ? 1 : kInstructionsAreWaitedFor);
  const double shared = warps * (2 * fragment_loads + 4 * loads + stores);
  const double l2_bytes = static_cast<double>(numbers.block_m * size_bytes(problem.a.type) +
                                              numbers.block_n * size_bytes(problem.b.type)) *
                          numbers.block_k;
  const double l2 = l2_bytes / kL2BytesPerCycle;
  // They run side by side, but never perfectly.
  return std::max({arithmetic, issue, shared, l2}) + (arithmetic + issue + shared + l2) / 20;
}

}  // namespace

SimtNumbers::SimtNumbers(const Problem& problem, const Config& config)
    : block_m(config.at("block_m")),
      block_n(config.at("block_n")),
      block_k(config.at("block_k")),
      warp_m(config.at("warp_m")),
      warp_n(config.at("warp_n")),
      thread_m(config.at("thread_m")),
      thread_n(config.at("thread_n")),
      stages(config.at("stages")),
      async_copy(config.at("async_copy") == 1),
      split_k(config.at("split_k")),
      sums(accumulator(problem.a.type, problem.b.type)),
      sum_bytes(static_cast<int>(size_bytes(sums))),
      threads(32 * (block_m / warp_m) * (block_n / warp_n)) {}

std::int64_t SimtNumbers::shared_bytes() const {
  return static_cast<std::int64_t>(stages) * block_k * ((block_m + block_n) * sum_bytes + 32);
}

std::int64_t SimtNumbers::partial_tile_bytes() const {
  return static_cast<std::int64_t>(block_m) * block_n * sum_bytes;
}

int SimtNumbers::registers(const Problem& problem) const {
  const int held = thread_m * thread_n + 2 * (thread_m + thread_n);
  // An element on its way has a register to itself, even if it is short.
  const std::int64_t staged_bytes =
      block_k * (block_m * std::max<std::int64_t>(size_bytes(problem.a.type), 4) +
                 block_n * std::max<std::int64_t>(size_bytes(problem.b.type), 4));
  const auto staged = async_copy ? 0 : static_cast<int>(ceil_divide(staged_bytes, 4 * threads));
  int other = kOtherRegisters;
  other += problem.activation >= Activation::kGeluTanh ? kActivationRegisters : 0;
  other += problem.a.type != sums ? kConversionRegisters : 0;
  other += sums == DataType::kS32 ? kIntegerRegisters : 0;
  return (held + kOtherSums) * sum_bytes / 4 + staged + other;
}

int SimtNumbers::blocks_on_sm(const Problem& problem, const DeviceLimits& limits) const {
  const int fit = blocks_per_sm(threads, registers(problem), shared_bytes(), limits);
  return std::clamp(kWarpsWanted * 32 / threads, 1, fit);
}

Tiling SimtNumbers::tiles(const Problem& problem) const {
  return tiling(problem, block_m, block_n, split_k);
}

double simt_us(const Problem& problem, const SimtNumbers& numbers, const DeviceLimits& limits) {
  const Tiling blocks = numbers.tiles(problem);
  const std::int64_t steps = ceil_divide(ceil_divide(problem.k, numbers.block_k), blocks.split_k);
  const double step_cycles = cycles_of_step(problem, numbers, limits);
  const double warps = numbers.threads / 32.0;

  // Blocks side by side hide each other's waiting; what is left of it counts.
  const int resident = numbers.blocks_on_sm(problem, limits);
  const double waiting = kBarrierCycles + (numbers.async_copy ? 0 : kWriteDownCycles);
  const auto cycles_of = [&](double side_by_side) {
    const double alone = step_cycles * std::max(1.0, 4 / warps) + waiting;
    return static_cast<double>(steps) * std::max(side_by_side * step_cycles, alone) + kBlockCycles;
  };
  const double cycles = cycles_of_waves(blocks.blocks().value_or(1), resident, limits, cycles_of);

  const auto exchanged = split_workspace_bytes(blocks, numbers.partial_tile_bytes());
  const double meeting_us =
      blocks.split_k > 1 ? kMeetingUs + memory_us(static_cast<double>(exchanged), limits) : 0.0;
  return kLaunchUs + meeting_us +
         std::max(cycles_us(cycles, limits), memory_us(minimum_bytes(problem), limits));
}

}  // namespace tunedgemm
