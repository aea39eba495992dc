#include "tools/tunedgemm/race.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/evaluation/operands.h"
#include "runtime/evaluation/trial_runner.h"
#include "runtime/evaluation/verifier.h"

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
  std::shared_ptr<const CompiledKernel> kernel;
  Launch launch;
  bool must_stay = true;  ///< whatever the screening says
  TimedLaunch timed;
  double screened_us = 0;
};

double sample(TrialRunner& bench, Entrant& entrant, int launches) {
  const auto us = bench.sample(entrant.timed, launches);
  if (const auto* rejection = std::get_if<Rejection>(&us)) {
    throw std::runtime_error(entrant.racer.name + ": " + rejection->detail);
  }
  return std::get<double>(us);
}

// What is wrong with the result.
std::optional<Rejection> check(TrialRunner& bench, Entrant& entrant) {
  const auto error = bench.check(*entrant.kernel, entrant.launch);
  if (const auto* rejection = std::get_if<Rejection>(&error)) {
    return Rejection{rejection->reason, entrant.racer.name + ": " + to_text(*rejection)};
  }
  entrant.racer.max_error = std::get<double>(error);
  return std::nullopt;
}

std::unique_ptr<Verifier> make_verifier(Context& context) {
  Device& device = context.device();
  return device.limits().backend == Backend::kCuda ? make_cuda_verifier(device, context.store())
                                                   : make_host_verifier(device.limits().threads);
}

// One of ours, checked; or why not.
std::variant<Entrant, std::string> make_entrant(Context& context, TrialRunner& bench,
                                                const Problem& problem, const Entry& entry) {
  const auto& [family, config] = entry.candidate;
  const std::string kernel = to_text(entry.candidate);
  auto made = context.kernel(problem, entry.candidate);
  if (const auto* rejection = std::get_if<Rejection>(&made)) {
    return kernel + ": " + rejection->detail;
  }
  Entrant entrant;
  entrant.racer.name = entry.name;
  entrant.racer.kernel = kernel;
  entrant.kernel = std::get<0>(std::move(made));
  entrant.launch = family->launch(problem, config, context.device().limits());
  if (const auto wrong = check(bench, entrant)) {
    return kernel + ": " + wrong->detail;
  }
  return entrant;
}

// The vendor's arms whose results have been checked.
void add_vendor(TrialRunner& bench, Vendor& vendor, const Problem& problem, std::uint64_t seed,
                std::vector<Entrant>& entrants, std::vector<std::string>& remarks) {
  const Scalars scalars = VerifiedProblem(problem, seed).scalars;
  std::string why_not;
  auto proposals =
      vendor.proposals(problem, scalars.scale_a * scalars.scale_b, kProposals, &why_not);
  if (!why_not.empty()) {
    remarks.push_back(vendor.name() + " takes no part: " + why_not);
  }
  for (std::size_t index = 0; index < proposals.size(); ++index) {
    Entrant entrant;
    entrant.racer.name = vendor.arm() + " " + std::to_string(index);
    entrant.kernel = std::move(proposals[index]);
    entrant.must_stay = index == 0;
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
void screen(TrialRunner& bench, std::vector<Entrant>& entrants) {
  for (Entrant& entrant : entrants) {
    entrant.timed = bench.prepare_timing(*entrant.kernel, entrant.launch);
    entrant.screened_us = sample(bench, entrant, 2);
  }
  const double best_us = fastest_us(entrants);
  std::erase_if(entrants, [&](const Entrant& entrant) {
    return !entrant.must_stay && entrant.screened_us > kFarBehind * best_us;
  });
}

int launches_of(const Entrant& entrant) {
  return std::clamp(static_cast<int>(kSampleUs / std::max(entrant.screened_us, 0.1)), 1,
                    kMostLaunches);
}

void run_rounds(Device& device, Verifier& tests, TrialRunner& bench, std::vector<Entrant>& entrants,
                const RaceOptions& options) {
  std::vector<std::size_t> order(entrants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(options.seed);
  // The first round instantiates the graphs and is not counted.
  for (int round = 0; round <= options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) {
      std::this_thread::sleep_for(options.rest);
      tests.mhz_since_last_call();
      const double us = sample(bench, entrants[index], launches_of(entrants[index]));
      const double counted_mhz = tests.mhz_since_last_call();
      const double clock_mhz = counted_mhz > 0 ? counted_mhz : device.clock().mhz;
      if (round > 0) {
        entrants[index].racer.rounds_us.push_back(static_cast<float>(us));
        entrants[index].racer.clocks_mhz.push_back(clock_mhz);
      }
    }
  }
}

}  // namespace

Race race(Context& context, const Problem& problem, const std::vector<Entry>& ours, Vendor* vendor,
          const RaceOptions& options) {
  Device& device = context.device();
  const Device::Current current(device);
  std::unique_ptr<Verifier> tests = make_verifier(context);
  Verifier& clocks = *tests;  // lives as long as `bench`, which owns it
  TrialRunner bench(device, std::move(tests), problem, options.seed);
  Race result;
  std::vector<Entrant> entrants;
  for (const Entry& entry : ours) {
    auto made = make_entrant(context, bench, problem, entry);
    if (auto* entrant = std::get_if<Entrant>(&made)) {
      entrants.push_back(std::move(*entrant));
    } else if (entrants.empty()) {
      throw std::runtime_error(std::get<std::string>(made));
    } else {
      result.remarks.push_back(std::get<std::string>(made));
    }
  }
  if (vendor != nullptr) {
    add_vendor(bench, *vendor, problem, options.seed, entrants, result.remarks);
  }
  screen(bench, entrants);
  run_rounds(device, clocks, bench, entrants, options);
  for (Entrant& entrant : entrants) {
    result.racers.push_back(std::move(entrant.racer));
  }
  return result;
}

}  // namespace tunedgemm
