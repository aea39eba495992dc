// Runs all of tune() with the real families' candidates on a simulated device, whose times differ
// from the cost model's predictions. The tests bound the gap between the best time and the time of
// the winner of a search of 28 candidates.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/mma/mma.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/memory_store.h"
#include "tests/support/seed.h"
#include "tests/tuner/support/simulated_device.h"
#include "tuner/decision.h"
#include "tuner/selection.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {
namespace {

CanonicalProblem problem_of(std::int64_t m) {
  return canonical(make_problem(m, 512, 512, DataType::kF32, DataType::kF32, DataType::kF32));
}

struct Search {
  explicit Search(std::uint64_t seed) : Search(seed, problem_of(1024), h200()) {}

  Search(std::uint64_t seed, const Problem& any_form, const DeviceLimits& of_device)
      : problem(canonical(any_form)), limits(of_device), device(seed) {
    store = memory_store();
    device.noise = 0.003;
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> error_of_the_model(0, 0.15);
    for (const Instance& ranked : ranked_candidates(problem, limits)) {
      Behaviour behaviour;
      behaviour.us = ranked.predicted_us * error_of_the_model(random);
      behaviour.compile_seconds = 0;
      device.add(ranked.candidate, behaviour);
      truth_us[to_text(ranked.candidate)] = behaviour.us;
    }
    device.least_us = 0;
  }

  Tuning run(Rigor rigor, const Budget& budget = {}) {
    TuneOptions options;
    options.rigor = rigor;
    options.budget = budget;
    return tune({problem, {}, {}}, limits, device, *store, options);
  }

  double winner_us(const Tuning& tuning) const {
    REQUIRE(tuning.record);
    return truth_us.at(
        to_text(Candidate{find_family(tuning.record->family), tuning.record->config}));
  }
  double best_us() const {
    double best = truth_us.begin()->second;
    for (const auto& [text, us] : truth_us) {
      best = std::min(best, us);
    }
    return best;
  }

  CanonicalProblem problem;
  DeviceLimits limits;
  SimulatedDevice device;
  std::unique_ptr<Store> store;
  std::map<std::string, double> truth_us;
};

TEST_CASE("An exhaustive search finds the best, a normal one comes near with 28 candidates") {
  double lost = 0;
  constexpr int kSearches = 20;
  for (int repeat = 0; repeat < kSearches; ++repeat) {
    const std::uint64_t seed = test_seed() + static_cast<std::uint64_t>(repeat);
    Search normal(seed), exhaustive(seed);
    const Tuning fast = normal.run(Rigor::kNormal);
    const Tuning full = exhaustive.run(Rigor::kExhaustive);
    CHECK(exhaustive.winner_us(full) <= 1.02 * exhaustive.best_us());
    CHECK(full.record->complete);
    CHECK(full.record->candidates_tried >= fast.record->candidates_tried);
    CHECK(fast.record->candidates_tried <= 29);
    lost += std::log(normal.winner_us(fast) / normal.best_us()) / kSearches;
  }
  CHECK(std::exp(lost) < 1.1);
}

// The true time of the fastest config of Triton's tutorial that the device can run.
double best_of_tutorial_us(const Search& search) {
  double best = std::numeric_limits<double>::infinity();
  for (const Config& config : mma_configs_of_triton_tutorial()) {
    if (mma_family().instantiate(search.problem, config, search.limits)) {
      best = std::min(best, search.truth_us.at(to_text(Candidate{&mma_family(), config})));
    }
  }
  return best;
}

TEST_CASE("A winner is no slower than the best of the configs of Triton's tutorial") {
  // The device has no wgmma, so mma is its fastest family. Its times deviate randomly from the cost
  // model's predictions.
  DeviceLimits limits = h200();
  limits.arch = 80;
  double log_of_normal = 0;
  for (const DataType type : {DataType::kF16, DataType::kE5M2}) {
    for (const std::int64_t size : {512, 4096}) {
      const Problem problem = make_problem(size, size, size, type, type, DataType::kF16, "nt");
      for (std::uint64_t repeat = 0; repeat < 5; ++repeat) {
        const std::uint64_t seed = test_seed() + repeat;
        Search normal(seed, problem, limits), exhaustive(seed, problem, limits);
        const double tutorial_us = best_of_tutorial_us(exhaustive);
        INFO(to_text(problem) << ", seed " << seed);
        // Beyond the ceiling there are no ties, so no slower candidate can win.
        CHECK(exhaustive.winner_us(exhaustive.run(Rigor::kExhaustive)) <=
              (1 + kTieCeiling) * tutorial_us);
        log_of_normal += std::log(normal.winner_us(normal.run(Rigor::kNormal)) / tutorial_us);
      }
    }
  }
  CHECK(log_of_normal < 0);  // 28 candidates beat the 16 fixed ones on average, but not always
}

TEST_CASE("The finalists of a similar device are tried first, after the default") {
  Search search(test_seed());
  const auto ranked = ranked_candidates(search.problem, search.limits);
  REQUIRE(ranked.size() > 40);
  // A device with other times, so its finalists are not the model's favourites here.
  std::vector<TrialRecord> finalists;
  for (const std::size_t index : {40, 30, 20}) {
    const Candidate& candidate = ranked[index].candidate;
    TrialRecord& trial = finalists.emplace_back();
    trial.family = candidate.family->name();
    trial.config = candidate.config;
    trial.family_fingerprint = candidate.family->fingerprint();
    trial.measurement = {.median_us = 60.0 - static_cast<double>(index),
                         .low_us = 1,
                         .high_us = 1,
                         .samples_us = {1}};
    trial.final_round = true;
  }
  Record record;
  record.problem = search.problem;
  record.device.name = "a similar device";
  record.family = finalists[0].family;
  record.config = finalists[0].config;
  record.family_fingerprint = finalists[0].family_fingerprint;
  record.measurement = *finalists[0].measurement;
  REQUIRE(search.store->put(record, ranked[40].source(), {}, finalists).stored);

  const Tuning tuning = search.run(Rigor::kQuick, {.seconds = 0, .candidates = 8});
  REQUIRE(tuning.record);
  const std::vector<std::string>& tried = search.device.prepared;
  REQUIRE(tried.size() >= 4);
  CHECK(tried[0] == to_text(ranked[0].candidate));
  CHECK(std::vector(tried.begin() + 1, tried.begin() + 4) ==
        std::vector{to_text(ranked[40].candidate), to_text(ranked[30].candidate),
                    to_text(ranked[20].candidate)});
}

TEST_CASE("More variants are tried of a tile that turns out better than predicted") {
  // The model is wrong only about one tile and about that tile's fifth candidate.
  Search search(
      test_seed(),
      make_problem(4096, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16, "nt"), h200());
  const auto ranked = ranked_candidates(search.problem, search.limits);
  const std::string& underrated = ranked[6].tile_key;
  std::vector<const Candidate*> variants;
  for (const Instance& candidate : ranked) {
    Behaviour behaviour;
    behaviour.us = candidate.predicted_us;
    behaviour.compile_seconds = 0;
    if (candidate.tile_key == underrated) {
      variants.push_back(&candidate.candidate);
      behaviour.us = (variants.size() == 5 ? 0.8 : 0.9) * ranked.front().predicted_us;
    }
    search.device.add(candidate.candidate, behaviour);
  }
  REQUIRE(variants.size() > 5);
  const Tuning tuning = search.run(Rigor::kNormal);
  REQUIRE(tuning.record);
  CHECK(tuning.record->config == variants[4]->config);
  CHECK(tuning.record->candidates_tried == 29);  // the naive kernel is not part of the count
  std::vector<std::string> tried = search.device.prepared;
  std::sort(tried.begin(), tried.end());
  CHECK(std::adjacent_find(tried.begin(), tried.end()) == tried.end());
}

TEST_CASE("Budgets also limit the refinements") {
  Search few(test_seed()), none(test_seed()), short_of_time(test_seed());
  for (Search* search : {&few, &none}) {  // the model is right, so that nothing is skipped
    for (const Instance& ranked : ranked_candidates(search->problem, search->limits)) {
      Behaviour behaviour;
      behaviour.us = ranked.predicted_us;
      behaviour.compile_seconds = 0;
      search->device.add(ranked.candidate, behaviour);
    }
  }
  CHECK(few.run(Rigor::kNormal, {.candidates = 8}).record->candidates_tried == 9);
  CHECK(none.run(Rigor::kNormal, {.candidates = 1}).record->candidates_tried == 2);
  for (const Instance& ranked : ranked_candidates(short_of_time.problem, short_of_time.limits)) {
    Behaviour behaviour;
    behaviour.us = 100;
    behaviour.compile_seconds = 0.2;
    short_of_time.device.add(ranked.candidate, behaviour);
  }
  // The budget suffices for the first 21 candidates, but not for the eight after them.
  const Tuning tuning = short_of_time.run(Rigor::kNormal, {.seconds = 5.5});
  REQUIRE(tuning.record);
  CHECK_FALSE(tuning.record->complete);
  CHECK(tuning.record->candidates_tried > 21);
  CHECK(tuning.record->candidates_tried < 29);
}

TEST_CASE("Refinements are compiled while the other half of the first candidates is tried") {
  Search search(test_seed());
  search.run(Rigor::kNormal);
  CHECK(search.device.announced == std::vector<std::size_t>{21, 8});
  CHECK(search.device.prepared_when_announced.front() == 0);
  CHECK(search.device.prepared_when_announced.back() <= 11);
}

// The candidates take as long as predicted, the first six of them `factor_of_first` times as long.
void take_as_predicted(Search& search, double factor_of_first = 1) {
  const auto ranked = ranked_candidates(search.problem, search.limits);
  for (std::size_t index = 0; index < ranked.size(); ++index) {
    Behaviour behaviour;
    behaviour.us = ranked[index].predicted_us * (index < 6 ? factor_of_first : 1);
    behaviour.compile_seconds = 0.1;
    search.device.add(ranked[index].candidate, behaviour);
    search.truth_us[to_text(ranked[index].candidate)] = behaviour.us;
  }
}

TEST_CASE(
    "Candidates that cannot come near the fastest are not tried, but by an exhaustive search") {
  Search normal(test_seed()), exhaustive(test_seed());
  for (Search* search : {&normal, &exhaustive}) {
    search->device.compilers = 4;
    take_as_predicted(*search);
  }
  const auto is_hopeless = [&](const std::string& candidate) {
    return normal.truth_us.at(candidate) > 1.19 * normal.best_us();
  };
  const Tuning tuning = normal.run(Rigor::kNormal, {.candidates = 200});
  CHECK(normal.winner_us(tuning) == normal.best_us());
  CHECK(tuning.record->complete);
  CHECK_FALSE(normal.device.forgotten.empty());
  for (const std::string& forgotten : normal.device.forgotten) {
    CHECK(is_hopeless(forgotten));
    CHECK(std::ranges::count(normal.device.prepared, forgotten) == 0);
  }
  CHECK(exhaustive.run(Rigor::kExhaustive).record->complete);
  CHECK(exhaustive.device.forgotten.empty());
  CHECK(exhaustive.device.prepared.size() > normal.device.prepared.size());
}

TEST_CASE("A cost model that underestimates the times of the first candidates excludes no other") {
  Search search(test_seed());
  search.device.compilers = 4;
  take_as_predicted(search, 3);
  CHECK(search.winner_us(search.run(Rigor::kNormal)) == search.best_us());
}

TEST_CASE("A candidate that is compiled does not wait for one before it") {
  Search search(test_seed());
  search.device.compilers = 8;
  const auto ranked = ranked_candidates(search.problem, search.limits);
  Behaviour slow;
  slow.us = ranked[0].predicted_us;
  slow.compile_seconds = 5;
  search.device.add(ranked[0].candidate, slow);
  REQUIRE(search.run(Rigor::kQuick).record);
  CHECK(search.device.prepared.front() != to_text(ranked[0].candidate));
  CHECK(std::ranges::count(search.device.prepared, to_text(ranked[0].candidate)) == 1);
}

TEST_CASE("The next problem's candidates are those that its own tuning tries first") {
  const std::uint64_t seed = test_seed();
  Search search(seed, problem_of(1024), h200()), next(seed, problem_of(96), h200());
  TuneOptions options;
  options.next = problem_of(96);
  REQUIRE(
      tune({search.problem, {}, {}}, search.limits, search.device, *search.store, options).record);
  const std::vector<std::string>& ahead = search.device.of_next;
  REQUIRE(ahead.size() > 10);
  next.run(Rigor::kNormal);
  REQUIRE(next.device.prepared.size() >= ahead.size());
  CHECK(std::equal(ahead.begin(), ahead.end(), next.device.prepared.begin()));
}

TEST_CASE("A tuning of given candidates announces none of the next problem") {
  Search search(test_seed());
  TuneOptions options;
  options.next = problem_of(96);
  options.candidates = {default_candidate(search.problem, search.limits).candidate};
  REQUIRE(
      tune({search.problem, {}, {}}, search.limits, search.device, *search.store, options).record);
  CHECK(search.device.of_next.empty());
}

TEST_CASE("The naive kernel is timed for comparison") {
  Search search(test_seed());
  const Tuning tuning = search.run(Rigor::kQuick);
  REQUIRE(tuning.record);
  CHECK(tuning.record->naive_us > 0);
  CHECK(tuning.record->candidates_legal == static_cast<int>(search.truth_us.size()));
}

TEST_CASE("A neighbour's winner is among the first candidates tried") {
  Search search(test_seed());
  const auto ranked = ranked_candidates(search.problem, h200());
  Record neighbour;
  neighbour.problem = problem_of(2048);
  neighbour.device.name = "simulated";
  // The model would never propose this candidate.
  const Candidate& unlikely = ranked[ranked.size() / 2].candidate;
  neighbour.family = unlikely.family->name();
  neighbour.config = unlikely.config;
  neighbour.family_fingerprint = unlikely.family->fingerprint();
  neighbour.rigor = Rigor::kNormal;
  search.store->put(neighbour, Source{}, Binary{}, {});
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  const DeviceIdentity same = neighbour.device;
  tune({search.problem, same, {}}, h200(), search.device, *search.store, options);
  CHECK(search.device.prepared.at(1) == to_text(unlikely));
}

}  // namespace
}  // namespace tunedgemm::internal
