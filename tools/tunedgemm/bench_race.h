#pragma once

// A race (tuner/race.h) of our kernels, and another library's proposals, for one problem, with the
// same inputs. Each result is checked first. All verbs that measure use it: bench, ladder, sweep,
// verify.

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tools/baselines/baseline.h"
#include "tools/tunedgemm/bench_result.h"
#include "tuner/race.h"

namespace tunedgemm::internal {

struct BenchRaceOptions {
  int rounds = 11;
  /// The idle time before each sample, so that one contender's power draw does not lower the next
  /// one's clock.
  std::chrono::milliseconds cool_down{20};
  double sample_us = RaceOptions{}.sample_us;
  std::function<bool()> cancelled = [] { return false; };  ///< asked between kernels and rounds
  std::uint64_t seed = 1;
  int proposals = 8;  ///< the most of the baseline's; a single one stays even if it is far behind
};

struct NamedCandidate {
  std::string name;  ///< "tuned", "naive_1d"
  Candidate candidate;
};

/// Races our candidates against the baseline's proposals, or only among themselves if the baseline
/// is null. Precondition: at least one candidate. The row has our candidates first. Its remarks say
/// why a candidate, the baseline or a proposal failed, and which results exceed our error bound.
/// Proposals that are far slower than the fastest kernel are left out without a remark. Throws
/// DeviceError, and std::runtime_error if the first candidate cannot take part.
BenchRow race_kernels(Context& context, const NamedProblem& shape,
                      const std::vector<NamedCandidate>& ours, Baseline* baseline,
                      const BenchRaceOptions& options);

/// Races configs, for authors of kernels. Unlike race_kernels(), compiles them on several threads,
/// with this compiler, and stores no binary. The row has all of them that were reached before the
/// race was cancelled: the fastest first, then those without a time, then the rejected ones, each
/// with its rejection. Throws DeviceError.
BenchRow race_configs(Context& context, const NamedProblem& shape,
                      std::span<const Instance> configs, const BenchRaceOptions& options);

}  // namespace tunedgemm::internal
