#include "tuner/decision.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

double median_us(const Contender& contender) {
  return median({contender.rounds_us.begin(), contender.rounds_us.end()});
}

// The contender with the lowest median, ignoring `except`. If medians are equal, the preference
// decides.
std::optional<std::size_t> fastest(std::span<const Contender* const> contenders,
                                   std::optional<std::size_t> except) {
  std::optional<std::size_t> best;
  for (std::size_t index = 0; index < contenders.size(); ++index) {
    if (index == except) {
      continue;
    }
    const auto before = [&](const Contender* left, const Contender* right) {
      const double left_us = median_us(*left), right_us = median_us(*right);
      return left_us != right_us ? left_us < right_us : left->preference < right->preference;
    };
    if (!best || before(contenders[index], contenders[*best])) {
      best = index;
    }
  }
  return best;
}

bool is_tie(const Comparison& slower) {
  const bool noise = slower.interval.low <= 0 && slower.interval.high >= 0;
  return std::abs(slower.median) <= kTieMargin || (noise && std::abs(slower.median) <= kTieCeiling);
}

std::vector<std::size_t> ties_of(std::size_t reference,
                                 std::span<const Contender* const> contenders) {
  std::vector<std::size_t> ties;
  for (std::size_t index = 0; index < contenders.size(); ++index) {
    if (index != reference &&
        is_tie(compare(contenders[index]->rounds_us, contenders[reference]->rounds_us))) {
      ties.push_back(index);
    }
  }
  return ties;
}

bool straddles(const Interval& interval, double margin) {
  return interval.low <= margin && interval.high > margin;
}

bool is_settled(std::size_t best, std::span<const Contender* const> contenders) {
  return std::none_of(contenders.begin(), contenders.end(), [&](const Contender* other) {
    if (other == contenders[best]) {
      return false;
    }
    const Interval slower = compare(other->rounds_us, contenders[best]->rounds_us).interval;
    return straddles(slower, other->is_default ? kDefaultMargin : kTieMargin);
  });
}

// Whether every sample of `faster` is below every sample of `slower`.
bool is_apart(const Contender& faster, const Contender& slower) {
  return *std::max_element(faster.rounds_us.begin(), faster.rounds_us.end()) <
         *std::min_element(slower.rounds_us.begin(), slower.rounds_us.end());
}

// Whether the challenger is faster by enough to replace the default: see step 5 in the README.
bool replaces(const Contender& challenger, const Contender& default_candidate) {
  const Comparison slower = compare(default_candidate.rounds_us, challenger.rounds_us);
  if (slower.interval.low > 0) {
    return slower.median >= kDefaultMargin;
  }
  // If the interval contains 0, only a large difference counts.
  return slower.median > kTieCeiling && (is_apart(challenger, default_candidate) ||
                                         slower.median > kFarBeyondNoise * slower.deviation);
}

double half_width(std::span<const float> rounds_us, std::span<const float> reference_us) {
  const Interval interval = compare(rounds_us, reference_us).interval;
  if (std::isfinite(interval.low)) {
    return (interval.high - interval.low) / 2;
  }
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (std::size_t round = 0; round < rounds_us.size(); ++round) {
    const double ratio =
        static_cast<double>(rounds_us[round]) / static_cast<double>(reference_us[round]);
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  return (high - low) / 2;
}

std::optional<PassedOver> passed_over(std::size_t best, std::size_t winner,
                                      std::span<const Contender* const> contenders) {
  const double speedup = median_us(*contenders[winner]) / median_us(*contenders[best]);
  if (speedup <= 1 + kTieMargin) {
    return std::nullopt;
  }
  const std::vector<float>& rounds_us = contenders[winner]->rounds_us;
  const std::vector<float>& best_us = contenders[best]->rounds_us;
  return PassedOver{.index = best,
                    .speedup = speedup,
                    .uncertainty = half_width(rounds_us, best_us),
                    .too_few_rounds = !std::isfinite(compare(rounds_us, best_us).interval.low)};
}

}  // namespace

bool operator<(const Preference& left, const Preference& right) {
  const auto in_order = [](const Preference& preference) {
    return std::tie(preference.needs_workspace, preference.family_position, preference.predicted_us,
                    preference.text);
  };
  return in_order(left) < in_order(right);
}

Decision decide(std::span<const Contender* const> contenders) {
  assert(!contenders.empty());
  const std::size_t best = *fastest(contenders, std::nullopt);
  std::vector<std::size_t> equals = ties_of(best, contenders);
  equals.push_back(best);
  std::sort(equals.begin(), equals.end(), [&](std::size_t left, std::size_t right) {
    return contenders[left]->preference < contenders[right]->preference;
  });

  Decision decision;
  decision.winner = equals.front();
  const auto default_candidate =
      std::find_if(contenders.begin(), contenders.end(),
                   [](const Contender* contender) { return contender->is_default; });
  if (default_candidate != contenders.end()) {
    const auto challenger = std::find_if(equals.begin(), equals.end(), [&](std::size_t index) {
      return replaces(*contenders[index], **default_candidate);
    });
    decision.winner = challenger != equals.end()
                          ? *challenger
                          : static_cast<std::size_t>(default_candidate - contenders.begin());
  }
  decision.ties = ties_of(decision.winner, contenders);
  decision.runner_up = fastest(contenders, decision.winner);
  decision.passed_over = passed_over(best, decision.winner, contenders);
  decision.settled = is_settled(best, contenders);
  return decision;
}

}  // namespace tunedgemm::internal
