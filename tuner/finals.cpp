#include "tuner/finals.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tuner/sample.h"
#include "tuner/statistics.h"

namespace tunedgemm {
namespace {

constexpr double kSampleUs = 2000;
// Below this part of the session's clock a round measures the power supply (NVBench uses 0.75 of
// the nominal clock, FlashInfer 0.9 of the session's).
constexpr double kLowestClock = 0.9;

// SplitMix64 (Steele, Lea and Flood, 2014): the standard library's shuffle differs between
// libraries, and a seed should mean the same order everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t mixed = (state_ += 0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  void shuffle(std::vector<std::size_t>& order) {
    for (std::size_t last = order.size(); last > 1; --last) {
      std::swap(order[last - 1], order[next() % last]);
    }
  }

 private:
  std::uint64_t state_;
};

double round_seconds(const std::vector<Contender*>& racing, double cool_down_seconds) {
  double seconds = 0;
  for (const Contender* contender : racing) {
    seconds += sample_seconds(*contender) + cool_down_seconds;
  }
  return seconds;
}

// The finalists for whom the time suffices; at least the fastest and the default.
std::vector<Contender*> those_who_race(std::span<Contender> contenders, int rounds,
                                       double cool_down_seconds, double seconds) {
  std::vector<Contender*> racing;
  for (Contender& contender : contenders) {
    racing.push_back(&contender);
  }
  while (racing.size() > 2 && rounds * round_seconds(racing, cool_down_seconds) > seconds) {
    const auto slowest = std::find_if(racing.rbegin(), racing.rend() - 1, [](const Contender* one) {
      return !one->standing.is_default;
    });
    if (slowest == racing.rend() - 1) {
      break;
    }
    racing.erase(std::next(slowest).base());
  }
  return racing;
}

class Clockwatch {
 public:
  explicit Clockwatch(Evaluator& evaluator)
      : evaluator_(evaluator), reference_(evaluator.clock()) {}

  // Whether the last round ran at the session's clock. A device that was held back from the start
  // is not expected to recover.
  bool steady() {
    const Evaluator::Clock now = evaluator_.clock();
    last_mhz_ = now.mhz;
    const bool dropped = now.mhz < kLowestClock * reference_.mhz;
    const bool held_back = now.throttled && !reference_.throttled;
    reference_.mhz = std::max(reference_.mhz, now.mhz);
    return !dropped && !held_back;
  }
  int last_mhz() const { return last_mhz_; }

 private:
  Evaluator& evaluator_;
  Evaluator::Clock reference_;
  int last_mhz_ = 0;
};

// One sample of each, in this order. A finalist that fails gets its rejection.
std::vector<float> time_round(const std::vector<Contender*>& racing,
                              const std::vector<std::size_t>& order, Evaluator& evaluator) {
  std::vector<float> round_us(racing.size());
  for (const std::size_t index : order) {
    Contender& contender = *racing[index];
    evaluator.cool_down(evaluator.cool_down_seconds());
    const auto sample = plausible_sample(
        *contender.trial, launches_for(kSampleUs, contender.screened_us), evaluator.roofline_us());
    if (const Rejection* rejection = std::get_if<Rejection>(&sample)) {
      contender.rejection = *rejection;
    } else {
      round_us[index] = static_cast<float>(std::get<double>(sample));
    }
  }
  return round_us;
}

bool is_settled(const std::vector<Contender*>& racing) {
  std::vector<Contestant> standings;
  standings.reserve(racing.size());
  for (const Contender* contender : racing) {
    standings.push_back(contender->standing);
  }
  return decide(standings).settled;
}

}  // namespace

double sample_seconds(const Contender& contender) {
  const int launches = launches_for(kSampleUs, contender.screened_us);
  return 1e-6 * (launches + 1) * contender.screened_us;
}

FinalsReport run_finals(std::span<Contender> contenders, Evaluator& evaluator,
                        const SearchLimits& search_limits, TimeBudget& time_budget,
                        std::uint64_t seed, const std::function<void(int)>& on_round) {
  time_budget.grant_grace();
  evaluator.warm_up();
  Clockwatch clock(evaluator);
  Random random(seed);
  FinalsReport report;
  std::vector<double> clocks_mhz;
  const double begin = evaluator.now_seconds();
  std::vector<Contender*> racing =
      those_who_race(contenders, search_limits.minimum_rounds, evaluator.cool_down_seconds(),
                     time_budget.seconds_left());

  const auto over = [&] {
    if (report.rounds >= search_limits.minimum_rounds) {
      const double seconds = evaluator.now_seconds() - begin;
      if (report.rounds >= search_limits.maximum_rounds || seconds > search_limits.finals_seconds ||
          is_settled(racing)) {
        return true;
      }
    }
    // Asked in this order, since cancelling shortens the time that is left.
    return report.rounds > 0 && (time_budget.cancelled(), time_budget.seconds_left() <= 0);
  };
  while (!racing.empty() && !over()) {
    std::vector<std::size_t> order(racing.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    const std::vector<float> round_us = time_round(racing, order, evaluator);
    // Half as many rounds again at most: a clock that stays low is the device's clock now.
    const bool repeat = !clock.steady() && time_budget.seconds_left() > 0 &&
                        report.repeated_rounds < (search_limits.maximum_rounds + 1) / 2;
    for (std::size_t index = 0; index < racing.size() && !repeat; ++index) {
      racing[index]->standing.rounds_us.push_back(round_us[index]);
    }
    std::erase_if(racing,
                  [](const Contender* contender) { return contender->rejection.has_value(); });
    if (repeat) {
      ++report.repeated_rounds;
      evaluator.warm_up();
      continue;
    }
    clocks_mhz.push_back(clock.last_mhz());
    ++report.rounds;
    if (on_round) {
      on_round(report.rounds);
    }
  }
  report.clock_mhz = clocks_mhz.empty() ? 0 : static_cast<int>(median(clocks_mhz));
  report.enough = report.rounds >= search_limits.minimum_rounds;
  return report;
}

}  // namespace tunedgemm
