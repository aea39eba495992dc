#pragma once

// race(): kernels of ours and the vendor's proposals for one problem, side by side: the same
// inputs, cold, in the same rounds in a shuffled order, each result checked first.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "tools/vendor/vendor.h"

namespace tunedgemm {

struct RaceOptions {
  int rounds = 11;
  /// How long the device rests before each sample, so that an arm which draws much power does not
  /// lower the clock of the one after it.
  std::chrono::milliseconds rest{20};
  std::uint64_t seed = 1;
};

/// One of ours.
struct Entry {
  std::string name;  ///< "tuned", "naive_1d"
  Candidate candidate;
};

struct Racer {
  std::string name;      ///< as its Entry has it; the vendor's: "cublaslt 0" (its default), ...
  std::string kernel;    ///< the candidate, as text; empty for the vendor's
  double max_error = 0;  ///< of the check, relative to the error bound
  std::vector<float> rounds_us;
  std::vector<double> clocks_mhz;  ///< during each round; 0 where it cannot be told
};

struct Race {
  std::vector<Racer> racers;         ///< ours first
  std::vector<std::string> remarks;  ///< why one of ours, the vendor, or one of its proposals is
                                     ///< not there, and which results are outside our error bound
};

/// Runs our entries, at least one, against the vendor (null: among themselves). The problem is
/// canonical. Throws DeviceError; std::runtime_error with a sentence if the first entry is wrong or
/// cannot be made.
Race race(Context& context, const Problem& problem, const std::vector<Entry>& ours, Vendor* vendor,
          const RaceOptions& options);

}  // namespace tunedgemm
