#include "tools/tune_all/auto_ladder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "runtime/evaluation/candidate_compiler.h"
#include "tools/shared/program.h"
#include "tuner/m_ladder.h"

namespace tunedgemm::internal {
namespace {

// Neighbouring points differ by at least this factor.
const double kStep = std::exp2(1.0 / 16);
// Beside the cost model's favourite at a point the pool gets as many others of the same tile, such
// as other clusters and orders: the model knows these less well.
constexpr std::size_t kVariants = 1;
// The kernels tried at a rung, besides the default and the best stored one: those expected to be
// the fastest, then those predicted to be the fastest, whatever the errors that were measured
// elsewhere.
constexpr std::size_t kTriedAsExpected = 4, kTriedAsPredicted = 2;

std::vector<std::int64_t> points_up_to(std::int64_t most_m) {
  std::set<std::int64_t> points{most_m};
  for (double m = 1; m < static_cast<double>(most_m); m *= kStep) {
    points.insert(std::llround(m));
  }
  return {points.begin(), points.end()};
}

// The candidate that the cost model favours, which a tuning tries as the default, and its variants.
std::vector<Instance> favourites(const Problem& problem, const DeviceLimits& limits) {
  std::vector<Instance> all;
  for (Instance& instance : ranked_candidates(problem, limits)) {
    if (all.size() <= kVariants && (all.empty() || instance.tile_key == all.front().tile_key)) {
      all.push_back(std::move(instance));
    }
  }
  return all;
}

using TimedCandidate = std::pair<double, Candidate>;  // microseconds

// Adds the first candidates of `sorted` that are not there yet, until there are `most`.
void add_best(const std::vector<TimedCandidate>& sorted, std::size_t most,
              std::vector<Candidate>& candidates) {
  for (const auto& [us, candidate] : sorted) {
    if (candidates.size() < most && std::ranges::find(candidates, candidate) == candidates.end()) {
      candidates.push_back(candidate);
    }
  }
}

bool is_power_of_two(std::int64_t m) {
  return (m & (m - 1)) == 0;
}

}  // namespace

AutoLadder::AutoLadder(Context& context, const Layer& layer) : context_(context) {
  const DeviceLimits& limits = context.device().limits();
  std::set<std::string> seen;
  for (const std::int64_t m : points_up_to(layer.most_m)) {
    NamedProblem shape = layer.at(m);
    const CanonicalProblem problem = canonical(shape.problem);
    for (Instance& kernel : favourites(problem, limits)) {
      if (seen.insert(to_text(kernel.candidate)).second) {
        pool_.push_back(std::move(kernel));
      }
    }
    points_.push_back({.shape = std::move(shape),
                       .problem = problem,
                       .must_be_tuned = is_power_of_two(m) || m == layer.most_m});
  }
  for (Point& point : points_) {
    for (const Instance& kernel : pool_) {
      if (Instantiation instance = instantiate(point.problem, kernel.candidate, limits)) {
        point.kernels.push_back(std::move(instance).value());
      }
    }
  }
  if (!context.device().compiling_disturbs_timing()) {
    compile_pool();
  }
}

void AutoLadder::compile_pool() const {
  Device& device = context_.device();
  CandidateCompiler compiler(device, context_.store(), nullptr);
  compiler.start(pool_);
  for (const Instance& kernel : pool_) {
    if (interrupted()) {
      return;
    }
    const auto compiled = compiler.binary(kernel);
    if (const auto* binary = std::get_if<Binary>(&compiled)) {
      context_.store().put_binary(kernel.source(), device.toolchain(), device.limits().arch,
                                  *binary);
    }
  }
}

std::vector<Candidate> AutoLadder::candidates_at(const Point& point, const MLadder& ladder,
                                                 const Candidate& stored) {
  std::vector<TimedCandidate> expected, predicted;
  for (const Instance& kernel : point.kernels) {
    expected.emplace_back(ladder.expected_us(kernel), kernel.candidate);
    predicted.emplace_back(kernel.predicted_us, kernel.candidate);
  }
  std::ranges::stable_sort(expected, {}, &TimedCandidate::first);
  std::ranges::stable_sort(predicted, {}, &TimedCandidate::first);
  std::vector<Candidate> candidates{stored};
  add_best(expected, 1 + kTriedAsExpected, candidates);
  add_best(predicted, 1 + kTriedAsExpected + kTriedAsPredicted, candidates);
  return candidates;
}

std::optional<Rung> AutoLadder::next(double accepted_loss) {
  const Device& device = context_.device();
  const CanonicalProblem& any = points_.front().problem;
  const MLadder ladder(any, device.limits(),
                       context_.store().tuned_at_other_m(any, device.identity()));
  const Point* worst = nullptr;
  std::optional<LadderChoice> stored_at_worst;
  double most_loss = accepted_loss;
  for (const Point& point : points_) {
    const std::int64_t m = point.problem->m;
    if (ladder.has(m) || proposed_.contains(m)) {
      continue;
    }
    std::vector<LadderChoice> stored = ladder.choices(point.problem);
    if (stored.empty()) {
      continue;
    }
    double best_us = std::numeric_limits<double>::infinity();
    for (const Instance& kernel : point.kernels) {
      best_us = std::min(best_us, ladder.expected_us(kernel));
    }
    const double loss = stored.front().expected_us / best_us - 1;
    if (point.must_be_tuned || loss > most_loss) {
      worst = &point;
      stored_at_worst = std::move(stored.front());
      most_loss = loss;
    }
    if (point.must_be_tuned) {
      break;
    }
  }
  if (worst == nullptr) {
    return std::nullopt;
  }
  proposed_.insert(worst->problem->m);
  return Rung{.shape = worst->shape,
              .candidates = candidates_at(*worst, ladder, stored_at_worst->instance.candidate),
              .expected_loss = most_loss};
}

}  // namespace tunedgemm::internal
