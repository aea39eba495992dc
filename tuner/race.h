#pragma once

// Race: the one loop in which kernels are timed beside each other. Each round takes one sample of
// every contender, in an order that is shuffled anew, so that whatever drifts (clock, temperature,
// a neighbour on the machine) meets all of them alike. When the race ends, and what its times mean,
// the caller decides: the finals end when the decision is settled (finals.h), a benchmark after a
// number of rounds.

#include <cstdint>
#include <limits>
#include <vector>

#include "tuner/contender.h"
#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// Samples the trial, which must outlive it. `launch_us` is what a launch took before the race.
Contender contender_of(Trial& trial, double launch_us);

struct RaceOptions {
  double sample_us = 2000;       ///< about how long a sample is to take
  double cool_down_seconds = 0;  ///< before each sample
  /// How many rounds may be thrown away because the clock had dropped; beyond that they count,
  /// since a clock that stays low is the device's clock now.
  int most_repeated_rounds = 0;
  std::uint64_t seed = 0;  ///< of the orders
};

/// What the contender takes of a round: the cool-down, and its sample with the launch before it.
double seconds_per_round(const Contender& contender, const RaceOptions& options);

/// Used by one thread. Refers to the contenders and to the evaluator, which says the time and the
/// clock.
class Race {
 public:
  /// The device has its working clock: see Evaluator::warm_up.
  Race(std::vector<Contender*> contenders, Evaluator& evaluator, const RaceOptions& options);

  /// A round, whose times go to the contenders. Who fails, or has a time that the device cannot
  /// reach, gets a rejection and leaves the race. If the clock had dropped and of `seconds_left`
  /// something is left afterwards, the round is thrown away, the device is warmed up, and the
  /// result is false.
  bool run_round(double seconds_left = std::numeric_limits<double>::infinity());

  /// A round of which no time is kept, for kernels whose first long sample has something to set up.
  void run_uncounted_round();

  /// Those who have not left.
  const std::vector<Contender*>& contenders() const { return contenders_; }
  int rounds() const { return static_cast<int>(clocks_mhz_.size()); }
  int repeated_rounds() const { return repeated_rounds_; }
  /// The median over the rounds; 0 where it cannot be told.
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
