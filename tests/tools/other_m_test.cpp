// Values of M that tune-all has not tuned: policy stored serves them with the kernels of a ladder
// of tuned M. Each of these kernels races against the winner of its M's own tuning.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"
#include "tests/tools/support/shell.h"
#include "tools/tunedgemm/bench_race.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

// The speed of the served kernels relative to the own winners, in the geometric mean.
constexpr double kLeastSpeed = 0.85;
constexpr int kMostTunedM = 1024;

struct LayerSize {
  int n, k;
};

struct ServedM {
  Problem problem;
  std::string served_from;  ///< from the plan's description: the tuned M and the expected loss
  Candidate served;
  Candidate own = {};         ///< the winner of the own tuning
  double relative_speed = 1;  ///< of the served kernel, relative to the own winner
};

// One thread, since the samples of several are slow whenever other work takes one of their cores.
std::unique_ptr<Context> context_of(const std::filesystem::path& cache, Policy policy) {
  ContextOptions options;
  options.backend = &host_backend();
  options.device.host_threads = 1;
  options.store.path = cache;
  options.policy = policy;
  return Context::create(options);
}

void tune_ladder(const Shell& shell, const LayerSize& layer, const std::string& ladder) {
  std::ofstream(shell.folder() / "layer.csv")
      << "types,n,k\nf32," << layer.n << "," << layer.k << "\n";
  const ProgramResult tuned = shell.run("TUNEDGEMM_THREADS=1 " TUNE_ALL
                                        " --device host --rigor quick layer.csv --m-ladder " +
                                        ladder);
  CAPTURE(tuned.output, tuned.errors);
  REQUIRE(tuned.status == 0);
}

// Random M that are not tuned, `count` in each range from a power of four to the next, up to four
// times the greatest tuned M. A range has fewer if nearly all of it is tuned.
std::vector<int> draw_other_m(Context& context, const LayerSize& layer, int count,
                              std::mt19937_64& random) {
  std::set<std::int64_t> tuned;
  for (const Record& winner : context.store().winners()) {
    if (winner.problem->n == layer.n && winner.problem->k == layer.k) {
      tuned.insert(winner.problem->m);
    }
  }
  REQUIRE(*tuned.rbegin() == kMostTunedM);
  std::vector<int> drawn;
  for (int power = 1; power <= kMostTunedM; power *= 4) {
    std::vector<int> range(static_cast<std::size_t>(3 * power));
    std::iota(range.begin(), range.end(), power);
    std::erase_if(range, [&](int m) { return tuned.contains(m); });
    std::ranges::sample(range, std::back_inserter(drawn), count, random);
  }
  return drawn;
}

ServedM serve(Context& context, int m, const LayerSize& layer) {
  const HostCall call(m, layer.n, layer.k);
  const Plan& plan = context.plan(call.checked(), {});
  const std::string& description = context.description(plan);
  const std::size_t begin = description.find("served from M = ");
  CAPTURE(description);
  REQUIRE(begin != std::string::npos);
  CHECK_THAT(description, ContainsSubstring(", expected within "));
  return {.problem = plan.problem,
          .served_from = description.substr(begin, description.find(')', begin) - begin),
          .served = plan.candidate};
}

Candidate tuned_alone(Context& context, const Problem& problem) {
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  const TuneResult result = context.tune(problem, options);
  CAPTURE(result.tuning.failure);
  REQUIRE(result.record);
  return {find_family(result.record->family), result.record->config};
}

// 1 if the served kernel is the faster one: a poor own tuning must not outweigh a poor choice.
double raced_speed(Context& context, const ServedM& one) {
  if (one.served == one.own) {
    return 1;
  }
  const BenchRow row =
      race_kernels(context, {"", one.problem}, {{"own", one.own}, {"served", one.served}}, nullptr,
                   {.rounds = 31, .cool_down = std::chrono::milliseconds(0)});
  CAPTURE(row.remarks);
  REQUIRE(row.contenders.size() == 2);
  return std::min(1.0, row.contenders[0].median_us / row.contenders[1].median_us);
}

double mean_speed(const std::vector<ServedM>& all) {
  double sum = 0;
  for (const ServedM& one : all) {
    sum += std::log(one.relative_speed);
  }
  return std::exp(sum / static_cast<double>(all.size()));
}

std::string table_of(const std::vector<ServedM>& all) {
  std::ostringstream table;
  table << std::fixed << std::setprecision(3);
  for (const ServedM& one : all) {
    table << "M = " << one.problem.m << ", N = " << one.problem.n << ", K = " << one.problem.k
          << ": " << one.relative_speed << " of the own tuning's speed, " << one.served_from
          << "\n    served " << to_text(one.served) << "\n    own    " << to_text(one.own) << "\n";
  }
  table << "geometric mean " << mean_speed(all) << "\n";
  return table.str();
}

// Tunes a ladder for each layer, and other M one by one: `count` in each range.
std::vector<ServedM> tune_and_race(const std::vector<LayerSize>& layers, const std::string& ladder,
                                   int count, std::mt19937_64& random) {
  const Shell shell;
  const auto own = context_of(shell.folder() / "own.db", Policy::kTune);
  for (const LayerSize& layer : layers) {
    tune_ladder(shell, layer, ladder);
  }
  const auto stored = context_of(shell.cache(), Policy::kStored);
  std::vector<ServedM> all;
  for (const LayerSize& layer : layers) {
    for (const int m : draw_other_m(*stored, layer, count, random)) {
      all.push_back(serve(*stored, m, layer));
    }
  }
  CHECK(stored->kernel_counters().compiled == 0);
  CHECK(all.size() >= 10);
  for (ServedM& one : all) {
    one.own = tuned_alone(*own, one.problem);
    one.relative_speed = raced_speed(*own, one);
  }
  return all;
}

// Other work may disturb a tuning, whose winner is then a slow kernel. So a second one decides.
void check_other_m(const std::vector<LayerSize>& layers, const std::string& ladder, int count) {
  const Shell shell;
  const auto context = context_of(shell.cache(), Policy::kTune);
  if (const std::string why_not = context->device().why_not_compile(); !why_not.empty()) {
    TUNEDGEMM_SKIP(why_not);
  }
  std::mt19937_64 random(test_seed());
  std::vector<ServedM> all = tune_and_race(layers, ladder, count, random);
  std::cout << table_of(all);
  if (mean_speed(all) < kLeastSpeed) {
    all = tune_and_race(layers, ladder, count, random);
    std::cout << "tuned again:\n" << table_of(all);
  }
  INFO(table_of(all));
  CHECK(mean_speed(all) >= kLeastSpeed);
}

}  // namespace

TEST_CASE("M between and above the given ones run at 0.85 of the speed of their own tuning",
          "[speed]") {
  check_other_m({{768, 256}, {256, 768}}, "1,2,4,8,16,32,64,256," + std::to_string(kMostTunedM), 1);
}

TEST_CASE("M that an automatic ladder leaves out run at 0.85 of the speed of their own tuning",
          "[speed]") {
  check_other_m({{512, 384}}, "auto:" + std::to_string(kMostTunedM), 2);
}

}  // namespace tunedgemm::internal
