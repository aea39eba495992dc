#include "tools/tune_all/auto_ladder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "runtime/evaluation/candidate_compiler.h"
#include "tools/shared/program.h"
#include "tuner/m_ladder.h"

namespace tunedgemm::internal {
namespace {

// Neighbouring points differ by this factor.
const double kStep = std::exp2(1.0 / 16);
// At every point a kernel of the pool is predicted to take at most this share longer than the best.
constexpr double kPoolLoss = 0.03;
constexpr std::size_t kMostPooled = 192;
// The pool also gets variants of a kernel with the same tile, such as other clusters and orders, if
// their predictions exceed the kernel's by at most this factor: the model knows them less well.
constexpr double kVariantScatter = 1.3;
constexpr std::size_t kVariants = 2;
// The number of kernels tried at a rung, besides the default.
constexpr std::size_t kTried = 6;

std::vector<std::int64_t> points_up_to(std::int64_t most_m) {
  std::set<std::int64_t> points{most_m};
  for (double m = 1; m < static_cast<double>(most_m); m *= kStep) {
    points.insert(std::llround(m));
  }
  return {points.begin(), points.end()};
}

// The kernel, and the best predicted of those with the same tile.
std::vector<Instance> with_variants(const Instance& kernel, const DeviceLimits& limits) {
  std::vector<Instance> all{kernel};
  for (Instance& other : ranked_candidates(kernel.problem, limits)) {
    if (all.size() <= kVariants && other.tile_key == kernel.tile_key &&
        other.candidate != kernel.candidate &&
        other.predicted_us <= kVariantScatter * kernel.predicted_us) {
      all.push_back(std::move(other));
    }
  }
  return all;
}

bool is_power_of_two(std::int64_t m) {
  return (m & (m - 1)) == 0;
}

}  // namespace

AutoLadder::AutoLadder(Context& context, const Layer& layer) : context_(context) {
  for (const std::int64_t m : points_up_to(layer.most_m)) {
    Shape shape = layer.at(m);
    const Problem problem = canonical(shape.problem).problem;
    points_.push_back({.shape = std::move(shape),
                       .problem = problem,
                       .must_be_tuned = is_power_of_two(m) || m == layer.most_m,
                       .kernels = {default_candidate(problem, context.device().limits())}});
  }
  fill_pool();
  if (!context.device().compiling_disturbs_timing()) {
    compile_pool();
  }
}

void AutoLadder::fill_pool() {
  const DeviceLimits& limits = context_.device().limits();
  std::vector<double> pooled_us(points_.size(), std::numeric_limits<double>::infinity());
  const auto best = [&](std::size_t at) -> const Instance& { return points_[at].kernels.front(); };
  const auto loss = [&](std::size_t at) { return pooled_us[at] / best(at).predicted_us - 1; };
  std::vector<std::size_t> order(points_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  while (pool_.size() < kMostPooled && !interrupted()) {
    const std::size_t worst = *std::ranges::max_element(order, {}, loss);
    if (loss(worst) <= kPoolLoss) {
      break;
    }
    for (const Instance& added : with_variants(best(worst), limits)) {
      pool_.push_back(added);
      for (const std::size_t at : order) {
        Instantiation instance = instantiate(points_[at].problem, added.candidate, limits);
        if (instance) {
          pooled_us[at] = std::min(pooled_us[at], instance->predicted_us);
          points_[at].kernels.push_back(std::move(instance).value());
        }
      }
    }
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

std::optional<Rung> AutoLadder::next(double accepted_loss) {
  const Device& device = context_.device();
  const Problem& any = points_.front().problem;
  const MLadder ladder(any, device.limits(),
                       context_.store().tuned_at_other_m(any, device.identity()));
  std::optional<Rung> worst;
  for (const Point& point : points_) {
    const std::vector<LadderChoice> stored = ladder.choices(point.problem);
    const std::int64_t m = point.problem.m;
    if (ladder.has(m) || proposed_.contains(m) || stored.empty()) {
      continue;
    }
    std::vector<std::pair<double, Candidate>> expected;
    for (const Instance& kernel : point.kernels) {
      expected.emplace_back(ladder.expected_us(kernel), kernel.candidate);
    }
    std::ranges::stable_sort(expected, {}, &std::pair<double, Candidate>::first);
    const double loss = stored.front().expected_us / expected.front().first - 1;
    if (!point.must_be_tuned && loss <= (worst ? worst->expected_loss : accepted_loss)) {
      continue;
    }
    worst = {.shape = point.shape,
             .candidates = {stored.front().instance.candidate},
             .expected_loss = loss};
    for (const auto& [us, candidate] : expected) {
      if (worst->candidates.size() < kTried &&
          std::ranges::find(worst->candidates, candidate) == worst->candidates.end()) {
        worst->candidates.push_back(candidate);
      }
    }
    if (point.must_be_tuned) {
      break;
    }
  }
  if (worst) {
    proposed_.insert(canonical(worst->shape.problem).problem.m);
  }
  return worst;
}

}  // namespace tunedgemm::internal
