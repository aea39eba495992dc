#include "kernel_templates/cuda/wgmma_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tunedgemm {
namespace {

constexpr int kStageBytesD = 4 * 2048;  // of a consumer
constexpr int kControlBytes = 1024;
constexpr int kLineBytes = 128;
constexpr int kStepBytes = 32;  // of a row that one instruction takes
// Accumulators beyond which the compiler spills, by the number of consumers, where the end of a
// tile needs little else.
constexpr int kMostSums[] = {0, 192, 192, 96};

// Fitted to about 6700 times of 182 shapes of all types on an H200 (2026-11-21), of those configs
// that an earlier fit liked: the first prediction is within 2.6 % of the best measured in the
// geometric mean, the best of the first 4 within 1.0 %, of the first 12 within 0.1 %.

// A multiprocessor, in bytes a cycle.
constexpr double kSharedBytesPerCycle = 128;
constexpr double kL2BytesPerCycle = 56;  // when all of them ask
constexpr double kShareOfAlone = 0.29;   // of that time, for one that asks alone
constexpr double kHindrance = 0.2;       // of the shorter of products and copies to the other
// In cycles.
constexpr double kStart = 100;           // from the start of a block to its first product
constexpr double kStartOfCluster = 900;  // more
constexpr double kBubbleOfTile = 1450;   // between the products of two tiles of D
constexpr double kHandOver = 140;        // from one consumer to the other
constexpr double kBarrierOfStep = 19;    // of a tile along K
constexpr double kStartOfOperands = 14;  // of one instruction
constexpr double kCyclesOfSum = 0.063;   // on its way out
// Copies that are begun so few cycles ahead of their products come late, by a part of the rest.
// Estimated from tiles of 1056 to 1536 cycles ahead, each with one stage more and less.
constexpr double kLatency = 1500, kLateOfLatency = 0.1;
// When all products have ended. Estimated from about 300 times of 9 shapes with K in parts (H200,
// 2026-11-22).
constexpr double kMeetingOfParts = 5600, kMeetingOfSum = 0.27;
// Where D's rows are not aligned for runs of so many sums (store.cuh), its elements leave one by
// one. Not fitted: 768 times 197 x 197 x 64 in f16 took 140 us with 64 x 224 tiles.
constexpr int kRun = 4;
constexpr double kSlowOfElements = 12;

std::string value(std::string_view knob, int value) {
  return std::string(knob) + "=" + std::to_string(value);
}

std::string why_not_operands(const Problem& problem) {
  const auto is_known = [](DataType type) {
    return type == DataType::kF16 || type == DataType::kBF16 || type == DataType::kF32 ||
           type == DataType::kS8 || is_fp8(type);
  };
  if (!is_known(problem.a.type) || !is_known(problem.b.type)) {
    return "wgmma has no instruction for " + types_text(problem);
  }
  if (problem.a.type == DataType::kF32 && problem.numerics != Numerics::kTf32) {
    return "wgmma multiplies f32 as tf32 only: ask for the numerics tf32, or use another family";
  }
  for (const auto& [letter, alignment] :
       {std::pair("A", problem.a.alignment_bytes), {"B", problem.b.alignment_bytes}}) {
    if (alignment < 16) {
      return std::string("the rows of ") + letter + " are aligned to " + std::to_string(alignment) +
             " bytes, and tensor copies need 16";
    }
  }
  constexpr std::int64_t kMostExtent = std::numeric_limits<std::int32_t>::max() - 1024;
  for (const auto& [letter, extent] :
       {std::pair("M", problem.m), {"N", problem.n}, {"K", problem.k}, {"batch", problem.batch}}) {
    if (extent > kMostExtent) {
      return std::string(letter) + "=" + std::to_string(extent) + " is more than the " +
             std::to_string(kMostExtent) + " that tensor copies can count";
    }
  }
  if (problem.k == 0) {
    return "K=0 leaves nothing for tensor copies to bring";
  }
  constexpr std::int64_t kMostStrideBytes = (std::int64_t{1} << 40) - 1;
  for (const auto& [letter, matrix] :
       {std::pair("A", &problem.a), {"B", &problem.b}, {"D", &problem.d}}) {
    const std::int64_t most = kMostStrideBytes / size_bytes(matrix->type);
    for (const std::int64_t stride : {matrix->leading_dimension, matrix->batch_stride}) {
      if (stride > most) {
        return "a stride of " + std::to_string(stride) + " elements in " + letter +
               " is more than the " + std::to_string(most) + " that tensor copies can make";
      }
    }
    if (problem.batch > 1 && matrix->batch_stride != 0 &&
        matrix->batch_stride < matrix->leading_dimension) {
      return std::string("batch entries of ") + letter + " are " +
             std::to_string(matrix->batch_stride) + " elements apart, its lines " +
             std::to_string(matrix->leading_dimension) +
             ": tensor copies need entries that follow each other";
    }
  }
  return "";
}

int loaded(int extent, bool lines_follow_k, int element_bytes) {
  return lines_follow_k ? extent : static_cast<int>(round_up(extent, kLineBytes / element_bytes));
}

double products_cycles(const WgmmaNumbers& numbers) {
  // Of all types, 64 x n sums by 32 bytes take n / 2 cycles, unless the operands come slower.
  const double instructions = static_cast<double>(numbers.block_m) / 64 * numbers.block_k *
                              numbers.element_bytes / kStepBytes;
  const double products = numbers.block_n / 2.0;
  const double operands = (64 + numbers.block_n) * kStepBytes / kSharedBytesPerCycle;
  const double added = numbers.promotes ? numbers.block_n / 12.0 : 0;
  return instructions * std::max(products, operands + kStartOfOperands) + added;
}

double copied_cycles(const WgmmaNumbers& numbers) {
  const double row_bytes = static_cast<double>(numbers.block_k) * numbers.element_bytes;
  return row_bytes *
         (static_cast<double>(numbers.loaded_m) / numbers.cluster_n +
          static_cast<double>(numbers.loaded_n) / numbers.cluster_m) /
         kL2BytesPerCycle;
}

// Tiles that are turned are read and written once more, while products read them.
double turned_cycles(const WgmmaNumbers& numbers) {
  const double lines =
      (numbers.turns_a ? numbers.loaded_m : 0) + (numbers.turns_b ? numbers.loaded_n : 0);
  return 2 * kLineBytes * lines / kSharedBytesPerCycle;
}

// What is read from memory when the tiles that are computed at the same time share what they read.
double bytes_read(const Problem& problem, const WgmmaNumbers& numbers, double side_by_side) {
  const Tiling clusters = numbers.clusters(problem);
  auto along = static_cast<double>(clusters.tiles_m),
       across = static_cast<double>(clusters.tiles_n);
  double rows_of_tile = numbers.block_m * numbers.cluster_m;
  double columns_of_tile = numbers.block_n * numbers.cluster_n;
  if (numbers.columns_walk_together) {
    std::swap(along, across);
    std::swap(rows_of_tile, columns_of_tile);
  }
  const double at_a_time =
      std::clamp(side_by_side / numbers.cluster() / numbers.split_k, 1.0, along * across);
  const double group = std::min<double>(numbers.group, along);
  const double columns = std::min(across, std::ceil(at_a_time / group));
  const double rows = std::min(along, std::max(group, at_a_time / columns));
  const double row_bytes = static_cast<double>(problem.k) * numbers.element_bytes;
  return along * across / at_a_time * static_cast<double>(problem.batch) * row_bytes *
         (rows * rows_of_tile + columns * columns_of_tile);
}

}  // namespace

Problem told_to_wgmma(const Problem& problem, const Config& config) {
  return config.at("swap_ab") != 0 ? transposed(problem) : problem;
}

WgmmaNumbers::WgmmaNumbers(const Problem& problem, const Config& config)
    : block_m(config.at("block_m")),
      block_n(config.at("block_n")),
      block_k(config.at("block_k")),
      stages(config.at("stages")),
      stages_d(config.at("stages_d")),
      consumers(config.at("consumers")),
      ping_pong(config.at("ping_pong") != 0),
      cluster_m(config.at("cluster_m")),
      cluster_n(config.at("cluster_n")),
      group(config.at("group")),
      columns_walk_together(config.at("raster") != 0),
      split_k(config.at("split_k")),
      in_flight(config.at("in_flight")),
      tensor_store(config.at("tensor_store") != 0),
      swap_ab(config.at("swap_ab") != 0),
      element_bytes(static_cast<int>(size_bytes(problem.a.type))),
      element_bytes_d(static_cast<int>(size_bytes(problem.d.type))),
      promotes(problem.numerics == Numerics::kPromoted),
      loaded_m(loaded(block_m, problem.a.order == Order::kRowMajor, element_bytes)),
      loaded_n(loaded(block_n, problem.b.order == Order::kColumnMajor, element_bytes)),
      turns_a(element_bytes == 1 && problem.a.order != Order::kRowMajor),
      turns_b(element_bytes != 2 && problem.b.order != Order::kColumnMajor),
      registers_a(element_bytes == 4 && problem.a.order != Order::kRowMajor) {}

int WgmmaNumbers::columns_of_slice() const {
  if (split_k == 1) {
    return block_n;
  }
  constexpr int kCostOfTaking = 64;
  int best = block_n, least = std::numeric_limits<int>::max();
  for (int columns = block_n; columns > 0; columns -= 16) {
    const int slices = block_n / columns * (rows_of_consumer() / 64);
    const int duration = (slices + split_k - 1) / split_k * (kCostOfTaking + columns);
    if (block_n % columns == 0 && duration < least) {
      best = columns;
      least = duration;
    }
  }
  return best;
}

int WgmmaNumbers::sums() const {
  return rows_of_consumer() * block_n / 128 + (promotes ? block_n / 2 : 0) + fragments();
}

std::int64_t WgmmaNumbers::stage_bytes() const {
  return static_cast<std::int64_t>(block_k) * element_bytes * (loaded_m + loaded_n);
}

std::int64_t WgmmaNumbers::shared_bytes() const {
  return stages * stage_bytes() + std::int64_t{consumers} * stages_d * kStageBytesD + kControlBytes;
}

Tiling WgmmaNumbers::clusters(const Problem& problem) const {
  return tiling(problem, block_m * cluster_m, block_n * cluster_n, split_k);
}

Tiling WgmmaNumbers::partial_tiles(const Problem& problem) const {
  Tiling tiles = clusters(problem);
  tiles.tiles_m *= cluster() * teams();
  return tiles;
}

std::int64_t WgmmaNumbers::clusters_at_a_time(const DeviceLimits& limits) const {
  // Pairs of multiprocessors are everywhere. Larger clusters must fit into one of the parts of the
  // device, which differ in how many work: 30 clusters of 4 run at a time on the 132 of an H200.
  constexpr int kLeftOver = 12;
  const int usable = cluster() <= 2 ? limits.sm_count : limits.sm_count - kLeftOver;
  return std::max(usable / cluster(), 1);
}

std::int64_t WgmmaNumbers::grid(const Problem& problem, const DeviceLimits& limits) const {
  const std::int64_t works = clusters(problem).blocks().value_or(kMaxGridX);
  return std::min(works, clusters_at_a_time(limits)) * cluster();
}

std::string why_not_wgmma(const Problem& asked, const WgmmaNumbers& numbers) {
  if (std::string why = why_not_operands(asked); !why.empty()) {
    return why;
  }
  const Problem problem = numbers.swap_ab ? transposed(asked) : asked;
  if (numbers.cluster() > 4) {
    return value("cluster_m", numbers.cluster_m) + " and " + value("cluster_n", numbers.cluster_n) +
           ": a cluster has at most 4 blocks";
  }
  if (problem.b.order == Order::kColumnMajor && numbers.block_n % (8 * numbers.cluster_m) != 0) {
    return value("block_n", numbers.block_n) + " and " + value("cluster_m", numbers.cluster_m) +
           ": each of the blocks must load a multiple of 8 columns of B";
  }
  if (numbers.ping_pong && numbers.consumers != 2) {
    return value("consumers", numbers.consumers) + ": ping_pong=1 takes two";
  }
  const int rows = numbers.rows_of_consumer();
  if (rows % 64 != 0 || rows * numbers.teams() != numbers.block_m) {
    return value("block_m", numbers.block_m) + " and " + value("consumers", numbers.consumers) +
           ": block_m must be 64 rows for each consumer, or a multiple of that";
  }
  const int bytes_of_k = numbers.block_k * numbers.element_bytes;
  if (bytes_of_k != kLineBytes && bytes_of_k != 2 * kLineBytes) {
    return value("block_k", numbers.block_k) + " is " + std::to_string(bytes_of_k) +
           " bytes: it must be 128 or 256";
  }
  if ((numbers.turns_a || numbers.turns_b || numbers.registers_a) && bytes_of_k != kLineBytes) {
    return value("block_k", numbers.block_k) + " is " + std::to_string(bytes_of_k) +
           " bytes: operands of 8 or 32 bits whose lines do not follow K (layout " +
           layout_text(asked) + ") need 128";
  }
  if (numbers.registers_a && numbers.in_flight != 1) {
    return value("in_flight", numbers.in_flight) +
           ": an A of 32 bits whose lines do not follow K needs in_flight=1";
  }
  if (numbers.promotes && numbers.in_flight != 0) {
    return value("in_flight", numbers.in_flight) + ": promoted sums need in_flight=0";
  }
  if (numbers.tensor_store && problem.d.alignment_bytes < 16) {
    return "tensor_store=1, but the rows of D are aligned to " +
           std::to_string(problem.d.alignment_bytes) + " bytes, and tensor copies need 16";
  }
  // Tensor copies write whole units of 16 bytes.
  if (numbers.tensor_store && asked.n * numbers.element_bytes_d % 16 != 0) {
    return "tensor_store=1, but rows of N=" + std::to_string(asked.n) + " elements are " +
           std::to_string(asked.n * numbers.element_bytes_d) +
           " bytes: they must be a multiple of 16";
  }
  if (numbers.stages_d == 1 && !numbers.tensor_store) {
    return "stages_d=1 needs tensor_store=1: threads prepare longer lines";
  }
  if (numbers.swap_ab && !numbers.tensor_store) {
    return "swap_ab=1 needs tensor_store=1";
  }
  if (numbers.tensor_store && problem.activation >= Activation::kGeluTanh) {
    return "tensor_store=1 with the activation " + std::string(name(problem.activation)) +
           ": long activations need the rolled loop of tensor_store=0";
  }
  // C, a bias, and of three consumers the parts of K take registers at the end of a tile.
  const bool adds = problem.beta != ScalarClass::kZero || problem.bias != Bias::kNone;
  const bool few_registers = numbers.split_k > 1 && numbers.consumers == 3;
  const int sixths = adds && numbers.fragments() > 0 ? 4 : adds || few_registers ? 5 : 6;
  const int most = kMostSums[numbers.consumers] * sixths / 6;
  if (numbers.sums() > most) {
    return "the tile needs " + std::to_string(numbers.sums()) +
           " accumulators a thread, and there is room for " + std::to_string(most) + " with " +
           value("consumers", numbers.consumers) + "; make the tile smaller";
  }
  return "";
}

int stages_that_fit(const WgmmaNumbers& numbers, int most, const DeviceLimits& limits) {
  const std::int64_t others = numbers.shared_bytes() - numbers.stages * numbers.stage_bytes();
  const std::int64_t fit = (limits.shared_bytes_per_block - others) / numbers.stage_bytes();
  return static_cast<int>(std::min<std::int64_t>(fit, most));
}

double cycles_ahead(const WgmmaNumbers& numbers) {
  return (numbers.stages - 1 - numbers.in_flight) * products_cycles(numbers);
}

double wgmma_us(const Problem& problem, const WgmmaNumbers& numbers, const DeviceLimits& limits) {
  const std::int64_t works = numbers.clusters(problem).blocks().value_or(1);
  const std::int64_t grid = numbers.grid(problem, limits);
  const double works_of_block =
      static_cast<double>(ceil_divide(works, std::max<std::int64_t>(grid / numbers.cluster(), 1)));
  const double tiles_of_k =
      static_cast<double>(ceil_divide(ceil_divide(problem.k, numbers.block_k), numbers.split_k));

  const double busy = std::min(1.0, static_cast<double>(grid) / std::max(limits.sm_count, 1));
  const double multiplied = products_cycles(numbers) + turned_cycles(numbers);
  const double copied = copied_cycles(numbers) * (kShareOfAlone + (1 - kShareOfAlone) * busy);
  const double late = std::max(0.0, kLatency - cycles_ahead(numbers)) * kLateOfLatency;
  const double step = std::max(multiplied, copied) + kHindrance * std::min(multiplied, copied) +
                      kBarrierOfStep + late;
  // The sums on their way out: converted, through shared memory, and to the memory.
  const double elements = static_cast<double>(numbers.block_m) * numbers.block_n;
  const bool by_runs = problem.d.alignment_bytes >= kRun * numbers.element_bytes_d;
  const double slow = numbers.tensor_store ? 1 : by_runs ? 2.5 : kSlowOfElements;
  const double store = kBubbleOfTile + elements / numbers.consumers * slow *
                                           (kCyclesOfSum + 0.01 * numbers.element_bytes_d);
  const double products = tiles_of_k * step;
  const double of_work =
      numbers.ping_pong ? std::max(products + kHandOver, (products + store) / 2) : products + store;
  double cycles = kStart + (numbers.cluster() > 1 ? kStartOfCluster : 0) +
                  works_of_block * of_work + (numbers.ping_pong ? store : 0);
  const double met = numbers.split_k == 1 ? 0 : kMeetingOfParts + kMeetingOfSum * elements;
  const double least = minimum_bytes(problem);
  const double read = bytes_read(problem, numbers, static_cast<double>(grid));
  const bool stays_in_cache = least < static_cast<double>(limits.l2_bytes) / 2;
  const double memory = memory_us(stays_in_cache ? least : std::max(least, read), limits);
  const double compute = cycles_us(cycles, limits);
  return kLaunchUs + std::max(compute, memory) + std::min(compute, memory) / 20 +
         cycles_us(met, limits);
}

}  // namespace tunedgemm
