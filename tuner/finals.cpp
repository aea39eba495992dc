#include "tuner/finals.h"

#include <algorithm>
#include <iterator>

#include "tuner/decision.h"
#include "tuner/race.h"

namespace tunedgemm::internal {
namespace {

double seconds_per_round(const std::vector<Contender*>& contenders, const RaceOptions& options) {
  double seconds = 0;
  for (const Contender* contender : contenders) {
    seconds += seconds_per_round(*contender, options);
  }
  return seconds;
}

// Removes the slowest contenders until `rounds` rounds fit into `seconds`. Keeps at least the
// fastest and the default.
void leave_out_slowest(std::vector<Contender*>& contenders, int rounds, const RaceOptions& options,
                       double seconds) {
  while (contenders.size() > 2 && rounds * seconds_per_round(contenders, options) > seconds) {
    const auto slowest =
        std::find_if(contenders.rbegin(), contenders.rend() - 1,
                     [](const Contender* contender) { return !contender->is_default; });
    if (slowest == contenders.rend() - 1) {
      return;
    }
    contenders.erase(std::next(slowest).base());
  }
}

}  // namespace

FinalsReport run_finals(std::vector<Contender*> contenders, Evaluator& evaluator,
                        const SearchLimits& search_limits, TimeBudget& time_budget,
                        std::uint64_t seed, const std::function<void(int)>& on_round) {
  time_budget.grant_grace();
  evaluator.warm_up();
  const double begin = time_budget.seconds_spent();
  const RaceOptions options{.cool_down_seconds = evaluator.cool_down_seconds(),
                            .most_repeated_rounds = (search_limits.maximum_rounds + 1) / 2,
                            .seed = seed};
  leave_out_slowest(contenders, search_limits.minimum_rounds, options, time_budget.seconds_left());
  Race race(std::move(contenders), evaluator, options);

  const auto is_over = [&] {
    if (race.rounds() >= search_limits.minimum_rounds) {
      const double seconds = time_budget.seconds_spent() - begin;
      if (race.rounds() >= search_limits.maximum_rounds || seconds > search_limits.finals_seconds ||
          decide(race.contenders()).settled) {
        return true;
      }
    }
    // cancelled() comes first, because it updates the time that is left.
    return race.rounds() > 0 && (time_budget.cancelled(), time_budget.seconds_left() <= 0);
  };
  while (!race.contenders().empty() && !is_over()) {
    if (race.run_round(time_budget.seconds_left()) && on_round) {
      on_round(race.rounds());
    }
  }
  return {.rounds = race.rounds(),
          .repeated_rounds = race.repeated_rounds(),
          .clock_mhz = race.clock_mhz(),
          .enough = race.rounds() >= search_limits.minimum_rounds};
}

}  // namespace tunedgemm::internal
