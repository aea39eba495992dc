#pragma once

// race(): our kernel and the vendor's proposals for one problem, side by side: the same inputs,
// cold, in the same rounds in a shuffled order, each result checked first.

#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "tools/vendor/cublaslt.h"

namespace tunedgemm {

struct Racer {
  std::string name;      ///< "tuned", "cublaslt 0" (the vendor's default), "cublaslt 1", ...
  double max_error = 0;  ///< of the check, relative to the error bound
  std::vector<float> rounds_us;
};

struct Race {
  std::string kernel;                ///< the tuned candidate, as text
  std::vector<Racer> racers;         ///< ours first
  std::vector<std::string> remarks;  ///< results of the vendor outside our error bound
  double floor_us = 0;
};

/// Runs the candidate against the vendor (null: alone) for so many rounds. The problem is
/// canonical. Throws DeviceError; std::runtime_error with a sentence if our own kernel is wrong or
/// cannot be made.
Race race(Context& context, const Problem& problem, const Candidate& candidate, CublasLt* vendor,
          int rounds, std::uint64_t seed);

}  // namespace tunedgemm
