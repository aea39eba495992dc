// How the warpgroups of a multiprocessor divide its 65536 registers. Expects the tile's numbers as
// constants.
#pragma once

#include "operand_tiles.cuh"

// Registers of a thread: what the producer gives back, the consumers take. The sums leave room for
// what the end of a tile needs besides.
constexpr int kFragments = kRegistersA ? 32 * (kRowBlocks - 1) : 0;  // of a first row block: room
constexpr int kSums = kRowBlocks * kBlockN / 2 + (kPromotes ? kBlockN / 2 : 0) + kFragments;
constexpr bool kAdds = kReadC || kBias != Bias::kNone;
constexpr bool kFewRegisters = kSplitK > 1 && kConsumers == 3;
constexpr int kSixths = kAdds && kFragments > 0 ? 4 : kAdds || kFewRegisters ? 5 : 6;
constexpr int kMostSums = (kConsumers < 3 ? 192 : kRegistersA ? 96 : 100) * kSixths / 6;
static_assert(kSums <= kMostSums, "the tile needs too many accumulators a thread: make it smaller");
constexpr int kProducerRegisters = kConsumers == 3 || kTurns ? 56 : 40;
constexpr int kConsumerRegisters = kConsumers == 3 ? 152 : kTurns ? 224 : 232;
constexpr int kRegistersAtStart = 65536 / kThreads / 8 * 8;
static_assert(kConsumers == 1 || kProducerRegisters + kConsumers * kConsumerRegisters <=
                                     kRegistersAtStart * (1 + kConsumers),
              "consumers would wait for ever for registers that nobody gives back");
