// Choosing a kernel for an M that was not tuned.

#include "tuner/m_ladder.h"

#include <map>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/gpus.h"

namespace tunedgemm::internal {
namespace {

CanonicalProblem of_m(std::int64_t m, std::int64_t n = 4096) {
  return canonical(make_problem(m, n, 4096, DataType::kF16, DataType::kF16, DataType::kF16, "nt"));
}

// Two configs and their times at two tuned M. The small tile is good at 64, the large one at 1024.
struct TwoRungs {
  const DeviceLimits limits = h200();
  const Candidate small = of_tile(64), large = of_tile(128);
  std::map<std::int64_t, std::map<std::string, double>> us{
      {64, {{to_text(small), 10}, {to_text(large), 20}}},
      {1024, {{to_text(small), 160}, {to_text(large), 40}}}};
  std::vector<TunedProblem> tuned{won(of_m(64), small, 10), won(of_m(1024), large, 40)};

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
  static TunedProblem won(const CanonicalProblem& problem, const Candidate& winner,
                          double median_us) {
    TunedProblem tuned;
    tuned.winner.problem = problem;
    tuned.winner.family = winner.family->name();
    tuned.winner.config = winner.config;
    tuned.winner.measurement.median_us = median_us;
    return tuned;
  }
  // The configs were timed at each M for which `us` has a time.
  MLadder ladder(const Problem& problem = of_m(100)) const {
    std::vector<TunedProblem> with_times = tuned;
    for (TunedProblem& rung : with_times) {
      const auto times = us.find(rung.winner.problem->m);
      for (const Candidate& candidate : {small, large}) {
        if (times != us.end() && times->second.contains(to_text(candidate))) {
          TrialRecord& trial = rung.timed.emplace_back();
          trial.family = candidate.family->name();
          trial.config = candidate.config;
          trial.family_fingerprint = candidate.family->fingerprint();
          trial.measurement.emplace().median_us = times->second.at(to_text(candidate));
          trial.predicted_us = instantiate(rung.winner.problem, candidate, limits)->predicted_us;
        }
      }
    }
    return {problem, limits, with_times};
  }
};

}  // namespace

TEST_CASE("At a tuned M the measured time is expected") {
  const TwoRungs rungs;
  const auto choices = rungs.ladder().choices(of_m(64));
  REQUIRE(choices.size() == 2);
  CHECK(choices[0].instance.candidate == rungs.small);
  CHECK(choices[0].expected_us == Catch::Approx(10).epsilon(0.01));
  CHECK(choices[0].tuned_m == 64);
  CHECK(choices[1].expected_us == Catch::Approx(20).epsilon(0.01));
  CHECK(choices[1].tuned_m == 1024);
}

TEST_CASE("Between two tuned M each kernel is chosen on its side, and the choice changes once") {
  const TwoRungs rungs;
  const MLadder ladder = rungs.ladder();
  int changes = 0;
  bool was_small = true;
  for (std::int64_t m = 65; m < 1024; m += 7) {
    const auto choices = ladder.choices(of_m(m));
    REQUIRE(choices.size() == 2);
    const bool is_small = choices[0].instance.candidate == rungs.small;
    changes += is_small != was_small;
    was_small = is_small;
    CHECK(choices[0].expected_us <= choices[1].expected_us);
    CHECK(choices[0].instance.problem.m == m);
  }
  CHECK(changes == 1);
  CHECK_FALSE(was_small);
}

TEST_CASE("The choice follows the measured times, not the nearer M") {
  TwoRungs rungs;
  // The large tile is the faster one at 64 as well, though the small one is stored as the winner.
  rungs.us[64][to_text(rungs.large)] = 5;
  CHECK(rungs.ladder().choices(of_m(80)).front().instance.candidate == rungs.large);
}

TEST_CASE("Tuned problems with another N, types or epilogue are no rungs") {
  TwoRungs rungs;
  Problem with_bias = of_m(128);
  with_bias.bias = Bias::kPerColumn;
  for (const CanonicalProblem& other : {of_m(128, 2048), canonical(with_bias)}) {
    rungs.tuned = {TwoRungs::won(other, rungs.small, 1)};
    CHECK(rungs.ladder().choices(of_m(256)).empty());
    CHECK(rungs.ladder(other).choices(other).size() == 1);
  }
}

TEST_CASE("Strides and alignments that follow from M do not separate the rungs") {
  const auto column_major = [](std::int64_t m) {
    return canonical(
        make_problem(m, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16, "tn"));
  };
  CHECK(column_major(8)->a.alignment_bytes != column_major(9)->a.alignment_bytes);
  CHECK(ladder_key(column_major(8)) == ladder_key(column_major(9)));
  CHECK(ladder_key(column_major(8)) != ladder_key(of_m(8)));
}

TEST_CASE("Without trials the cost model decides, corrected by the times of the winners") {
  TwoRungs rungs;
  rungs.us.clear();
  const auto front_at = [&](std::int64_t m) {
    return rungs.ladder().choices(of_m(m)).front().instance.candidate;
  };
  for (TunedProblem& rung : rungs.tuned) {
    const Candidate candidate{find_family(rung.winner.family), rung.winner.config};
    rung.winner.measurement.median_us =
        instantiate(rung.winner.problem, candidate, rungs.limits)->predicted_us;
  }
  CHECK(front_at(1000) == rungs.large);
  rungs.tuned[1].winner.measurement.median_us *= 10;  // the model is wrong about the large tile
  CHECK(front_at(1000) == rungs.small);
}

TEST_CASE(
    "Where the model is wrong about all kernels, it is wrong about those not measured there") {
  TwoRungs rungs;
  const auto predicted_us = [&](std::int64_t m, const Candidate& candidate) {
    return instantiate(of_m(m), candidate, rungs.limits)->predicted_us;
  };
  // At 64 all take eight times as long as predicted, and the large tile was not tried.
  rungs.us = {{64, {{to_text(rungs.small), 8 * predicted_us(64, rungs.small)}}},
              {1024,
               {{to_text(rungs.small), 2 * predicted_us(1024, rungs.small)},
                {to_text(rungs.large), predicted_us(1024, rungs.large)}}}};
  rungs.tuned[0].winner.measurement.median_us = rungs.us[64][to_text(rungs.small)];
  rungs.tuned[1].winner.measurement.median_us = rungs.us[1024][to_text(rungs.large)];
  const auto choices = rungs.ladder().choices(of_m(64));
  REQUIRE(choices.size() == 2);
  CHECK(choices[0].instance.candidate == rungs.small);
  CHECK(choices[1].expected_us > 5 * predicted_us(64, rungs.large));
}

TEST_CASE("The best expected time is that of a stored kernel, or of a candidate predicted faster") {
  const TwoRungs rungs;
  const Problem problem = of_m(200);
  const MLadder ladder = rungs.ladder();
  const double stored_us = ladder.choices(problem).front().expected_us;
  const auto best_if_predicted = [&](double predicted_us) {
    std::vector<Instance> ranked{ranked_candidates(problem, rungs.limits).front()};
    ranked.front().predicted_us = predicted_us;
    return ladder.best_expected_us(ranked);
  };
  CHECK(best_if_predicted(1e6) == Catch::Approx(stored_us));
  const double fast_us = best_if_predicted(1e-3);
  CHECK(fast_us < stored_us);
  CHECK(best_if_predicted(2e-3) == Catch::Approx(2 * fast_us));
  CHECK(MLadder(problem, rungs.limits, {}).best_expected_us({}) == 0);
}

}  // namespace tunedgemm::internal
