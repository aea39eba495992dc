#pragma once

// A race (tuner/race.h) of our kernels with another library's proposals for one problem: the same
// inputs, cold, each result checked first.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tools/baselines/baseline.h"
#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

struct BenchRaceOptions {
  int rounds = 11;
  /// Before each sample, so that a contender that draws much power does not lower the clock of the
  /// one after it.
  std::chrono::milliseconds cool_down{20};
  std::uint64_t seed = 1;
};

struct NamedCandidate {
  std::string name;  ///< "tuned", "naive_1d"
  Candidate candidate;
};

/// Races our candidates, at least one, against the baseline's proposals (null: among themselves). The
/// row has ours first; its remarks say why one of ours, the baseline, or one of its proposals is not
/// there, and which results are outside our error bound. Throws DeviceError; std::runtime_error
/// with a sentence if the first candidate is wrong or cannot be made.
BenchRow race_kernels(Context& context, const Shape& shape, const std::vector<NamedCandidate>& ours,
                      Baseline* baseline, const BenchRaceOptions& options);

}  // namespace tunedgemm::internal
