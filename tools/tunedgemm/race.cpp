#include "tools/tunedgemm/race.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/operands.h"
#include "runtime/test_bench.h"
#include "runtime/trial_bench.h"

namespace tunedgemm {
namespace {

constexpr int kProposals = 8;
// A sample takes about this long, so that the clock's resolution and the first launch do not show.
constexpr double kSampleUs = 2000;
constexpr int kMostLaunches = 256;
// One sample before the rounds: a proposal that is this much slower than the fastest is not raced.
constexpr double kFarBehind = 1.5;

struct Entrant {
  Racer racer;
  const CompiledKernel* kernel = nullptr;
  Launch launch;
  TimedLaunch timed;
  double screened_us = 0;
};

double sample(TrialBench& bench, Entrant& entrant, int launches) {
  const auto us = bench.sample(entrant.timed, launches);
  if (const auto* rejection = std::get_if<Rejection>(&us)) {
    throw std::runtime_error(entrant.racer.name + ": " + rejection->detail);
  }
  return std::get<double>(us);
}

// What is wrong with the result.
std::optional<Rejection> check(TrialBench& bench, Entrant& entrant) {
  const auto error = bench.check(*entrant.kernel, entrant.launch);
  if (const auto* rejection = std::get_if<Rejection>(&error)) {
    return Rejection{rejection->reason, entrant.racer.name + ": " +
                                            std::string(name(rejection->reason)) + ": " +
                                            rejection->detail};
  }
  entrant.racer.max_error = std::get<double>(error);
  return std::nullopt;
}

std::unique_ptr<TestBench> make_test_bench(Context& context) {
  Device& device = context.device();
  return device.limits().backend == Backend::kCuda ? make_cuda_test_bench(device, context.store())
                                                   : make_host_test_bench(device.limits().threads);
}

Entrant make_entrant(std::string name, const CompiledKernel& kernel, const Launch& launch) {
  Entrant entrant;
  entrant.racer.name = std::move(name);
  entrant.kernel = &kernel;
  entrant.launch = launch;
  return entrant;
}

// The vendor's arms whose results have been checked.
void add_vendor(TrialBench& bench, const std::vector<std::unique_ptr<CompiledKernel>>& proposals,
                std::vector<Entrant>& entrants, std::vector<std::string>& remarks) {
  for (std::size_t index = 0; index < proposals.size(); ++index) {
    Entrant entrant = make_entrant("cublaslt " + std::to_string(index), *proposals[index], {});
    const auto wrong = check(bench, entrant);
    if (wrong) {
      remarks.push_back(wrong->detail);
    }
    // The vendor's rounding may be coarser than our bound: that is told, and it races all the same.
    if (!wrong || wrong->reason == Reason::kWrongResult) {
      entrants.push_back(std::move(entrant));
    }
  }
}

double fastest_us(const std::vector<Entrant>& entrants) {
  return std::min_element(
             entrants.begin(), entrants.end(),
             [](const Entrant& a, const Entrant& b) { return a.screened_us < b.screened_us; })
      ->screened_us;
}

// One short sample of each; drops what is far behind.
void screen(TrialBench& bench, std::vector<Entrant>& entrants) {
  for (Entrant& entrant : entrants) {
    entrant.timed = bench.prepare_timing(*entrant.kernel, entrant.launch);
    entrant.screened_us = sample(bench, entrant, 2);
  }
  const double best_us = fastest_us(entrants);
  // Ours and the vendor's default stay in whatever the screening says.
  std::erase_if(entrants, [&](const Entrant& entrant) {
    const bool must_stay = entrant.racer.name == "tuned" || entrant.racer.name == "cublaslt 0";
    return !must_stay && entrant.screened_us > kFarBehind * best_us;
  });
}

void run_rounds(Device& device, TrialBench& bench, std::vector<Entrant>& entrants,
                const RaceOptions& options) {
  const int launches = std::clamp(static_cast<int>(kSampleUs / std::max(fastest_us(entrants), 0.1)),
                                  1, kMostLaunches);
  std::vector<std::size_t> order(entrants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(options.seed);
  // The first round instantiates the graphs and is not counted.
  for (int round = 0; round <= options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) {
      std::this_thread::sleep_for(options.rest);
      const double us = sample(bench, entrants[index], launches);
      const int clock_mhz = device.clock().mhz;
      if (round > 0) {
        entrants[index].racer.rounds_us.push_back(static_cast<float>(us));
        entrants[index].racer.clocks_mhz.push_back(clock_mhz);
      }
    }
  }
}

}  // namespace

Race race(Context& context, const Problem& problem, const Candidate& candidate, CublasLt* vendor,
          const RaceOptions& options) {
  Device& device = context.device();
  const Device::Current current(device);
  auto made = context.kernel(problem, candidate);
  if (const auto* rejection = std::get_if<Rejection>(&made)) {
    throw std::runtime_error(to_text(candidate) + ": " + rejection->detail);
  }
  const auto kernel = std::get<0>(std::move(made));
  TrialBench bench(device, make_test_bench(context), problem, options.seed);
  Race result{.kernel = to_text(candidate), .racers = {}, .remarks = {}};

  std::vector<Entrant> entrants;
  entrants.push_back(make_entrant(
      "tuned", *kernel, candidate.family->launch(problem, candidate.config, device.limits())));
  if (const auto wrong = check(bench, entrants.front())) {
    throw std::runtime_error(result.kernel + ": " + wrong->detail);
  }
  std::vector<std::unique_ptr<CompiledKernel>> proposals;
  if (vendor != nullptr) {
    const Scalars scalars = JudgedProblem(problem, options.seed).scalars;
    std::string why_not;
    proposals = vendor->proposals(problem, scalars.scale_a * scalars.scale_b, kProposals, &why_not);
    if (!why_not.empty()) {
      result.remarks.push_back("cuBLASLt takes no part: " + why_not);
    }
  }
  add_vendor(bench, proposals, entrants, result.remarks);
  screen(bench, entrants);
  run_rounds(device, bench, entrants, options);
  for (Entrant& entrant : entrants) {
    result.racers.push_back(std::move(entrant.racer));
  }
  return result;
}

}  // namespace tunedgemm
