#include "tuner/remark.h"

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

Decision passing_over(double speedup, double uncertainty, bool too_few_rounds) {
  Decision decision;
  decision.passed_over = PassedOver{
      .index = 1, .speedup = speedup, .uncertainty = uncertainty, .too_few_rounds = too_few_rounds};
  return decision;
}

Measurement within(double low_us, double high_us) {
  return {.median_us = 100, .low_us = low_us, .high_us = high_us, .samples_us = {100, 100}};
}

TEST_CASE("A remark says who was kept, why, and what was measured") {
  CHECK(why_kept({}, Winner::kDefault).empty());
  CHECK(why_kept(passing_over(1.015, 0.083, true), Winner::kDefault) ==
        "kept: default, too few rounds to tell (another measured 1.01x, +-8.3 %)");
  CHECK(why_kept(passing_over(1.25, 0.4, false), Winner::kChallenger) ==
        "kept: the preferred of equals, noise hides the difference (another measured 1.25x, "
        "+-40.0 %)");
  CHECK_THAT(why_kept(passing_over(1.25, 0.4, false), Winner::kTunedLaunch),
             Catch::Matchers::StartsWith("kept: the launch that was tuned, noise hides"));
}

TEST_CASE("A remark says that the machine was busy or its clock dropped") {
  const FinalsReport steady{.rounds = 7};
  CHECK(why_noisy(within(99, 101), steady).empty());
  CHECK(why_noisy(within(92, 110), steady) == "busy machine: samples within +-9.0 %");
  CHECK(why_noisy(within(99, 101), {.rounds = 7, .repeated_rounds = 3}).empty());
  CHECK(why_noisy(within(99, 101), {.rounds = 7, .repeated_rounds = 4}) ==
        "the clock dropped in 4 rounds, 7 counted");
  CHECK(why_noisy(within(92, 110), {.rounds = 7, .repeated_rounds = 4}) ==
        "busy machine: samples within +-9.0 %; the clock dropped in 4 rounds, 7 counted");
}

}  // namespace
}  // namespace tunedgemm::internal
