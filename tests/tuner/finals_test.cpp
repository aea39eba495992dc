#include "tuner/finals.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/tuner/support/fake_family.h"
#include "tests/tuner/support/simulated_device.h"
#include "tuner/race.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

const FakeFamily& family() {
  static const FakeFamily fake;
  return fake;
}

class Finals {
 public:
  explicit Finals(std::vector<double> times_us) : device(7) {
    for (std::size_t index = 0; index < times_us.size(); ++index) {
      Behaviour behaviour;
      behaviour.us = times_us[index];
      enter(static_cast<int>(index), behaviour);
    }
  }

  void enter(int variant, const Behaviour& behaviour) {
    const Candidate candidate = family().candidate(variant);
    device.add(candidate, behaviour);
    trials.push_back(
        std::get<std::unique_ptr<Trial>>(device.prepare(family().instance(candidate))));
    contenders.push_back(contender_of(*trials.back(), behaviour.us));
  }

  FinalsReport run() {
    TimeBudget time_budget(device, seconds, cancelled);
    std::vector<Contender*> racing;
    for (Contender& contender : contenders) {
      racing.push_back(&contender);
    }
    return run_finals(racing, device, search_limits, time_budget, seed, nullptr);
  }

  std::size_t rounds(std::size_t index) const { return contenders[index].rounds_us.size(); }
  double median_us(std::size_t index) const {
    return summarize(contenders[index].rounds_us).median_us;
  }

  SimulatedDevice device;
  std::vector<std::unique_ptr<Trial>> trials;
  std::vector<Contender> contenders;
  SearchLimits search_limits = search_limits_of(Rigor::kNormal, {});
  double seconds = 10;
  std::uint64_t seed = 0;
  std::function<bool()> cancelled;
};

TEST_CASE("Finals of clearly different candidates stop at the minimum of rounds") {
  Finals finals({100, 110, 130});
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 7);
  CHECK(report.enough);
  CHECK(report.clock_mhz == 1980);
  CHECK(finals.rounds(0) == 7);
  CHECK(finals.rounds(2) == 7);
  CHECK(finals.device.warm_ups == 1);
}

TEST_CASE("Finals of candidates that noise hides go on to the maximum of rounds") {
  Finals finals({100, 100.7});
  finals.device.noise = 0.03;
  CHECK(finals.run().rounds == finals.search_limits.maximum_rounds);
}

TEST_CASE("Every round times everybody once, in an order that a seed decides") {
  Finals finals({100, 110, 130}), same({100, 110, 130}), other({100, 110, 130});
  other.seed = 1;
  finals.run();
  same.run();
  other.run();
  CHECK(finals.device.sampled == same.device.sampled);
  CHECK(finals.device.sampled != other.device.sampled);
  auto& sampled = finals.device.sampled;
  REQUIRE(sampled.size() == 21);
  for (auto round = sampled.begin(); round != sampled.end(); round += 3) {
    std::sort(round, round + 3);
    CHECK(std::adjacent_find(round, round + 3) == round + 3);
  }
}

TEST_CASE("Finals let the device cool down before each sample, and count it when time is short") {
  Finals cooled({100, 110, 130});
  cooled.device.cool_down_before_sample = 0.004;
  const double begin = cooled.device.now;
  const FinalsReport report = cooled.run();
  CHECK(report.rounds == 7);
  CHECK(cooled.device.cool_downs == 3 * report.rounds);
  CHECK(cooled.device.now - begin > 0.004 * 3 * report.rounds);
}

TEST_CASE("Rounds with a dropped clock are run again") {
  Finals finals({100, 110});
  finals.device.clock_ratio = [](double now) { return now > 0.075 && now < 0.08 ? 0.5 : 1.0; };
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 7);
  CHECK(report.repeated_rounds > 0);
  for (std::size_t index : {0, 1}) {
    CHECK(finals.rounds(index) == 7);
    for (const float us : finals.contenders[index].rounds_us) {
      CHECK(us == Catch::Approx(index == 0 ? 100 : 110));
    }
  }
}

TEST_CASE("A clock that has risen during the finals and falls back has dropped") {
  Finals finals({100, 110});
  // Far above the 0.9 of the clock at the beginning, and below that of the highest one.
  finals.device.clock_ratio = [](double now) {
    return now < 0.07 ? 0.8 : now > 0.075 && now < 0.08 ? 0.85 : 1.0;
  };
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 7);
  CHECK(report.repeated_rounds > 0);
}

TEST_CASE("A clock that never recovers is accepted after a bounded number of rounds") {
  Finals finals({100, 110});
  finals.device.clock_ratio = [](double now) { return now > 0.065 ? 0.5 : 1.0; };
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 7);
  CHECK(report.repeated_rounds == 13);
  CHECK(report.clock_mhz == 990);
}

TEST_CASE("A finalist that fails in a round leaves, and the others go on") {
  Finals finals({100, 110});
  Behaviour failing;
  failing.us = 90;
  failing.good_samples = 2;
  failing.when_sampled = Rejection{Reason::kTimedOut, "hung"};
  finals.enter(2, failing);
  CHECK(finals.run().rounds == 7);
  REQUIRE(finals.contenders[2].rejection);
  CHECK(finals.contenders[2].rejection->reason == Reason::kTimedOut);
  CHECK_FALSE(finals.contenders[0].rejection);
  CHECK(finals.rounds(0) == 7);
}

TEST_CASE("A finalist with an impossible time leaves") {
  Finals finals({100, 110});
  finals.device.least_us = 120;
  CHECK(finals.run().rounds == 7);
  CHECK(finals.contenders[0].rejection->reason == Reason::kImplausible);
  CHECK_FALSE(finals.contenders[1].rejection);
}

TEST_CASE("Where time is short the slowest stay out, but not the default") {
  Finals finals({50e3, 55e3, 60e3, 70e3});
  finals.contenders[3].is_default = true;
  finals.seconds = 2;
  const FinalsReport report = finals.run();
  CHECK(report.enough);
  CHECK(finals.rounds(0) == 7);
  CHECK(finals.rounds(1) == 0);
  CHECK(finals.rounds(2) == 0);
  CHECK(finals.rounds(3) == 7);
}

TEST_CASE("Without time at least one round is run, and the report says that it was not enough") {
  Finals finals({1e6, 2e6});
  finals.seconds = 0;
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 1);
  CHECK_FALSE(report.enough);
}

TEST_CASE("Cancelled finals end within the grace") {
  Finals finals({20e3, 20.1e3});
  finals.device.noise = 0.05;
  finals.seconds = 1000;
  finals.search_limits.minimum_rounds = 1000;
  finals.cancelled = [&] { return finals.device.now > 2; };
  CHECK_FALSE(finals.run().enough);
  CHECK(finals.device.now < 2 + TimeBudget::kGraceSeconds + 0.2);
}

}  // namespace
}  // namespace tunedgemm::internal
