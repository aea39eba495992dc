#include "tuner/race.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tuner/evaluator.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

// Below this fraction of the highest clock, a round would measure power management (NVBench uses
// 0.75 of the nominal clock, FlashInfer 0.9 of the session's).
constexpr double kLowestClock = 0.9;

}  // namespace

// SplitMix64 (Steele, Lea and Flood, 2014): unlike std::shuffle, it gives the same order with every
// standard library.
std::uint64_t Race::Random::next() {
  std::uint64_t mixed = (state_ += 0x9e3779b97f4a7c15);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::vector<std::size_t> Race::Random::order(std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t last = size; last > 1; --last) {
    std::swap(order[last - 1], order[next() % last]);
  }
  return order;
}

Contender contender_of(Trial& trial, double launch_us) {
  Contender contender;
  contender.launch_us = launch_us;
  contender.sample = [&trial](int launches) -> std::variant<Sample, Rejection> {
    auto us = trial.sample(launches);
    if (auto* rejection = std::get_if<Rejection>(&us)) {
      return std::move(*rejection);
    }
    return Sample{.us = std::get<double>(us)};
  };
  return contender;
}

double seconds_per_round(const Contender& contender, const RaceOptions& options) {
  const int launches = launches_for(options.sample_us, contender.launch_us);
  return options.cool_down_seconds + 1e-6 * (launches + 1) * contender.launch_us;
}

Race::Race(std::vector<Contender*> contenders, Evaluator& evaluator, const RaceOptions& options)
    : contenders_(std::move(contenders)),
      evaluator_(evaluator),
      options_(options),
      random_(options.seed),
      highest_clock_(evaluator.clock()) {}

bool Race::run_round(double seconds_left) {
  const double end = evaluator_.now_seconds() + seconds_left;
  const std::vector<Sample> samples = sample_all();
  const bool repeat = clock_has_dropped() && evaluator_.now_seconds() < end &&
                      repeated_rounds_ < options_.most_repeated_rounds;
  for (std::size_t index = 0; index < contenders_.size() && !repeat; ++index) {
    if (!contenders_[index]->rejection) {
      contenders_[index]->rounds_us.push_back(static_cast<float>(samples[index].us));
      contenders_[index]->clocks_mhz.push_back(samples[index].clock_mhz);
    }
  }
  remove_rejected();
  if (repeat) {
    ++repeated_rounds_;
    evaluator_.warm_up();
    return false;
  }
  clocks_mhz_.push_back(last_mhz_);
  return true;
}

void Race::run_uncounted_round() {
  sample_all();
  remove_rejected();
}

int Race::clock_mhz() const {
  return clocks_mhz_.empty() ? 0 : static_cast<int>(median(clocks_mhz_));
}

std::vector<Sample> Race::sample_all() {
  std::vector<Sample> samples(contenders_.size());
  for (const std::size_t index : random_.order(contenders_.size())) {
    Contender& contender = *contenders_[index];
    evaluator_.cool_down(options_.cool_down_seconds);
    const auto sampled = contender.sample(launches_for(options_.sample_us, contender.launch_us));
    if (const Rejection* rejection = std::get_if<Rejection>(&sampled)) {
      contender.rejection = *rejection;
    } else {
      samples[index] = std::get<Sample>(sampled);
      contender.rejection = why_implausible(samples[index].us, evaluator_.roofline_us());
    }
  }
  return samples;
}

void Race::remove_rejected() {
  std::erase_if(contenders_,
                [](const Contender* contender) { return contender->rejection.has_value(); });
}

// Throttling counts only if the device was not throttled from the start.
bool Race::clock_has_dropped() {
  const Evaluator::Clock now = evaluator_.clock();
  last_mhz_ = now.mhz;
  const bool dropped = now.mhz < kLowestClock * highest_clock_.mhz;
  const bool held_back = now.throttled && !highest_clock_.throttled;
  highest_clock_.mhz = std::max(highest_clock_.mhz, now.mhz);
  return dropped || held_back;
}

}  // namespace tunedgemm::internal
