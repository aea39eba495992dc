#include "tuner/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tunedgemm::internal {

double quantile(std::vector<double> values, double fraction) {
  assert(!values.empty() && fraction >= 0 && fraction <= 1);
  std::sort(values.begin(), values.end());
  const double position = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double median_deviation(std::vector<double> values) {
  const double middle = median(values);
  for (double& value : values) {
    value = std::abs(value - middle);
  }
  return median(std::move(values));
}

double relative_spread(const Measurement& measurement) {
  return (measurement.high_us - measurement.low_us) / (2 * measurement.median_us);
}

Measurement summarize(std::span<const float> samples_us) {
  const std::vector<double> values(samples_us.begin(), samples_us.end());
  return Measurement{.median_us = median(values),
                     .low_us = quantile(values, 0.2),
                     .high_us = quantile(values, 0.8),
                     .samples_us = {samples_us.begin(), samples_us.end()}};
}

Interval median_interval(std::vector<double> values) {
  constexpr double kTail = 0.025;
  const std::size_t count = values.size();
  // `tail` sums the binomial probabilities that 0, 1, ... values are below the median.
  double probability = std::ldexp(1.0, -static_cast<int>(count));
  double tail = probability;
  std::size_t rank = 0;
  while (rank < count && tail <= kTail) {
    ++rank;
    probability *= static_cast<double>(count - rank + 1) / static_cast<double>(rank);
    tail += probability;
  }
  if (rank == 0) {
    return {};
  }
  std::sort(values.begin(), values.end());
  return {values[rank - 1], values[count - rank]};
}

Comparison compare(std::span<const float> rounds_us, std::span<const float> reference_us) {
  assert(rounds_us.size() == reference_us.size() && !rounds_us.empty());
  std::vector<double> slower;
  slower.reserve(rounds_us.size());
  for (std::size_t round = 0; round < rounds_us.size(); ++round) {
    slower.push_back(
        static_cast<double>(rounds_us[round]) / static_cast<double>(reference_us[round]) - 1.0);
  }
  return Comparison{median(slower), median_interval(slower), median_deviation(slower)};
}

}  // namespace tunedgemm::internal
