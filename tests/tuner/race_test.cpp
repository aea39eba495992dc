#include "tuner/race.h"

#include <algorithm>
#include <string>

#include "tests/support/catch.h"
#include "tests/tuner/support/simulated_device.h"

namespace tunedgemm::internal {
namespace {

// Contenders whose samples return given times.
class Track {
 public:
  Contender contender(std::string name, double us) {
    Contender contender;
    contender.launch_us = us;
    contender.sample = [this, name = std::move(name),
                        us](int launches) -> std::variant<Sample, Rejection> {
      order += name;
      launches_of_samples.push_back(launches);
      device.now += 1e-6 * us * (launches + 1);
      return Sample{.us = us, .clock_mhz = 1000};
    };
    return contender;
  }

  SimulatedDevice device{7};
  std::string order;
  std::vector<int> launches_of_samples;
};

TEST_CASE("A seed gives the same order of a race on every platform") {
  Track track;
  Contender a = track.contender("a", 100), b = track.contender("b", 100),
            c = track.contender("c", 100);
  Race race({&a, &b, &c}, track.device, {.seed = 1});
  for (int round = 0; round < 4; ++round) {
    CHECK(race.run_round());
    track.order += ' ';
  }
  CHECK(track.order == "abc cba bca cba ");
  CHECK(race.rounds() == 4);
  CHECK(a.rounds_us == std::vector<float>(4, 100));
  CHECK(b.clocks_mhz == std::vector<double>(4, 1000));
}

TEST_CASE("A sample has as many launches as fill its time, after a cool-down") {
  Track track;
  Contender brief = track.contender("b", 10), long_lasting = track.contender("l", 5000);
  const RaceOptions options{.sample_us = 500, .cool_down_seconds = 0.25};
  Race race({&brief, &long_lasting}, track.device, options);
  CHECK(race.run_round());
  std::sort(track.launches_of_samples.begin(), track.launches_of_samples.end());
  CHECK(track.launches_of_samples == std::vector<int>{1, 50});
  CHECK(track.device.cool_downs == 2);
  CHECK(seconds_per_round(brief, options) == Catch::Approx(0.25 + 51 * 10e-6));
  CHECK(track.device.now == Catch::Approx(seconds_per_round(brief, options) +
                                          seconds_per_round(long_lasting, options)));
}

TEST_CASE("An uncounted round stores no times, but rejects contenders that fail in it") {
  Track track;
  Contender good = track.contender("g", 100), failing = track.contender("f", 100);
  failing.sample = [](int) { return Rejection{Reason::kTimedOut, "hung"}; };
  Race race({&good, &failing}, track.device, {});
  race.run_uncounted_round();
  CHECK(track.order == "g");
  CHECK(good.rounds_us.empty());
  CHECK(failing.rejection->reason == Reason::kTimedOut);
  CHECK(race.contenders() == std::vector<Contender*>{&good});
  CHECK(race.rounds() == 0);
  CHECK(race.clock_mhz() == 0);
}

TEST_CASE("A time below the roofline rejects a contender of any race") {
  Track track;
  track.device.least_us = 50;
  Contender impossible = track.contender("i", 20), possible = track.contender("p", 60);
  Race race({&impossible, &possible}, track.device, {});
  CHECK(race.run_round());
  CHECK(impossible.rejection->reason == Reason::kImplausible);
  CHECK(impossible.rounds_us.empty());
  CHECK(possible.rounds_us.size() == 1);
}

TEST_CASE("A round with a dropped clock is discarded, as often as the caller allows") {
  Track track;
  Contender one = track.contender("o", 100);
  Race race({&one}, track.device, {.most_repeated_rounds = 2});
  track.device.clock_ratio = [](double) { return 0.5; };
  CHECK_FALSE(race.run_round());
  CHECK_FALSE(race.run_round());
  CHECK(track.device.warm_ups == 2);
  CHECK(one.rounds_us.empty());
  CHECK(race.run_round());
  CHECK(one.rounds_us.size() == 1);
  CHECK(race.clock_mhz() == 990);
}

TEST_CASE("A round with a dropped clock counts if no time is left") {
  Track track;
  Contender one = track.contender("o", 100);
  Race race({&one}, track.device, {.most_repeated_rounds = 2});
  track.device.clock_ratio = [](double) { return 0.5; };
  CHECK(race.run_round(1e-4));
  CHECK(race.repeated_rounds() == 0);
}

}  // namespace
}  // namespace tunedgemm::internal
