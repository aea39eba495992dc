#pragma once

// Race: the only loop that times kernels against each other. Each round takes one sample of every
// contender, in a newly shuffled order, so that drift (clock, temperature, other load on the
// machine) affects all of them alike. The caller decides when the race ends: the finals when the
// decision is settled (finals.h), a benchmark after a number of rounds.

#include <cstdint>
#include <limits>
#include <vector>

#include "tuner/contender.h"
#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// A contender that samples the trial. The trial must outlive the contender. `launch_us` is the
/// time of a launch, measured before the race.
Contender contender_of(Trial& trial, double launch_us);

struct RaceOptions {
  double sample_us = 2000;       ///< the approximate length of a sample
  double cool_down_seconds = 0;  ///< before each sample
  /// The number of rounds that may be discarded because the clock dropped. Later rounds count at
  /// any clock, because a clock that stays low is normal for this device.
  int most_repeated_rounds = 0;
  std::uint64_t seed = 0;  ///< of the shuffled orders
};

/// The time that the contender takes in a round: the cool-down, an uncounted launch, and the
/// sample.
double seconds_per_round(const Contender& contender, const RaceOptions& options);

/// Used by one thread. The contenders and the evaluator, which provides the time and the clock
/// rate, must outlive it.
class Race {
 public:
  /// Precondition: the device runs at its working clock; see Evaluator::warm_up.
  Race(std::vector<Contender*> contenders, Evaluator& evaluator, const RaceOptions& options);

  /// Runs a round and gives its times to the contenders. A contender that fails, or has an
  /// impossible time, gets a rejection and leaves the race. If the clock dropped, and time and
  /// most_repeated_rounds allow it, run_round() discards the round's times, warms the device up and
  /// returns false.
  bool run_round(double seconds_left = std::numeric_limits<double>::infinity());

  /// Runs a round and discards its times, because some kernels do setup work in their first long
  /// sample.
  void run_uncounted_round();

  /// The contenders that are still in the race.
  const std::vector<Contender*>& contenders() const { return contenders_; }
  int rounds() const { return static_cast<int>(clocks_mhz_.size()); }
  int repeated_rounds() const { return repeated_rounds_; }
  /// The median clock over the rounds; 0 if unknown.
  int clock_mhz() const;

 private:
  class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::vector<std::size_t> order(std::size_t size);

   private:
    std::uint64_t next();
    std::uint64_t state_;
  };

  std::vector<Sample> sample_all();
  void remove_rejected();
  bool clock_has_dropped();

  std::vector<Contender*> contenders_;
  Evaluator& evaluator_;
  RaceOptions options_;
  Random random_;
  Evaluator::Clock highest_clock_;
  int last_mhz_ = 0;
  int repeated_rounds_ = 0;
  std::vector<double> clocks_mhz_;
};

}  // namespace tunedgemm::internal
