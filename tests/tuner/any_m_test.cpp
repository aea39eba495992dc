// Choosing a kernel for an M that was not tuned.

#include "tuner/any_m.h"

#include <map>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/gpus.h"

namespace tunedgemm::internal {
namespace {

Problem of_m(std::int64_t m, std::int64_t n = 4096) {
  return canonical(make_problem(m, n, 4096, DataType::kF16, DataType::kF16, DataType::kF16, "nt"))
      .problem;
}

// Two configs and their times at two tuned M. The small tile is good at 64, the large one at 1024.
struct Ladder {
  const DeviceLimits limits = h200();
  const DeviceIdentity device{.backend = "cuda", .name = "NVIDIA H200"};
  const Candidate small = of_tile(64), large = of_tile(128);
  std::map<std::int64_t, std::map<std::string, double>> us{
      {64, {{to_text(small), 10}, {to_text(large), 20}}},
      {1024, {{to_text(small), 160}, {to_text(large), 40}}}};
  std::vector<Record> winners{won(of_m(64), small, 10), won(of_m(1024), large, 40)};
  int reads = 0;

  Candidate of_tile(int block_m) const {
    for (const Instance& instance : ranked_candidates(of_m(1024), limits)) {
      const Config& config = instance.candidate.config;
      if (instance.candidate.family->name() == "mma" && config.at("block_m") == block_m &&
          instantiate(of_m(64), instance.candidate, limits)) {
        return instance.candidate;
      }
    }
    FAIL("no such tile");
    return {};
  }
  Record won(const Problem& problem, const Candidate& winner, double median_us) const {
    Record record;
    record.problem = problem;
    record.device = device;
    record.family = winner.family->name();
    record.config = winner.config;
    record.measurement.median_us = median_us;
    return record;
  }
  std::vector<CarriedWinner> carried(const Problem& problem) {
    return winners_of_other_m(problem, device, limits, winners, [&](const Record& tuned) {
      ++reads;
      std::vector<TrialRecord> trials;
      for (const Candidate& candidate : {small, large}) {
        TrialRecord trial;
        trial.family = candidate.family->name();
        trial.config = candidate.config;
        trial.family_fingerprint = candidate.family->fingerprint();
        const double median_us = us.at(tuned.problem.m).at(to_text(candidate));
        trial.measurement = Measurement{median_us, median_us, median_us, {}};
        trials.push_back(trial);
      }
      return trials;
    });
  }
};

}  // namespace

TEST_CASE("At a tuned M the measured time is expected") {
  Ladder ladder;
  const auto carried = ladder.carried(of_m(64));
  REQUIRE(carried.size() == 2);
  CHECK(carried[0].instance.candidate == ladder.small);
  CHECK(carried[0].expected_us == Catch::Approx(10).epsilon(0.01));
  CHECK(carried[1].expected_us == Catch::Approx(20).epsilon(0.01));
}

TEST_CASE("Between two tuned M each kernel is chosen on its side, and the choice changes once") {
  Ladder ladder;
  int changes = 0;
  bool was_small = true;
  for (std::int64_t m = 65; m < 1024; m += 7) {
    const auto carried = ladder.carried(of_m(m));
    REQUIRE(carried.size() == 2);
    const bool is_small = carried[0].instance.candidate == ladder.small;
    changes += is_small != was_small;
    was_small = is_small;
    CHECK(carried[0].expected_us <= carried[1].expected_us);
    CHECK(carried[0].instance.problem.m == m);
  }
  CHECK(changes == 1);
  CHECK_FALSE(was_small);
}

TEST_CASE("The choice follows the measured times, not the nearer M") {
  Ladder ladder;
  // The large tile is the faster one at 64 as well, though the small one is stored as the winner.
  ladder.us[64][to_text(ladder.large)] = 5;
  CHECK(ladder.carried(of_m(80)).front().instance.candidate == ladder.large);
}

TEST_CASE("Only the trials of the nearest M on both sides are read, and other N do not count") {
  Ladder ladder;
  for (const std::int64_t m : {16, 32, 2048, 4096}) {
    ladder.winners.push_back(ladder.won(of_m(m), ladder.small, 1));
  }
  ladder.winners.push_back(ladder.won(of_m(128, 2048), ladder.small, 1));
  CHECK(ladder.carried(of_m(256)).size() == 2);
  CHECK(ladder.reads == 2);
  CHECK(ladder.carried(of_m(256, 1024)).empty());
  CHECK(ladder.reads == 2);
}

TEST_CASE("Without trials the cost model decides, corrected by the times of the winners") {
  Ladder ladder;
  const auto front_at = [&](std::int64_t m) {
    return winners_of_other_m(of_m(m), ladder.device, ladder.limits, ladder.winners,
                              [](const Record&) { return std::vector<TrialRecord>(); })
        .front()
        .instance.candidate;
  };
  for (Record& winner : ladder.winners) {
    const Candidate candidate{find_family(winner.family), winner.config};
    winner.measurement.median_us =
        instantiate(winner.problem, candidate, ladder.limits)->predicted_us;
  }
  CHECK(front_at(1000) == ladder.large);
  ladder.winners[1].measurement.median_us *= 10;  // the model is wrong about the large tile
  CHECK(front_at(1000) == ladder.small);
}

}  // namespace tunedgemm::internal
