#include <algorithm>
#include <cmath>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/skinny/skinny.h"

namespace tunedgemm::internal {
namespace {

// Cycles.
constexpr double kCta = 200;
constexpr double kChunk = 3400;           // from the start of a chunk's copy to the end of its sums
constexpr double kVectorOfChunk = 4.5;    // for each vector that a thread copies
constexpr double kSharedSum = 1.0 / 128;  // for each sum that the warps along K share
constexpr double kSplitKReduction = 1850, kSlice = 300;
constexpr double kLatency = 1250;  // of a vector of the wide operand, under load
/// What an SM reads, in bytes per cycle.
constexpr double kMostBytesPerCycle = 27;
/// Instructions of a warp for each unit, and for each vector of a lane.
constexpr double kInstructionsOfUnit = 3, kInstructionsOfVector = 11;
/// The memory's peak bandwidth over what is reached.
constexpr double kMemory = 1.15;

}  // namespace

double skinny_us(const Problem& problem, const SkinnyShape& shape, const DeviceLimits& limits) {
  const double ctas = static_cast<double>(shape.tiles(problem).blocks().value_or(1));
  const double sms = std::max(limits.sm_count, 1);
  const int resident =
      blocks_per_sm(shape.threads(), shape.registers(), shape.shared_bytes(), limits);
  const double waves = std::ceil(ctas / (sms * resident));
  const double on_sm = std::min<double>(resident, std::max(ctas / sms, 1.0));
  const double ctas_of_sm = ctas / std::min(ctas, sms);  // one after another or at once

  // Of a CTA.
  const double depth = static_cast<double>(problem.k) / shape.split_k;
  const double steps = std::max(1.0, std::ceil(depth / shape.step_k()));
  const double chunks = std::ceil(steps / shape.chunk_steps());
  const double vectors = steps * shape.threads() * shape.lane_vectors();
  const double narrow_vectors = std::min<double>(depth, shape.chunk_steps() * shape.step_k()) /
                                shape.vector_elements() *
                                static_cast<double>(shape.narrow_extent(problem));

  // An SM is limited by the vectors that it has in flight, by what it can read, and by the issue of
  // instructions.
  const double in_flight = on_sm * shape.threads() * shape.lane_vectors() * skinny::kVectorBytes;
  const double rate = std::min(in_flight / kLatency, kMostBytesPerCycle);
  const double multiply_adds = shape.uses_tensor_cores ? 2 : 4.0 * shape.columns;
  const double instructions = shape.warps() * steps * shape.unroll * kInstructionsOfUnit +
                              vectors / 32 * (kInstructionsOfVector + multiply_adds);
  const double stream =
      ctas_of_sm * std::max(vectors * skinny::kVectorBytes / rate, instructions / 4);
  const double fixed =
      waves * (kCta + chunks * (kChunk + kVectorOfChunk * narrow_vectors / shape.threads()) +
               kSharedSum * shape.warps_k * shape.columns * shape.block_l()) +
      (shape.split_k > 1 ? kSplitKReduction + kSlice * shape.split_k : 0);
  const double memory = kMemory * memory_us(minimum_bytes(problem), limits);
  return kLaunchUs + cycles_us(fixed + epilogue_cycles_of_element(problem), limits) +
         std::max(cycles_us(stream, limits), memory);
}

}  // namespace tunedgemm::internal
