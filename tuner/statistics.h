#pragma once

// Statistics of samples. All are order statistics (medians and ranks), because times are not
// normally distributed: their outliers are all slow. No random numbers: the same samples always
// give the same answer.

#include <limits>
#include <span>
#include <vector>

#include "cache/record.h"

namespace tunedgemm::internal {

/// The value below which `fraction` of the values lie, interpolated between neighbours.
/// Precondition: not empty, 0 <= fraction <= 1.
double quantile(std::vector<double> values, double fraction);
double median(std::vector<double> values);

/// The median absolute deviation of the values from their median. Precondition: not empty.
double median_deviation(std::vector<double> values);

/// The scatter of the samples: half the distance from the 20th to the 80th percentile, relative to
/// the median. 0 for a single sample, which has no scatter.
double relative_spread(const Measurement& measurement);

/// The median and the 20th and 80th percentiles of the samples, with the samples themselves.
/// Precondition: not empty.
Measurement summarize(std::span<const float> samples_us);

/// A closed interval, unbounded by default.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The interval that contains the median of the values' distribution with at least 95 % confidence:
/// the narrowest pair of order statistics x(r), x(n+1-r) with P(Binomial(n, 1/2) < r) <= 2.5 %.
/// Valid for every distribution. Unbounded for fewer than 6 values, for which no such pair exists.
Interval median_interval(std::vector<double> values);

/// How much slower one candidate is than another: 0.02 is 2 % slower, -0.02 is 2 % faster.
struct Comparison {
  double median = 0;
  Interval interval;     ///< 95 %
  double deviation = 0;  ///< median absolute deviation of the rounds
};

/// How much slower `rounds_us` is than `reference_us`, compared round by round, so that a slowdown
/// of a whole round cancels out. Precondition: both have the same number of rounds, at least one.
Comparison compare(std::span<const float> rounds_us, std::span<const float> reference_us);

}  // namespace tunedgemm::internal
