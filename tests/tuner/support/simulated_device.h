#pragma once

// SimulatedDevice: an evaluator with known true times. Samples have noise, outliers and a clock
// that may drop; compiling and running take simulated time.

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// A candidate's behaviour.
struct Behaviour {
  double us = 100;
  double error = 0.1;
  std::int64_t spill_bytes = 0;
  double compile_seconds = 0.02;
  std::optional<Rejection> when_prepared;
  std::optional<Rejection> when_checked;
  std::optional<Rejection> when_sampled;
  int good_samples = 0;  ///< samples that succeed before when_sampled applies
};

class SimulatedDevice final : public Evaluator {
 public:
  explicit SimulatedDevice(std::uint64_t seed) : random_(seed) {}

  void add(const Candidate& candidate, const Behaviour& behaviour) {
    behaviours_[to_text(candidate)] = behaviour;
  }

  void set_compile_deadline(double seconds) override { deadline_ = seconds; }
  void compile_ahead(std::span<const Instance> candidates) override;
  void compile_next(std::span<const Instance> candidates) override;
  bool is_compiled(const Instance& candidate) override;
  void forget(const Instance& candidate) override;
  int compile_batch() const override { return batch; }
  Prepared prepare(const Instance& instance) override;
  void warm_up() override;
  void cool_down(double seconds) override {
    now += seconds;
    ++cool_downs;
  }
  double cool_down_seconds() const override { return cool_down_before_sample; }
  Clock clock() override;
  std::string neighbour() override { return other_process; }
  double now_seconds() override { return now; }
  double roofline_us() const override { return least_us; }

  // Settings: set them before a tuning.
  double noise = 0;                ///< relative standard deviation of a sample
  double outlier_probability = 0;  ///< of a sample that takes 1.2 to 3 times as long
  double least_us = 1;
  int batch = 0;
  int compilers = 0;             ///< that compile announced candidates; 0: prepare() compiles
  bool stops_compilers = false;  ///< at the deadline, if prepare() compiles
  double cool_down_before_sample = 0;
  std::string other_process;                  ///< that uses the device
  std::function<double(double)> clock_ratio;  ///< as a function of time; empty: always 1

  // Observations: read them after a tuning.
  double now = 0;
  int warm_ups = 0, cool_downs = 0;
  std::vector<std::string> prepared;  ///< in order
  std::vector<std::string> checked;
  std::vector<std::string> sampled;
  std::vector<std::size_t> announced;  ///< sizes of the batches
  std::vector<std::size_t> prepared_when_announced;
  std::vector<std::string> forgotten;
  std::vector<std::string> of_next;  ///< the next problem's candidates, in order

 private:
  class SimulatedTrial;
  double ratio() const { return clock_ratio ? clock_ratio(now) : 1.0; }
  void compile_until(double time);

  std::mt19937_64 random_;
  double deadline_ = std::numeric_limits<double>::infinity();
  std::map<std::string, Behaviour> behaviours_;
  std::deque<std::string> to_compile_;         // in order, with `compilers`
  std::map<std::string, double> compiled_at_;  // begun compilations
  std::vector<double> free_at_;                // when each compiler is
};

}  // namespace tunedgemm::internal
