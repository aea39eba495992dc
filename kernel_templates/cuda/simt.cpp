#include <algorithm>
#include <cmath>
#include <span>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/families.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

/// The tiles of a block, a warp and a thread.
struct Shape {
  int block_m, block_n, warp_m, warp_n, thread_m, thread_n;
};

// What a search tries, for accumulators of 4 bytes and for f64, whose tiles have half the numbers.
constexpr Shape kShapes[] = {
    {256, 128, 64, 64, 16, 8}, {128, 256, 64, 64, 8, 16}, {128, 128, 64, 64, 16, 8},
    {128, 128, 32, 64, 8, 8},  {128, 128, 64, 32, 8, 8},  {256, 64, 64, 64, 16, 8},
    {64, 256, 64, 64, 8, 16},  {128, 64, 32, 64, 8, 8},   {64, 128, 64, 32, 8, 8},
    {64, 64, 32, 32, 8, 4},    {128, 32, 32, 32, 8, 4},   {32, 128, 32, 32, 4, 8},
    {64, 32, 32, 32, 8, 4},    {32, 64, 32, 32, 4, 8},    {32, 32, 16, 32, 4, 4},
};
constexpr Shape kShapesF64[] = {
    {128, 128, 32, 64, 8, 8}, {128, 128, 64, 32, 8, 8}, {128, 64, 32, 64, 8, 8},
    {128, 64, 32, 32, 8, 4},  {64, 128, 32, 32, 4, 8},  {64, 64, 32, 32, 8, 4},
    {128, 32, 32, 32, 8, 4},  {32, 128, 32, 32, 4, 8},  {64, 32, 32, 32, 8, 4},
    {32, 64, 32, 32, 4, 8},   {32, 32, 16, 32, 4, 4},   {32, 32, 16, 16, 4, 2},
};

struct Pipeline {
  int block_k, async_copy, stages;
};
constexpr Pipeline kPipelines[] = {{8, 0, 2}, {16, 0, 2}, {8, 1, 4}, {16, 1, 3}, {32, 1, 3}};

constexpr int kMaxSplitK = 64;
/// Steps along K below which a part is not worth a block.
constexpr std::int64_t kLeastStepsOfPart = 4;
/// Warps of a multiprocessor beyond which more do not help.
constexpr int kWarpsWanted = 16;
// Registers of addresses and counters; accumulators on their way; what a long activation, types
// that are converted and the f64 epilogue of integers want beyond them.
constexpr int kOtherRegisters = 12;
constexpr int kOtherSums = 10;
constexpr int kActivationRegisters = 12;
constexpr int kConversionRegisters = 10;
constexpr int kIntegerRegisters = 8;
constexpr int kAsyncCopyArch = 80;
/// What a multiprocessor gets from the L2 cache in a cycle when all of them ask.
constexpr double kL2BytesPerCycle = 24;

/// The numbers that follow from a problem and a config, by the formulas of simt.cu.
struct Numbers {
  Numbers(const Problem& problem, const Config& config)
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

  std::int64_t shared_bytes() const {
    return static_cast<std::int64_t>(stages) * block_k * ((block_m + block_n) * sum_bytes + 32);
  }
  std::int64_t partial_tile_bytes() const {
    return static_cast<std::int64_t>(block_m) * block_n * sum_bytes;
  }
  /// Sums, fragments of two k, what is on its way, and the rest. Precondition: threads > 0.
  int registers(const Problem& problem) const {
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
  int blocks_on_sm(const Problem& problem, const DeviceLimits& limits) const {
    const int fit = blocks_per_sm(threads, registers(problem), shared_bytes(), limits);
    return std::clamp(kWarpsWanted * 32 / threads, 1, fit);
  }

  int block_m, block_n, block_k, warp_m, warp_n, thread_m, thread_n, stages;
  bool async_copy;
  int split_k;
  DataType sums;
  int sum_bytes;
  int threads;
};

std::string product(std::string_view left, int left_value, std::string_view right,
                    int right_value) {
  return std::string(left) + "=" + std::to_string(left_value) + " and " + std::string(right) + "=" +
         std::to_string(right_value);
}

/// The static_asserts of simt.cu, part 3, as sentences.
std::string why_not_numbers(const Problem& problem, const Numbers& numbers) {
  if (numbers.block_m % numbers.warp_m != 0) {
    return product("block_m", numbers.block_m, "warp_m", numbers.warp_m) +
           ": block_m must be a multiple of warp_m";
  }
  if (numbers.block_n % numbers.warp_n != 0) {
    return product("block_n", numbers.block_n, "warp_n", numbers.warp_n) +
           ": block_n must be a multiple of warp_n";
  }
  const int lanes_m = numbers.warp_m / numbers.thread_m;
  const int lanes_n = numbers.warp_n / numbers.thread_n;
  if (numbers.warp_m % numbers.thread_m != 0 || numbers.warp_n % numbers.thread_n != 0 ||
      lanes_m * lanes_n != 32 || lanes_m < 2 || lanes_n < 2) {
    return "warp_m/thread_m times warp_n/thread_n is " + std::to_string(lanes_m) + " times " +
           std::to_string(lanes_n) + ": it must be 32 lanes, with 2 or more each way";
  }
  if (numbers.thread_m * numbers.sum_bytes % 16 != 0 ||
      numbers.thread_n * numbers.sum_bytes % 16 != 0) {
    return product("thread_m", numbers.thread_m, "thread_n", numbers.thread_n) +
           ": both must be multiples of 16 bytes of accumulators, which have " +
           std::to_string(numbers.sum_bytes) + " bytes";
  }
  if (!numbers.async_copy && numbers.stages != 2) {
    return "stages=" + std::to_string(numbers.stages) + ": it must be 2 unless async_copy=1";
  }
  if (numbers.async_copy && (size_bytes(problem.a.type) != numbers.sum_bytes ||
                             size_bytes(problem.b.type) != numbers.sum_bytes)) {
    return "async_copy=1 cannot convert " + std::string(name(problem.a.type)) + " to " +
           std::string(name(numbers.sums)) + ": use async_copy=0";
  }
  return "";
}

/// How many loads, and how many stores to shared memory, bring a step's tile of an operand in.
struct CopyCost {
  double loads = 0, stores = 0;
};
CopyCost copy_cost(const Matrix& matrix, Order order_along_k, int block, const Numbers& numbers) {
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

class Simt final : public CudaFamily {
 public:
  Simt()
      : CudaFamily("simt",
                   {{"block_m", {32, 64, 128, 256}, "rows of a block's tile of D"},
                    {"block_n", {32, 64, 128, 256}, "columns of it"},
                    {"block_k", {8, 16, 32}, "a step along K"},
                    {"warp_m", {16, 32, 64, 128}, "rows of a warp's tile"},
                    {"warp_n", {16, 32, 64, 128}, "columns of it"},
                    {"thread_m", {2, 4, 8, 16}, "rows of a thread's sums"},
                    {"thread_n", {2, 4, 8, 16}, "columns of them"},
                    {"stages", {2, 3, 4, 5, 6}, "steps in shared memory at a time"},
                    {"async_copy", {0, 1}, "1: copied by cp.async, 0: through registers"},
                    {"group_m", {1, 2, 4, 8, 16}, "rows of tiles that walk together"},
                    {"split_k", {1, 2, 4, 8, 16, 32, 64}, "blocks that share the K of a tile"}}) {}

  std::string why_not(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override {
    if (std::string why = why_not_knobs(config); !why.empty()) {
      return why;
    }
    const bool async_copy = config.at("async_copy") == 1;
    if (std::string why = why_not_cuda(limits, async_copy ? kAsyncCopyArch : 0); !why.empty()) {
      return why;
    }
    const Numbers numbers(problem, config);
    if (std::string why = why_not_numbers(problem, numbers); !why.empty()) {
      return why;
    }
    if (std::string why = why_not_block(numbers.threads, numbers.registers(problem),
                                        numbers.shared_bytes(), limits);
        !why.empty()) {
      return why;
    }
    return why_not_tiling(problem, tiles(problem, numbers), numbers.block_k,
                          numbers.partial_tile_bytes(), limits);
  }

  /// A choice out of all that is legal: good shapes, with those parts of K that fill the device.
  std::vector<Config> candidates(const Problem& problem,
                                 const DeviceLimits& limits) const override {
    const bool f64 = problem.a.type == DataType::kF64;
    std::vector<Config> chosen;
    for (const Shape& shape : f64 ? std::span<const Shape>(kShapesF64) : kShapes) {
      // Half of the tile or more would lie outside D, and there is a smaller one.
      if ((shape.block_m > 32 && shape.block_m >= 2 * problem.m) ||
          (shape.block_n > 32 && shape.block_n >= 2 * problem.n)) {
        continue;
      }
      for (const Pipeline& pipeline : kPipelines) {
        for (const int group_m : {8, 1}) {
          for (int split_k = 1; split_k <= kMaxSplitK; split_k *= 2) {
            Config config({{"block_m", shape.block_m},
                           {"block_n", shape.block_n},
                           {"block_k", pipeline.block_k},
                           {"warp_m", shape.warp_m},
                           {"warp_n", shape.warp_n},
                           {"thread_m", shape.thread_m},
                           {"thread_n", shape.thread_n},
                           {"stages", pipeline.stages},
                           {"async_copy", pipeline.async_copy},
                           {"group_m", group_m},
                           {"split_k", split_k}});
            if (worth_trying(problem, config, limits) && why_not(problem, config, limits).empty()) {
              chosen.push_back(std::move(config));
            }
          }
        }
      }
    }
    return chosen;
  }

  Launch launch(const Problem& problem, const Config& config, const DeviceLimits&) const override {
    const Numbers numbers(problem, config);
    const Tiling blocks = tiles(problem, numbers);
    return {.grid = {static_cast<std::uint32_t>(blocks.blocks().value_or(0)), 1, 1},
            .block = {static_cast<std::uint32_t>(numbers.threads), 1, 1},
            .shared_bytes = static_cast<std::uint32_t>(numbers.shared_bytes()),
            .workspace_bytes = split_workspace_bytes(blocks, numbers.partial_tile_bytes())};
  }

  Source source(const Problem& problem, const Config& config,
                const DeviceLimits& limits) const override {
    Source source = CudaFamily::source(problem, config, limits);
    const int blocks_on_sm = Numbers(problem, config).blocks_on_sm(problem, limits);
    source.defines.emplace_back("BLOCKS_PER_SM", std::to_string(blocks_on_sm));
    return source;
  }

  double predicted_us(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override {
    const Numbers numbers(problem, config);
    const Tiling blocks = tiles(problem, numbers);
    const std::int64_t steps = ceil_divide(ceil_divide(problem.k, numbers.block_k), blocks.split_k);
    const double step_cycles = cycles_of_step(problem, numbers, limits);
    const double warps = numbers.threads / 32.0;

    // Blocks side by side hide each other's waiting; what is left of it counts.
    const int resident = numbers.blocks_on_sm(problem, limits);
    const double waiting = 90 + (numbers.async_copy ? 0 : 30);
    const auto cycles_of = [&](double side_by_side) {
      const double alone = step_cycles * std::max(1.0, 4 / warps) + waiting;
      return static_cast<double>(steps) * std::max(side_by_side * step_cycles, alone) + 1500;
    };
    const double on_busiest = blocks_on_busiest_sm(blocks.blocks().value_or(1), limits);
    const double rounds = std::floor(on_busiest / resident);
    const double rest = on_busiest - rounds * resident;
    const double cycles = rounds * cycles_of(resident) + (rest > 0 ? cycles_of(rest) : 0);

    const auto exchanged = split_workspace_bytes(blocks, numbers.partial_tile_bytes());
    const double traffic = minimum_bytes(problem) + static_cast<double>(exchanged) / 2;
    const double meeting_us = blocks.split_k > 1 ? 2.0 : 0.0;
    return kLaunchUs + meeting_us + std::max(cycles_us(cycles, limits), memory_us(traffic, limits));
  }

 private:
  static Tiling tiles(const Problem& problem, const Numbers& numbers) {
    return tiling(problem, numbers.block_m, numbers.block_n, numbers.split_k);
  }

  /// Leaves out what cannot be better than something else that is tried.
  static bool worth_trying(const Problem& problem, const Config& config,
                           const DeviceLimits& limits) {
    const Numbers numbers(problem, config);
    const Tiling blocks = tiles(problem, numbers);
    const std::int64_t count = blocks.blocks().value_or(kMaxGridX);
    const bool one_round = count <= 2 * limits.sm_count;
    if (config.at("group_m") == 1 ? one_round : blocks.tiles_m == 1 && !one_round) {
      return false;  // all of them run at once, or there is one order only
    }
    if (numbers.block_k == 32 && numbers.block_m * numbers.block_n > 64 * 64) {
      return false;
    }
    const std::int64_t steps = ceil_divide(problem.k, numbers.block_k);
    return blocks.split_k == 1 ||
           (count <= 4 * limits.sm_count && steps / blocks.split_k >= kLeastStepsOfPart);
  }

  /// A step of one block on a multiprocessor that it shares: the longest of what its multiply-adds,
  /// its instructions, its use of shared memory and its reading take.
  static double cycles_of_step(const Problem& problem, const Numbers& numbers,
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
    const double issued = multiply_adds + fragment_loads + 5 * loads + stores + 25;
    const double issue = warps * issued / 4;
    const double shared = warps * (2 * fragment_loads + 4 * loads + stores);
    const double l2_bytes = static_cast<double>(numbers.block_m * size_bytes(problem.a.type) +
                                                numbers.block_n * size_bytes(problem.b.type)) *
                            numbers.block_k;
    const double l2 = l2_bytes / kL2BytesPerCycle;
    // They run side by side, but never perfectly.
    return std::max({arithmetic, issue, shared, l2}) + (arithmetic + issue + shared + l2) / 20;
  }
};

}  // namespace

const Family& simt_family() {
  static const Simt family;
  return family;
}

}  // namespace tunedgemm
