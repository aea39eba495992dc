#include "tuner/finals.h"

#include "tests/support/catch.h"
#include "tests/tuner/support/fake_family.h"
#include "tests/tuner/support/simulated_device.h"
#include "tuner/race.h"

namespace tunedgemm::internal {
namespace {

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
    const Candidate candidate = fake_family().candidate(variant);
    device.add(candidate, behaviour);
    trials.push_back(
        std::get<std::unique_ptr<Trial>>(device.prepare(fake_family().instance(candidate))));
    contenders.push_back(contender_of(*trials.back(), behaviour.us));
  }

  FinalsReport run() {
    TimeBudget time_budget(device, seconds, cancelled);
    std::vector<Contender*> racing;
    for (Contender& contender : contenders) {
      racing.push_back(&contender);
    }
    return run_finals(racing, device, search_limits, time_budget, 0, nullptr);
  }

  std::size_t rounds(std::size_t index) const { return contenders[index].rounds_us.size(); }

  SimulatedDevice device;
  std::vector<std::unique_ptr<Trial>> trials;
  std::vector<Contender> contenders;
  SearchLimits search_limits = search_limits_of(Rigor::kNormal, {});
  double seconds = 10;
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

TEST_CASE("Finals of candidates that noise hides continue to the maximum of rounds") {
  Finals finals({100, 100.7});
  finals.device.noise = 0.03;
  CHECK(finals.run().rounds == finals.search_limits.maximum_rounds);
}

TEST_CASE("Rounds with a dropped clock are repeated") {
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

TEST_CASE("A clock that rises during the finals and falls back counts as dropped") {
  Finals finals({100, 110});
  // The last clock is far above 0.9 of the first one, but below 0.9 of the highest.
  finals.device.clock_ratio = [](double now) {
    return now < 0.07 ? 0.8 : now > 0.075 && now < 0.08 ? 0.85 : 1.0;
  };
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 7);
  CHECK(report.repeated_rounds > 0);
}

TEST_CASE("A finalist that fails in a round leaves, and the others continue") {
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

TEST_CASE("If time is short the slowest are left out, but not the default") {
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

TEST_CASE("Without time one round is run, and the report says that it was not enough") {
  Finals finals({1e6, 2e6});
  finals.seconds = 0;
  const FinalsReport report = finals.run();
  CHECK(report.rounds == 1);
  CHECK_FALSE(report.enough);
}

TEST_CASE("Cancelled finals end within the grace period") {
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
