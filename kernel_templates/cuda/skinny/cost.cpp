#include <algorithm>
#include <cmath>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/skinny/skinny.h"

namespace tunedgemm::internal {
namespace {

// Cycles.
constexpr double kChunk = 2450;        // from the start of a chunk's copy to the end of its sums
constexpr double kVectorOfChunk = 66;  // for each vector that a thread copies
constexpr double kSharedSum = 0.25;    // for each sum that the warps along K share
constexpr double kSplitKReduction = 4200, kSlice = 40;
constexpr double kLatency = 1400;  // of a vector of the wide operand, under load
/// What an SM reads, in bytes per cycle.
constexpr double kMostBytesPerCycle = 27;
/// Instructions of a warp for each unit, and for each vector of a lane: of all vectors, and more if
/// rows are not aligned, or if bytes are transposed in registers.
constexpr double kInstructionsOfUnit = 2.3, kInstructionsOfVector = 14;
constexpr double kInstructionsOfShift = 31, kInstructionsOfBytes = 60;
constexpr double kCyclesOfInstruction = 5.5;  // of a warp, from one to the next
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
  const double extra = (shape.classes() > 1 ? kInstructionsOfShift : 0) +
                       (shape.element_bytes == 1 && !shape.is_k_major ? kInstructionsOfBytes : 0);
  const double instructions =  // of a warp
      steps * shape.unroll * kInstructionsOfUnit +
      steps * shape.lane_vectors() * (kInstructionsOfVector + multiply_adds + extra);
  const double stream = std::max(ctas_of_sm * std::max(vectors * skinny::kVectorBytes / rate,
                                                       shape.warps() * instructions / 4),
                                 waves * instructions * kCyclesOfInstruction);
  const double fixed =
      waves * (chunks * (kChunk + kVectorOfChunk * narrow_vectors / shape.threads()) +
               kSharedSum * shape.warps_k * shape.columns * shape.block_l()) +
      (shape.split_k > 1 ? kSplitKReduction + kSlice * shape.split_k : 0);
  const double memory = kMemory * memory_us(minimum_bytes(problem), limits);
  return kLaunchUs + cycles_us(fixed + epilogue_cycles_of_element(problem), limits) +
         std::max(cycles_us(stream, limits), memory);
}

}  // namespace tunedgemm::internal
