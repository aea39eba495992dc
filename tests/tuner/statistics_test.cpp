#include "tuner/statistics.h"

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

TEST_CASE("Quantiles interpolate between the neighbouring values") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(quantile({10, 20, 30, 40, 50}, 0.2) == Catch::Approx(18));
  CHECK(quantile({7}, 0.8) == 7);
  CHECK(quantile({1, 2}, 1) == 2);
}

TEST_CASE("A measurement keeps its samples and is not moved by one outlier") {
  const std::vector<float> samples{10, 11, 900, 10, 11, 10, 11};
  const Measurement measurement = summarize(samples);
  CHECK(measurement.samples_us == samples);
  CHECK(measurement.median_us == 11);
  CHECK(measurement.low_us == Catch::Approx(10));
  CHECK(measurement.high_us == Catch::Approx(11));
}

TEST_CASE("The median's interval has the ranks of the binomial table") {
  CHECK(median_interval({1, 2, 3, 4, 5}) == Interval{});
  CHECK(median_interval({6, 1, 2, 3, 4, 5}) == Interval{1, 6});
  CHECK(median_interval({1, 2, 3, 4, 5, 6, 7, 8}) == Interval{1, 8});
  CHECK(median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9}) == Interval{2, 8});
  std::vector<double> values;
  for (int value = 1; value <= 25; ++value) {
    values.push_back(value);
  }
  CHECK(median_interval(values) == Interval{8, 18});
}

TEST_CASE("A round-by-round comparison cancels the slowdown of a whole round") {
  std::vector<float> reference, slower;
  for (int round = 0; round < 9; ++round) {
    const float drift = 1.0F + 0.2F * static_cast<float>(round);
    reference.push_back(100 * drift);
    slower.push_back(101 * drift);
  }
  const Comparison comparison = compare(slower, reference);
  CHECK(comparison.median == Catch::Approx(0.01).margin(1e-5));
  CHECK(comparison.interval.low == Catch::Approx(0.01).margin(1e-5));
  CHECK(comparison.interval.high == Catch::Approx(0.01).margin(1e-5));
}

}  // namespace
}  // namespace tunedgemm::internal
