#include "tuner/neighbours.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/memory_store.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

Problem f32(std::int64_t m, std::int64_t n, std::int64_t k) {
  return make_problem(m, n, k, DataType::kF32, DataType::kF32, DataType::kF32);
}

DeviceIdentity identity() {
  DeviceIdentity device;
  device.backend = "cuda";
  device.name = "NVIDIA H200";
  return device;
}

Record won(const Problem& problem, const Candidate& winner, std::vector<std::string> ties = {}) {
  Record record;
  record.problem = canonical(problem);
  record.device = identity();
  record.family = winner.family->name();
  record.config = winner.config;
  record.ties = std::move(ties);
  return record;
}

TEST_CASE("The distance is zero for equal problems only, and symmetric") {
  std::mt19937_64 random(test_seed());
  std::vector<Problem> problems;
  for (int count = 0; count < 40; ++count) {
    const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 3000); };
    problems.push_back(canonical(f32(size(), size(), size())));
    problems.push_back(problems.back());
    problems.back().batch = 2;
    problems.push_back(problems[problems.size() - 2]);
    problems.back().a.alignment_bytes = 4;
    problems.push_back(problems[problems.size() - 3]);
    problems.back().b.leading_dimension += 8;
    problems.push_back(problems[problems.size() - 4]);
    problems.back().launch_regime = LaunchRegime::kBackToBack;
  }
  for (const Problem& left : problems) {
    for (const Problem& right : problems) {
      const auto forward = distance(left, right), back = distance(right, left);
      REQUIRE(forward.has_value());
      CHECK(*forward == *back);
      CHECK((*forward == 0) == (left == right));
    }
  }
}

TEST_CASE("A doubling of one size is a distance of about one, at any size") {
  CHECK(*distance(f32(1024, 1024, 1024), f32(2048, 1024, 1024)) == Catch::Approx(1).margin(0.01));
  // Equal volume does not make problems near.
  CHECK(*distance(f32(1024, 1024, 1024), f32(1, 1048576, 1024)) > 15);
}

TEST_CASE("Problems of other types, orders or epilogues have no distance") {
  const Problem problem = f32(512, 512, 512);
  CHECK_FALSE(distance(
      problem, make_problem(512, 512, 512, DataType::kF64, DataType::kF64, DataType::kF64)));
  CHECK_FALSE(distance(
      problem, make_problem(512, 512, 512, DataType::kF32, DataType::kF32, DataType::kF32, "nt")));
  Problem fused = problem;
  fused.activation = Activation::kRelu;
  CHECK_FALSE(distance(problem, fused));
}

TEST_CASE("Seeds are the nearest winners of this device, with their ties, if legal") {
  const Problem problem = f32(512, 512, 512);
  const auto ranked = ranked_candidates(problem, h200());
  REQUIRE(ranked.size() >= 4);
  const auto candidate = [&](std::size_t index) { return ranked[index].candidate; };
  std::vector<Record> winners{
      won(f32(2048, 512, 512), candidate(2)),
      won(f32(1024, 512, 512), candidate(1), {to_text(candidate(3)), "gone block_m=7"}),
      won(f32(65536, 65536, 512), candidate(0))};
  CHECK(neighbour_seeds(problem, identity(), h200(), winners, 4) ==
        std::vector{ranked[1], ranked[3], ranked[2]});
  CHECK(neighbour_seeds(problem, identity(), h200(), winners, 1) ==
        std::vector{ranked[1], ranked[3]});

  winners[1].device.name = "another";
  winners[0].family = "a family that is gone";
  CHECK(neighbour_seeds(problem, identity(), h200(), winners, 4).empty());
}

TEST_CASE("An untuned problem runs a near winner that the model ranks as well as where it won") {
  const Problem problem = f32(1024, 1024, 1024);
  const auto ranked = ranked_candidates(problem, h200());
  const auto first_of = [&](const std::vector<Record>& winners) {
    return untuned_choices(problem, identity(), h200(), winners, ranked).front().candidate;
  };
  const Problem near = f32(1024, 1024, 1280);
  const auto ranked_there = ranked_candidates(near, h200());
  // The model ranks this candidate second for both problems, so it comes first only because it won.
  const Candidate second = ranked_there[1].candidate;
  REQUIRE_FALSE(second == ranked.front().candidate);
  CHECK(first_of({}) == ranked.front().candidate);
  CHECK(untuned_choices(problem, identity(), h200(), {}, ranked) == ranked);
  CHECK(first_of({won(near, second)}) == second);
  CHECK(
      untuned_choices(problem, identity(), h200(), std::vector{won(near, second)}, ranked).size() ==
      ranked.size());

  // The nearest of several winners is chosen. Winners that are too far, aligned differently or on
  // another device do not count.
  CHECK(first_of({won(f32(1024, 2048, 1024), ranked_there[2].candidate), won(near, second)}) ==
        second);
  CHECK(first_of({won(f32(1024, 1024, 2100), second)}) == ranked.front().candidate);
  CHECK(first_of({won(f32(1024, 1024, 1281), second)}) == ranked.front().candidate);
  Record elsewhere = won(near, second);
  elsewhere.device.name = "another";
  CHECK(first_of({elsewhere}) == ranked.front().candidate);
  elsewhere = won(near, second);
  elsewhere.complete = false;
  CHECK(first_of({elsewhere}) == ranked.front().candidate);
  elsewhere = won(near, second);
  elsewhere.family = "a family that is gone";
  CHECK(first_of({elsewhere}) == ranked.front().candidate);
}

// The winner of a GPU of the same architecture.
Record won_elsewhere(const Problem& problem, const Candidate& winner) {
  Record record = won(problem, winner);
  record.device.name = "NVIDIA H100";
  record.family_fingerprint = winner.family->fingerprint();
  record.rigor = Rigor::kNormal;
  record.measurement = {.median_us = 10, .low_us = 10, .high_us = 10, .samples_us = {10}};
  return record;
}

TEST_CASE("An untuned problem runs another device's winner if the model rates it about as well") {
  const CanonicalProblem problem = canonical(f32(1024, 1024, 1024));
  const auto ranked = ranked_candidates(problem, h200());
  const double best_us = ranked.front().predicted_us;
  const auto first_with = [&](const std::vector<Record>& records) {
    const auto store = memory_store();
    for (const Record& record : records) {
      const Source source =
          instantiate(record.problem, {find_family(record.family), record.config}, h200())
              ->source();
      CHECK(store->put(record, source, {}, {}).stored);
    }
    return untuned_choices(*store, problem, identity(), h200(), ranked).front().candidate;
  };
  CHECK(first_with({}) == ranked[0].candidate);
  REQUIRE(ranked[1].predicted_us <= 1.05 * best_us);
  const Record good = won_elsewhere(problem, ranked[1].candidate);
  CHECK(first_with({good}) == ranked[1].candidate);
  const auto bad = std::ranges::find_if(
      ranked, [&](const Instance& each) { return each.predicted_us > 1.06 * best_us; });
  CHECK(first_with({won_elsewhere(problem, bad->candidate)}) == ranked[0].candidate);
  Record unfinished = good;
  unfinished.complete = false;
  CHECK(first_with({unfinished}) == ranked[0].candidate);
  Record of_other_architecture = good;
  of_other_architecture.device.compute_capability = 80;
  CHECK(first_with({of_other_architecture}) == ranked[0].candidate);
  CHECK(first_with({won_elsewhere(canonical(f32(1024, 1024, 1280)), ranked[1].candidate)}) ==
        ranked[0].candidate);

  // A near winner of this device comes before another device's winner of the problem.
  const CanonicalProblem near = canonical(f32(1024, 1024, 1280));
  Record own = won_elsewhere(near, ranked_candidates(near, h200())[1].candidate);
  own.device = identity();
  Record other = won_elsewhere(problem, ranked[0].candidate);
  CHECK(first_with({own, other}) == Candidate{find_family(own.family), own.config});
}

TEST_CASE("Seeds from elsewhere are the winner, its ties and the finalists, the fastest first") {
  const CanonicalProblem problem = canonical(f32(512, 512, 512));
  const auto ranked = ranked_candidates(problem, h200());
  const auto timed = [&](std::size_t index, double median_us, bool final_round) {
    const Candidate& candidate = ranked[index].candidate;
    TrialRecord trial;
    trial.family = candidate.family->name();
    trial.config = candidate.config;
    trial.family_fingerprint = candidate.family->fingerprint();
    trial.measurement = {.median_us = median_us, .low_us = 1, .high_us = 1, .samples_us = {1}};
    trial.final_round = final_round;
    return trial;
  };
  Record record = won_elsewhere(problem, ranked[5].candidate);
  record.ties = {to_text(ranked[4].candidate), "gone block_m=7"};
  const auto store = memory_store();
  CHECK(store
            ->put(record, ranked[5].source(), {},
                  {timed(3, 12, true), timed(2, 11, true), timed(5, 10, true), timed(1, 9, false)})
            .stored);
  Record at_other_m = won_elsewhere(canonical(f32(513, 512, 512)), ranked[0].candidate);
  CHECK(store->put(at_other_m, ranked[0].source(), {}, {}).stored);
  const auto elsewhere = tuned_elsewhere(*store, problem, identity());
  CHECK(elsewhere.size() == 1);
  CHECK(seeds_from_elsewhere(problem, h200(), elsewhere, 8) ==
        std::vector{ranked[5], ranked[4], ranked[2], ranked[3]});
  CHECK(seeds_from_elsewhere(problem, h200(), elsewhere, 3) ==
        std::vector{ranked[5], ranked[4], ranked[2]});
  CHECK(tuned_elsewhere(*store, problem, record.device).empty());
}

TEST_CASE("A near winner is not run if the model expects it to be slow") {
  // The best config without split K for the large problem leaves SMs idle on the small one.
  const Problem large = f32(1024, 1024, 1024), small = f32(512, 512, 1024);
  const Candidate winner = ranked_candidates(large, h200()).front().candidate;
  const auto ranked = ranked_candidates(small, h200());
  REQUIRE(instantiate(small, winner, h200())->predicted_us > 1.1 * ranked.front().predicted_us);
  CHECK(untuned_choices(small, identity(), h200(), std::vector{won(large, winner)}, ranked) ==
        ranked);
}

}  // namespace
}  // namespace tunedgemm::internal
