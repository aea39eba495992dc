#include "kernel_templates/cuda/sm90/wgmma_numbers.h"

#include <algorithm>
#include <limits>

namespace tunedgemm {
namespace {

constexpr int kWarpsOfConsumer = 4, kEpilogueStageBytes = 2048;
constexpr int kControlBytes = 1024;
// Accumulators beyond which the compiler spills or, of three consumers, does not take the
// instruction, which names them all and may name A's registers, too. Less where the end of a tile
// needs more.
constexpr int kMostSums = 192, kMostSumsOfThree = 100, kMostSumsOfThreeBesideA = 96;

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
  return lines_follow_k ? extent
                        : static_cast<int>(round_up(extent, kWgmmaLineBytes / element_bytes));
}

// Products of s8 know no other widths beyond 32, and tensor copies of 8-bit elements must begin at
// multiples of 16 bytes.
int width_step_of(const Problem& problem) {
  const bool bytes_follow_n =
      size_bytes(problem.b.type) == 1 && problem.b.order == Order::kRowMajor;
  return problem.a.type == DataType::kS8 || bytes_follow_n ? 16 : kWgmmaWidthStep;
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
      epilogue_stages(config.at("epilogue_stages")),
      consumers(config.at("consumers")),
      ping_pong(config.at("ping_pong") != 0),
      cluster_m(config.at("cluster_m")),
      cluster_n(config.at("cluster_n")),
      group_m(config.at("group_m")),
      raster_along_n(config.at("raster_along_n") != 0),
      gpc_aware(config.at("gpc_aware") != 0),
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
      registers_a(element_bytes == 4 && problem.a.order != Order::kRowMajor),
      width_step(width_step_of(problem)) {}

int WgmmaNumbers::columns_of_slice() const {
  if (split_k == 1) {
    return block_n;
  }
  constexpr int kCostOfTaking = 64;
  int best = block_n, least = std::numeric_limits<int>::max();
  for (int columns = block_n; columns >= 16; columns -= 16) {
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
  const std::int64_t staging =
      std::int64_t{consumers} * kWarpsOfConsumer * epilogue_stages * kEpilogueStageBytes;
  return stages * stage_bytes() + staging + kControlBytes;
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
  const std::int64_t most = std::min(works, clusters_at_a_time(limits));
  // As many as end in as many rounds: blocks that would have nothing to do in the last one draw
  // current before. H200, 2026-11-22: 4096^3 f16 nn 180.0 -> 179.6 us, e4m3 nt 82.6 -> 82.1; in
  // less than four rounds it costs more to do without them: 2432^3 40.2 -> 40.6.
  constexpr std::int64_t kRoundsToEven = 4;
  const std::int64_t rounds = ceil_divide(works, most);
  return (rounds < kRoundsToEven ? most : ceil_divide(works, rounds)) * cluster();
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
  if (numbers.block_n % numbers.width_step != 0) {
    return value("block_n", numbers.block_n) +
           (numbers.width_step == kWgmmaWidthStep
                ? ": it must be a multiple of "
                : ": s8, and an 8-bit B in lines that follow N, need a multiple of ") +
           std::to_string(numbers.width_step);
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
  if (bytes_of_k != kWgmmaLineBytes && bytes_of_k != 2 * kWgmmaLineBytes) {
    return value("block_k", numbers.block_k) + " is " + std::to_string(bytes_of_k) +
           " bytes: it must be 128 or 256";
  }
  if ((numbers.turns_a || numbers.turns_b || numbers.registers_a) &&
      bytes_of_k != kWgmmaLineBytes) {
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
  if (numbers.epilogue_stages == 1 && !numbers.tensor_store) {
    return "epilogue_stages=1 needs tensor_store=1: threads prepare longer lines";
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
  const int most_of_three = numbers.registers_a ? kMostSumsOfThreeBesideA : kMostSumsOfThree;
  const int most = (numbers.consumers < 3 ? kMostSums : most_of_three) * sixths / 6;
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

}  // namespace tunedgemm
