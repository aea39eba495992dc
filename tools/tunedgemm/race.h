#pragma once

// race(): our kernel and the vendor's proposals for one problem, side by side: the same inputs,
// cold, in the same rounds in a shuffled order, each result checked first.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "tools/vendor/cublaslt.h"

namespace tunedgemm {

struct RaceOptions {
  int rounds = 11;
  /// How long the device rests before each sample, so that an arm which draws much power does not
  /// lower the clock of the one after it.
  std::chrono::milliseconds rest{20};
  std::uint64_t seed = 1;
};

struct Racer {
  std::string name;      ///< "tuned", "cublaslt 0" (the vendor's default), "cublaslt 1", ...
  double max_error = 0;  ///< of the check, relative to the error bound
  std::vector<float> rounds_us;
  std::vector<double> clocks_mhz;  ///< at the end of each round; 0 where it cannot be told
};

struct Race {
  std::string kernel;                ///< the tuned candidate, as text
  std::vector<Racer> racers;         ///< ours first
  std::vector<std::string> remarks;  ///< why the vendor, or one of its proposals, is not there, and
                                     ///< which results are outside our error bound
};

/// Runs the candidate against the vendor (null: alone). The problem is canonical. Throws
/// DeviceError; std::runtime_error with a sentence if our own kernel is wrong or cannot be made.
Race race(Context& context, const Problem& problem, const Candidate& candidate, CublasLt* vendor,
          const RaceOptions& options);

}  // namespace tunedgemm
