#include "tuner/finals.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/tuner/support/fake_family.h"
#include "tests/tuner/support/simulated_device.h"
#include "tuner/statistics.h"

namespace tunedgemm {
namespace {

const FakeFamily& family() {
  static const FakeFamily fake;
  return fake;
}

class Race {
 public:
  explicit Race(std::vector<double> times_us) : device(7) {
    for (std::size_t index = 0; index < times_us.size(); ++index) {
      Behaviour behaviour;
      behaviour.us = times_us[index];
      enter(static_cast<int>(index), behaviour);
    }
  }

  void enter(int variant, const Behaviour& behaviour) {
    const Candidate candidate = family().candidate(variant);
    device.add(candidate, behaviour);
    Contender contender;
    contender.selected.ranked.candidate = candidate;
    contender.screened_us = behaviour.us;
    contender.trial = std::get<std::unique_ptr<Trial>>(device.prepare(candidate));
    contenders.push_back(std::move(contender));
  }

  FinalsReport run() {
    TimeBudget time_budget(device, seconds, cancelled);
    return run_finals(contenders, device, search_limits, time_budget, seed, nullptr);
  }

  std::size_t rounds(std::size_t index) const {
    return contenders[index].standing.rounds_us.size();
  }
  double median_us(std::size_t index) const {
    return summarize(contenders[index].standing.rounds_us).median_us;
  }

  SimulatedDevice device;
  std::vector<Contender> contenders;
  SearchLimits search_limits = search_limits_of(Rigor::kNormal, {});
  double seconds = 10;
  std::uint64_t seed = 0;
  std::function<bool()> cancelled;
};

TEST_CASE("Finals of clearly different candidates stop at the minimum of rounds") {
  Race race({100, 110, 130});
  const FinalsReport report = race.run();
  CHECK(report.rounds == 7);
  CHECK(report.enough);
  CHECK(report.clock_mhz == 1980);
  CHECK(race.rounds(0) == 7);
  CHECK(race.rounds(2) == 7);
  CHECK(race.device.warm_ups == 1);
}

TEST_CASE("Finals of candidates that noise hides go on to the maximum of rounds") {
  Race race({100, 100.7});
  race.device.noise = 0.03;
  CHECK(race.run().rounds == race.search_limits.maximum_rounds);
}

TEST_CASE("Every round times everybody once, in an order that a seed decides") {
  Race race({100, 110, 130}), same({100, 110, 130}), other({100, 110, 130});
  other.seed = 1;
  race.run();
  same.run();
  other.run();
  CHECK(race.device.sampled == same.device.sampled);
  CHECK(race.device.sampled != other.device.sampled);
  auto& sampled = race.device.sampled;
  REQUIRE(sampled.size() == 21);
  for (auto round = sampled.begin(); round != sampled.end(); round += 3) {
    std::sort(round, round + 3);
    CHECK(std::adjacent_find(round, round + 3) == round + 3);
  }
}

TEST_CASE("Finals let the device cool down before each sample, and count it when time is short") {
  Race cooled({100, 110, 130});
  cooled.device.cool_down_before_sample = 0.004;
  const double begin = cooled.device.now;
  const FinalsReport report = cooled.run();
  CHECK(report.rounds == 7);
  CHECK(cooled.device.cool_downs == 3 * report.rounds);
  CHECK(cooled.device.now - begin > 0.004 * 3 * report.rounds);
}

TEST_CASE("Rounds with a dropped clock are run again") {
  Race race({100, 110});
  race.device.clock_ratio = [](double now) { return now > 0.075 && now < 0.08 ? 0.5 : 1.0; };
  const FinalsReport report = race.run();
  CHECK(report.rounds == 7);
  CHECK(report.repeated_rounds > 0);
  for (const float us : race.contenders[0].standing.rounds_us) {
    CHECK(us == Catch::Approx(100));
  }
}

TEST_CASE("A clock that never recovers is accepted after a bounded number of rounds") {
  Race race({100, 110});
  race.device.clock_ratio = [](double now) { return now > 0.065 ? 0.5 : 1.0; };
  const FinalsReport report = race.run();
  CHECK(report.rounds == 7);
  CHECK(report.repeated_rounds == 13);
  CHECK(report.clock_mhz == 990);
}

TEST_CASE("A finalist that fails in a round leaves, and the others go on") {
  Race race({100, 110});
  Behaviour failing;
  failing.us = 90;
  failing.good_samples = 2;
  failing.when_sampled = Rejection{Reason::kTimedOut, "hung"};
  race.enter(2, failing);
  CHECK(race.run().rounds == 7);
  REQUIRE(race.contenders[2].rejection);
  CHECK(race.contenders[2].rejection->reason == Reason::kTimedOut);
  CHECK_FALSE(race.contenders[0].rejection);
  CHECK(race.rounds(0) == 7);
}

TEST_CASE("A finalist with an impossible time leaves") {
  Race race({100, 110});
  race.device.least_us = 120;
  CHECK(race.run().rounds == 7);
  CHECK(race.contenders[0].rejection->reason == Reason::kImplausible);
  CHECK_FALSE(race.contenders[1].rejection);
}

TEST_CASE("Where time is short the slowest stay out, but not the default") {
  Race race({50e3, 55e3, 60e3, 70e3});
  race.contenders[3].standing.is_default = true;
  race.seconds = 2;
  const FinalsReport report = race.run();
  CHECK(report.enough);
  CHECK(race.rounds(0) == 7);
  CHECK(race.rounds(1) == 0);
  CHECK(race.rounds(2) == 0);
  CHECK(race.rounds(3) == 7);
}

TEST_CASE("Without time at least one round is run, and the report says that it was not enough") {
  Race race({1e6, 2e6});
  race.seconds = 0;
  const FinalsReport report = race.run();
  CHECK(report.rounds == 1);
  CHECK_FALSE(report.enough);
}

TEST_CASE("Cancelled finals end within the grace") {
  Race race({20e3, 20.1e3});
  race.device.noise = 0.05;
  race.seconds = 1000;
  race.search_limits.minimum_rounds = 1000;
  race.cancelled = [&] { return race.device.now > 2; };
  CHECK_FALSE(race.run().enough);
  CHECK(race.device.now < 2 + TimeBudget::kGraceSeconds + 0.2);
}

}  // namespace
}  // namespace tunedgemm
