// Checks the cache's statements about its winners, on noisy machines and with small budgets. Each
// winner must have been measured fastest among its finalists, or its remark must say why a faster
// one was passed over. The test queries the store as a user would query its tables.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/memory_store.h"
#include "tests/support/seed.h"
#include "tests/tuner/support/fake_family.h"
#include "tests/tuner/support/simulated_device.h"
#include "tuner/decision.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {
namespace {

std::unique_ptr<Store> memory() {
  StoreOptions options;
  options.find_family = [](std::string_view) { return &fake_family(); };
  return memory_store(options);
}

const CanonicalProblem& problem() {
  static const CanonicalProblem square =
      canonical(make_problem(512, 512, 512, DataType::kF32, DataType::kF32, DataType::kF32));
  return square;
}

// Whether a new winner was stored.
bool tune_and_store(Evaluator& evaluator, Store& store, const TuneOptions& options) {
  const Tuning tuning = tune({problem(), {}, {}}, {}, evaluator, store, options);
  REQUIRE(tuning.record);
  return store.put(*tuning.record, tuning.winner_source, tuning.winner_binary, tuning.trials)
      .stored;
}

// The number after `mark` in the text.
double number_after(const std::string& text, const std::string& mark) {
  const auto found = text.find(mark);
  return found == std::string::npos ? 0 : std::strtod(text.c_str() + found + mark.size(), nullptr);
}

// Checks the stored winner against the trials of its tuning. A less thorough tuning may have
// followed.
std::string what_is_wrong(const Store& store, bool is_of_newest_tuning) {
  const auto winners = store.winners();
  if (winners.size() != 1) {
    return std::to_string(winners.size()) + " winners";
  }
  const Record& winner = winners.front();
  double fastest_us = winner.measurement.median_us;
  bool is_there = false;
  for (const TrialRecord& trial : store.trials({problem(), {}, {}})) {
    if (trial.final_round && !trial.rejection) {
      fastest_us = std::min(fastest_us, trial.measurement->median_us);
      is_there |= trial.config == winner.config && trial.family == winner.family &&
                  trial.measurement == winner.measurement;
    }
  }
  if (is_of_newest_tuning && !is_there) {
    return "the winner's trial is another one";
  }
  const double faster = winner.measurement.median_us / fastest_us;
  if (faster <= 1 + kTieMargin) {
    return "";
  }
  // The speedup in the remark has two decimals. A less thorough tuning may have timed the fastest
  // again, and replaced its row.
  const double told = number_after(winner.remark, "another measured ");
  const bool says_why = winner.remark.find("kept: ") != std::string::npos &&
                        winner.remark.find("+-") != std::string::npos;
  return says_why && told >= faster - 0.0051
             ? ""
             : "a finalist was " + std::to_string(faster) + " times as fast, and the remark is '" +
                   winner.remark + "'";
}

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

template <class Values>
auto one_of(std::mt19937_64& random, const Values& values) {
  return values[random() % values.size()];
}

TuneOptions small_budget(std::mt19937_64& random) {
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  options.seed = random();
  options.budget.seconds = one_of(random, std::array{5.0, 0.6, 0.3, 0.05});
  options.budget.candidates = one_of(random, std::array{0, 2, 5});
  return options;
}

// Makes the device as noisy as a random machine, which may be idle or very busy.
void disturb(SimulatedDevice& device, std::mt19937_64& random) {
  device.noise = one_of(random, std::array{0.0, 0.002, 0.01, 0.04, 0.15});
  device.outlier_probability = one_of(random, std::array{0.0, 0.0, 0.06, 0.3});
  device.cool_down_before_sample = one_of(random, std::array{0.0, 0.004});
}

// Twelve candidates, of which the first is the default.
struct Shape {
  explicit Shape(std::mt19937_64& random) {
    us = std::pow(10, uniform(random, 1, 4.7));
    for (double& each : factors) {
      each = uniform(random, 1, 1.6);
    }
    factors[0] = uniform(random, 1, 2.8);
  }
  void install(SimulatedDevice& device, TuneOptions& options, double slower = 1) const {
    for (int number = 0; number < 12; ++number) {
      Behaviour behaviour;
      behaviour.us = slower * us * factors[static_cast<std::size_t>(number)];
      const int tiles[] = {32, 64, 128, 256};
      const Candidate candidate = fake_family().candidate(number % 4, tiles[number / 4]);
      device.add(candidate, behaviour);
      options.candidates.push_back(candidate);
    }
    options.default_candidate = options.candidates.front();
  }
  double us = 0;
  std::array<double, 12> factors{};
};

}  // namespace

TEST_CASE("Each stored winner was measured fastest, or says why another was passed over") {
  std::mt19937_64 random(test_seed());
  int remarked = 0;
  constexpr int kShapes = 300;
  for (int shape = 0; shape < kShapes; ++shape) {
    const auto store = memory();
    SimulatedDevice device(random());
    disturb(device, random);
    TuneOptions options = small_budget(random);
    Shape(random).install(device, options);
    const bool is_stored = tune_and_store(device, *store, options);
    INFO("shape " << shape << ", noise " << device.noise << ", outliers "
                  << device.outlier_probability << ", " << options.budget.seconds << " s");
    CHECK(is_stored);
    const std::string wrong = what_is_wrong(*store, is_stored);
    INFO(wrong);
    CHECK(wrong.empty());
    remarked += store->winners().front().remark.find("kept: ") != std::string::npos ? 1 : 0;
  }
  CHECK(remarked > 0);
  CHECK(remarked < kShapes / 2);
}

TEST_CASE("The same holds after a tuning on another day, with a slower or faster machine") {
  std::mt19937_64 random(test_seed());
  for (int shape = 0; shape < 150; ++shape) {
    const auto store = memory();
    const Shape candidates(random);
    for (const Rigor rigor : {Rigor::kQuick, Rigor::kNormal}) {
      SimulatedDevice device(random());
      disturb(device, random);
      TuneOptions options = small_budget(random);
      options.rigor = rigor;
      candidates.install(device, options, uniform(random, 0.8, 1.25));
      const bool is_stored = tune_and_store(device, *store, options);
      const std::string wrong = what_is_wrong(*store, is_stored);
      INFO("shape " << shape << ", rigor " << name(rigor) << ": " << wrong);
      CHECK(wrong.empty());
    }
  }
}

}  // namespace tunedgemm::internal
