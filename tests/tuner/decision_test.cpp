#include "tuner/decision.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tuner/remark.h"

namespace tunedgemm::internal {
namespace {

Contender contender(std::vector<float> rounds_us, int family_position) {
  Contender contender;
  contender.rounds_us = std::move(rounds_us);
  contender.preference.family_position = family_position;
  return contender;
}

Decision decide(const std::vector<Contender>& contenders) {
  std::vector<const Contender*> all;
  for (const Contender& contender : contenders) {
    all.push_back(&contender);
  }
  return tunedgemm::internal::decide(all);
}

// Nine rounds around `us`, within +- `spread`; their order depends on `phase`.
std::vector<float> rounds(double us, double spread, int phase) {
  std::vector<float> rounds_us;
  for (int round = 0; round < 9; ++round) {
    const int step = (round * 4 + phase * 2) % 9 - 4;
    rounds_us.push_back(static_cast<float>(us * (1 + spread * step / 4)));
  }
  return rounds_us;
}

TEST_CASE("The clearly fastest contender wins, and the next one is the runner-up") {
  const std::vector<Contender> contenders{contender(rounds(120, 0.01, 0), 0),
                                          contender(rounds(100, 0.01, 1), 1),
                                          contender(rounds(110, 0.01, 2), 2)};
  const Decision decision = decide(contenders);
  CHECK(decision.winner == 1);
  CHECK(decision.ties.empty());
  CHECK(decision.runner_up == 2U);
  CHECK(decision.settled);
}

TEST_CASE("Half a percent is a tie, however certain the difference, and the fixed rule breaks it") {
  std::vector<Contender> contenders{contender(rounds(100, 0.0001, 0), 2),
                                    contender(rounds(100.3, 0.0001, 1), 1)};
  CHECK(decide(contenders).winner == 1);
  CHECK(decide(contenders).ties == std::vector<std::size_t>{0});
  CHECK(decide(contenders).settled);
  contenders[1].rounds_us = rounds(100.8, 0.0001, 1);
  CHECK(decide(contenders).winner == 0);
  CHECK(decide(contenders).ties.empty());
}

TEST_CASE("Contenders that noise hides from each other tie, but not beyond two percent") {
  std::vector<Contender> contenders{contender(rounds(100, 0, 0), 2),
                                    contender({98, 104, 99, 103, 101, 97, 105, 100.5F, 102}, 1)};
  CHECK(decide(contenders).winner == 1);
  CHECK_FALSE(decide(contenders).settled);
  contenders[1].rounds_us = {99, 107, 103, 97, 104, 103, 106, 103, 105};
  CHECK(decide(contenders).winner == 0);
  CHECK(decide(contenders).ties.empty());
  CHECK_FALSE(decide(contenders).settled);
}

TEST_CASE("Among equals, one without a workspace is preferred, then the simpler family") {
  std::vector<Contender> contenders{contender(rounds(100, 0, 0), 1),
                                    contender(rounds(100, 0, 0), 3),
                                    contender(rounds(100, 0, 0), 2)};
  contenders[0].preference.needs_workspace = true;
  CHECK(decide(contenders).winner == 2);
  contenders[1].preference.family_position = 2;
  contenders[1].preference.predicted_us = -1;
  CHECK(decide(contenders).winner == 1);
}

TEST_CASE("A challenger must beat the default by half a percent, and with certainty") {
  std::vector<Contender> contenders{contender(rounds(100, 0.0005, 0), 0),
                                    contender(rounds(100.3, 0.0005, 1), 1)};
  contenders[1].is_default = true;
  CHECK(decide(contenders).winner == 1);
  contenders[1].rounds_us = rounds(100.7, 0.0005, 1);
  CHECK(decide(contenders).winner == 0);
  contenders[1].rounds_us = rounds(101.8, 0.09, 1);
  CHECK(decide(contenders).winner == 1);
}

TEST_CASE("With few rounds, a challenger clearly faster in every sample replaces the default") {
  std::vector<Contender> contenders{contender({100, 104, 101}, 5), contender({106, 112, 150}, 1)};
  contenders[1].is_default = true;
  CHECK(decide(contenders).winner == 0);
  CHECK_FALSE(decide(contenders).passed_over);
  CHECK_FALSE(decide(contenders).settled);
  contenders = {contender({100}, 5), contender({280}, 1)};
  contenders[1].is_default = true;
  CHECK(decide(contenders).winner == 0);
}

TEST_CASE("A margin far beyond the noise replaces the default in spite of an outlier") {
  // One disturbed round of seven widens the interval to include 0, and makes the samples overlap.
  std::vector<Contender> contenders{contender({50, 50.5F, 51, 500, 50, 50.2F, 50.8F}, 5),
                                    contender({100, 101, 100, 99, 100.5F, 100, 101}, 1)};
  contenders[1].is_default = true;
  CHECK(decide(contenders).winner == 0);
  contenders[0].rounds_us = {50, 50.5F, 51, 120, 50};
  contenders[1].rounds_us = {100, 101, 100, 99, 100.5F};
  CHECK(decide(contenders).winner == 0);
}

TEST_CASE("The decision says why it keeps the default: too few rounds, or noise") {
  std::vector<Contender> contenders{contender({98.4F, 98.5F, 98.6F}, 5),
                                    contender({100, 100, 100}, 1)};
  contenders[1].is_default = true;
  Decision decision = decide(contenders);
  CHECK(decision.winner == 1);
  REQUIRE(decision.passed_over);
  CHECK(decision.passed_over->index == 0);
  CHECK(decision.passed_over->speedup == Catch::Approx(100 / 98.5));
  CHECK(decision.passed_over->uncertainty ==
        Catch::Approx(0.5 * (100 / 98.4 - 100 / 98.6)).epsilon(0.01));
  CHECK(decision.passed_over->too_few_rounds);

  contenders[0].rounds_us = {90, 110, 95, 108, 92, 107, 94, 93, 109};
  contenders[1].rounds_us = rounds(101, 0, 0);
  decision = decide(contenders);
  CHECK(decision.winner == 1);
  REQUIRE(decision.passed_over);
  CHECK(decision.passed_over->speedup == Catch::Approx(101 / 95.0));
  CHECK(decision.passed_over->uncertainty > decision.passed_over->speedup - 1);
  CHECK_FALSE(decision.passed_over->too_few_rounds);

  contenders[0].rounds_us = rounds(100.9, 0, 0);
  CHECK(decide(contenders).winner == 1);
  CHECK_FALSE(decide(contenders).passed_over);
}

TEST_CASE("The default yields to one of several equals that beats it by the margin") {
  // The preferred contender is within the margin of the default; the fastest is not.
  std::vector<Contender> contenders{contender(rounds(100, 0, 0), 5),
                                    contender(rounds(100.4, 0, 0), 1),
                                    contender(rounds(100.7, 0, 0), 0)};
  contenders[2].is_default = true;
  CHECK(decide(contenders).winner == 0);
  CHECK(decide(contenders).ties == std::vector<std::size_t>{1});
}

TEST_CASE("A lone contender wins") {
  const std::vector<Contender> contenders{contender({5}, 0)};
  const Decision decision = decide(contenders);
  CHECK(decision.winner == 0);
  CHECK_FALSE(decision.runner_up.has_value());
  CHECK(decision.settled);
}

TEST_CASE("Two outlier rounds of nine do not change the winner") {
  std::vector<Contender> contenders{contender(rounds(100, 0.002, 0), 0),
                                    contender(rounds(103, 0.002, 1), 1)};
  contenders[0].rounds_us[3] *= 3;
  contenders[0].rounds_us[7] *= 1.5F;
  CHECK(decide(contenders).winner == 0);
  CHECK(decide(contenders).ties.empty());
}

TEST_CASE("The order of the contenders does not matter") {
  std::mt19937_64 random(test_seed());
  std::vector<Contender> contenders;
  for (int family = 0; family < 8; ++family) {
    contenders.push_back(contender(rounds(100 + 0.2 * family, 0.004, family), family));
  }
  contenders[6].is_default = true;
  const int expected = contenders[decide(contenders).winner].preference.family_position;
  for (int permutation = 0; permutation < 50; ++permutation) {
    std::shuffle(contenders.begin(), contenders.end(), random);
    CHECK(contenders[decide(contenders).winner].preference.family_position == expected);
  }
}

Decision passing_over(double speedup, double uncertainty, bool too_few_rounds) {
  Decision decision;
  decision.passed_over = PassedOver{
      .index = 1, .speedup = speedup, .uncertainty = uncertainty, .too_few_rounds = too_few_rounds};
  return decision;
}

Measurement within(double low_us, double high_us) {
  return {.median_us = 100, .low_us = low_us, .high_us = high_us, .samples_us = {100, 100}};
}

TEST_CASE("A remark that the default was kept gives the reason back") {
  CHECK(why_default_was_kept(why_kept(passing_over(1.015, 0.083, true), Winner::kDefault)) ==
        "too few rounds to tell");
  CHECK(why_default_was_kept("kept: default, no time to try another; busy machine") ==
        "no time to try another");
  CHECK(
      why_default_was_kept(why_kept(passing_over(1.25, 0.4, false), Winner::kChallenger)).empty());
  CHECK(why_default_was_kept("busy machine").empty());
}

TEST_CASE("A remark says which contender was kept, why, and what was measured") {
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
  CHECK(why_noisy(within(92, 110), steady, 17.5) ==
        "busy machine: samples within +-9.0 %, load 17.5");
  CHECK(load_of_machine() >= 0);
  CHECK(why_noisy(within(99, 101), {.rounds = 7, .repeated_rounds = 3}).empty());
  CHECK(why_noisy(within(99, 101), {.rounds = 7, .repeated_rounds = 4}) ==
        "the clock dropped in 4 rounds, 7 counted");
  CHECK(why_noisy(within(92, 110), {.rounds = 7, .repeated_rounds = 4}) ==
        "busy machine: samples within +-9.0 %; the clock dropped in 4 rounds, 7 counted");
}

}  // namespace
}  // namespace tunedgemm::internal
