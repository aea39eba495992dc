#include "runtime/context/plan_maker.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <variant>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/number_text.h"
#include "runtime/context/context.h"
#include "tuner/crashes.h"
#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

// At most this many candidates, the best first, are looked up in the store.
constexpr std::size_t kLookedUp = 32;
// When this many searches have found nothing, they are all forgotten.
constexpr std::size_t kMostWithoutKernel = 4096;

KernelOrigin origin_of(const Hit& hit) {
  const bool is_exact = hit.match == Match::kExact;
  return {.kind = is_exact ? Origin::kTuned : Origin::kStale,
          .text = std::string(is_exact ? "tuned" : "stale") + ", " +
                  fixed(hit.record.measurement.median_us, 2) + " us",
          .winner = hit.record};
}

KernelOrigin origin_of(const LadderChoice& choice) {
  return {.kind = Origin::kOtherM,
          .text = served_from(choice.tuned_m),
          .winner = std::nullopt,
          .tuned_m = choice.tuned_m,
          .expected_us = choice.expected_us};
}

KernelOrigin origin_of(Origin kind, std::string text) {
  return {.kind = kind, .text = std::move(text), .winner = std::nullopt};
}

// The winners' kernels as instances for `problem`, without duplicates. The nearest winners
// (tuner/neighbours.h) come first. Sizes are not compiled into a kernel, and a kernel accepts
// memory with a higher alignment than it needs.
std::vector<Instance> instances_of_winners(const Problem& problem, const DeviceIdentity& device,
                                           const DeviceLimits& limits,
                                           std::span<const Record> winners) {
  std::vector<Instance> instances;
  std::set<std::string> seen_candidates;
  for (const auto& [apart, winner] : nearest_winners(problem, device, winners)) {
    const Candidate candidate{find_family(winner->family), winner->config};
    const Problem lowered = aligned_as(winner->problem, problem);
    Instantiation instance = instantiate(lowered, candidate, limits);
    if (instance && seen_candidates.insert(to_text(candidate) + " " + to_text(lowered)).second) {
      instances.push_back(std::move(instance).value());
    }
  }
  return instances;
}

}  // namespace

void log_next_best(const Problem& problem, const std::string& reason) {
  log_warning(to_text(problem) + " is computed by the next best kernel: " + reason);
}

const std::vector<Instance>& PlanMaker::Miss::ranked() {
  if (ranked_.empty()) {
    ++maker_.rankings_;
    ranked_ = ranked_candidates(problem(), maker_.device_.limits());
    if (ranked_.empty()) {
      throw CallError(CallError::Kind::kUnsupported,
                      why_no_candidate(problem(), maker_.device_.limits()));
    }
  }
  return ranked_;
}

std::unique_ptr<Plan> PlanMaker::empty(const CheckedCall& call) {
  auto plan = std::make_unique<Plan>(call);
  plan->context = &context_;
  plan->has_streams = device_.has_streams();
  plan->is_counted = context_.counts_all_calls();
  return plan;
}

double PlanMaker::expected_loss(const Plan& plan) {
  if (plan.origin.kind != Origin::kOtherM) {
    return 0;
  }
  ++rankings_;
  return expected_loss(plan, ranked_candidates(plan.problem, device_.limits()));
}

double PlanMaker::expected_loss(const Plan& plan, std::span<const Instance> ranked) {
  return ladder_of(plan.problem, device_.identity())
      ->expected_loss(plan.origin.expected_us, ranked);
}

const std::string& PlanMaker::description(const Plan& plan) {
  return plan.origin.kind == Origin::kOtherM ? describe_loss(plan).text : plan.description;
}

double PlanMaker::described_loss(const Plan& plan) {
  return plan.origin.kind == Origin::kOtherM ? describe_loss(plan).expected_loss : 0;
}

const PlanMaker::DescribedLoss& PlanMaker::describe_loss(const Plan& plan) {
  const std::scoped_lock lock(descriptions_mutex_);
  if (const auto found = descriptions_.find(&plan); found != descriptions_.end()) {
    return found->second;
  }
  DescribedLoss described{.expected_loss = expected_loss(plan), .text = plan.description};
  const std::string& served = plan.origin.text;
  described.text.insert(described.text.find(served) + served.size(),
                        ", " + expected_within(described.expected_loss));
  return descriptions_.emplace(&plan, std::move(described)).first->second;
}

std::unique_ptr<Plan> PlanMaker::from_kernel(const CheckedCall& call, const Instance& instance,
                                             KernelCache::Kernel kernel, KernelOrigin origin) {
  std::unique_ptr<Plan> plan = empty(call);
  plan->launch = instance.launch;
  plan->origin = kernel->is_built_in()
                     ? origin_of(Origin::kLinkedIn, "linked in, nothing is compiled")
                     : std::move(origin);
  plan->description =
      to_text(instance.candidate) + " (" + plan->origin.text +
      (call.problem->invariant != 0
           ? ", invariant, class " + std::string(name(accumulation_class(
                                         instance.candidate, call.problem, device_.limits())))
           : "") +
      (call.problem->sm_limit > 0 ? ", on " + std::to_string(call.problem->sm_limit) + " SMs"
                                  : "") +
      (instance.launch.workspace_bytes > 0
           ? ", workspace of " + std::to_string(instance.launch.workspace_bytes) + " bytes)"
           : ")");
  plan->candidate = instance.candidate;
  plan->is_final = false;
  plan->kernel = std::move(kernel);
  return plan;
}

std::unique_ptr<Plan> PlanMaker::from_winner(const CheckedCall& call, const Hit& hit,
                                             Compiling compiling) {
  const std::string& compiler = hit.record.toolchain.compiler;
  std::variant<KernelCache::Kernel, Rejection> kernel =
      compiling == Compiling::kAllowed ? kernels_.get(hit.winner, compiler)
                                       : kernels_.find_stored(hit.winner, compiler);
  if (const auto* rejection = std::get_if<Rejection>(&kernel)) {
    log_warning("the winner " + to_text(hit.winner.candidate) +
                " cannot be used: " + rejection->detail);
    return nullptr;
  }
  if (std::get<0>(kernel) == nullptr) {
    return nullptr;
  }
  std::unique_ptr<Plan> plan =
      from_kernel(call, hit.winner, std::get<0>(std::move(kernel)), origin_of(hit));
  plan->is_final = true;
  return plan;
}

std::unique_ptr<Plan> PlanMaker::from_store(Miss& miss) {
  const std::string problem = fingerprint(miss.problem());
  const std::int64_t seen = kernels_seen();
  {
    const std::scoped_lock lock(without_kernel_mutex_);
    const auto last = without_kernel_.find(problem);
    if (last != without_kernel_.end() && last->second == seen) {
      return nullptr;
    }
  }
  const std::int64_t not_loaded = kernels_.counters().not_loaded;
  std::unique_ptr<Plan> plan = find_stored(miss);
  // A binary that did not load may load later, when there is memory again.
  if (plan == nullptr && kernels_.counters().not_loaded == not_loaded) {
    const std::scoped_lock lock(without_kernel_mutex_);
    if (without_kernel_.size() >= kMostWithoutKernel) {
      without_kernel_.clear();
    }
    without_kernel_[problem] = seen;
  }
  return plan;
}

std::unique_ptr<Plan> PlanMaker::from_winners_of(Miss& miss, const DeviceIdentity& device,
                                                 std::string_view suffix) {
  const CanonicalProblem& problem = miss.problem();
  for (const auto& find : {&Store::neighbours, &Store::distant_neighbours}) {
    const std::vector<Record> winners = (store_.*find)(problem, device, kAskedNeighbours);
    for (const Instance& instance :
         instances_of_winners(problem, device, device_.limits(), winners)) {
      if (KernelCache::Kernel kernel =
              kernels_.find_stored(instance, device_.toolchain().compiler)) {
        return from_kernel(
            miss.call(), instance, std::move(kernel),
            origin_of(Origin::kNearest, "the nearest stored kernel" + std::string(suffix)));
      }
    }
  }
  return nullptr;
}

std::shared_ptr<const MLadder> PlanMaker::ladder_of(const CanonicalProblem& problem,
                                                    const DeviceIdentity& device) {
  const std::string key = fingerprint(device) + " " + ladder_key(problem);
  const std::int64_t changes = store_.changes();
  {
    const std::lock_guard lock(ladders_mutex_);
    const auto found = ladders_.find(key);
    if (found != ladders_.end() && found->second.changes == changes) {
      return found->second.ladder;
    }
  }
  auto ladder = std::make_shared<const MLadder>(problem, device_.limits(),
                                                store_.tuned_at_other_m(problem, device));
  const std::lock_guard lock(ladders_mutex_);
  ladders_.insert_or_assign(key, ReadLadder{.changes = changes, .ladder = ladder});
  return ladder;
}

std::unique_ptr<Plan> PlanMaker::from_ladder(Miss& miss) {
  for (const LadderChoice& choice :
       ladder_of(miss.problem(), device_.identity())->choices(miss.problem())) {
    if (KernelCache::Kernel kernel =
            kernels_.find_stored(choice.instance, device_.toolchain().compiler)) {
      return from_kernel(miss.call(), choice.instance, std::move(kernel), origin_of(choice));
    }
  }
  return nullptr;
}

std::unique_ptr<Plan> PlanMaker::from_ladder_of(Miss& miss, const DeviceIdentity& similar) {
  const CanonicalProblem& problem = miss.problem();
  for (const LadderChoice& choice : ladder_of(problem, similar)->choices_elsewhere(problem)) {
    if (KernelCache::Kernel kernel =
            kernels_.find_stored(choice.instance, device_.toolchain().compiler)) {
      return from_kernel(miss.call(), choice.instance, std::move(kernel),
                         origin_of(Origin::kOtherDevice, tuned_on(similar, choice, problem)));
    }
  }
  return nullptr;
}

std::unique_ptr<Plan> PlanMaker::find_stored(Miss& miss) {
  if (auto plan = from_ladder(miss)) {
    return plan;
  }
  const std::vector<DeviceIdentity> similar = store_.similar_devices(device_.identity());
  for (const DeviceIdentity& other : similar) {
    if (auto plan = from_ladder_of(miss, other)) {
      return plan;
    }
  }
  if (auto plan = from_winners_of(miss, device_.identity(), "")) {
    return plan;
  }
  for (const DeviceIdentity& other : similar) {
    if (auto plan = from_winners_of(miss, other, ", tuned on " + other.name)) {
      return plan;
    }
  }
  // A kernel that was compiled without tuning has no winner row, but usually a high rank.
  // Search lower ranks only among the loaded kernels, which needs no look-up in the store.
  const std::string& compiler = device_.toolchain().compiler;
  const std::vector<Instance>& ranked = miss.ranked();
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    const Instance& instance = ranked[rank];
    KernelCache::Kernel kernel = rank < kLookedUp ? kernels_.find_stored(instance, compiler)
                                                  : kernels_.find(fingerprint(instance.source()));
    if (kernel != nullptr) {
      return from_kernel(miss.call(), instance, std::move(kernel),
                         origin_of(Origin::kModel, "a stored kernel, chosen by the model"));
    }
  }
  return from_built_in(miss);
}

std::unique_ptr<Plan> PlanMaker::from_built_in(Miss& miss) {
  if (miss.problem()->invariant != 0) {
    return nullptr;  // its epilogue rounds otherwise
  }
  const Instance& best = miss.ranked().front();
  KernelCache::Kernel kernel = device_.built_in(best);
  return kernel == nullptr ? nullptr : from_kernel(miss.call(), best, std::move(kernel), {});
}

std::unique_ptr<Plan> PlanMaker::from_model(Miss& miss, std::string& why_not) {
  const CanonicalProblem& problem = miss.problem();
  // A candidate that does not compile must not fail the call, so try others.
  constexpr std::size_t kAttempts = 8;
  std::size_t attempts = 0;
  // A candidate that crashed a tuning might crash the caller's process.
  const std::vector<TrialRecord> crashes =
      crashes_among(store_.trials({problem, device_.identity(), device_.toolchain()}));
  if (crashes.size() >= kMostCrashes) {
    why_not = why_stopped(crashes);
    return nullptr;
  }
  // Each stream allocates its own workspace at the first launch, so leave room for two.
  const std::int64_t room = device_.free_memory_bytes() / 2;
  for (const Instance& instance :
       untuned_choices(store_, problem, device_.identity(), device_.limits(), miss.ranked())) {
    if (instance.launch.needs_workspace() && instance.launch.workspace_bytes > room) {
      continue;
    }
    if (has_crashed(crashes, instance.candidate)) {
      continue;
    }
    if (attempts++ == kAttempts) {
      break;
    }
    auto kernel =
        try_or_log(problem, [&] { return kernels_.get(instance, device_.toolchain().compiler); });
    const auto* rejection = std::get_if<Rejection>(&kernel);
    if (rejection == nullptr && std::get<0>(kernel) != nullptr) {
      return from_kernel(miss.call(), instance, std::get<0>(std::move(kernel)),
                         origin_of(Origin::kModel, "chosen by the model"));
    }
    if (rejection != nullptr) {
      why_not = rejection->detail;
    }
  }
  return nullptr;
}

std::unique_ptr<Plan> PlanMaker::without_workspace(Miss& miss, Compiling compiling) {
  const CanonicalProblem& problem = miss.problem();
  const std::vector<TrialRecord> trials =
      store_.trials({problem, device_.identity(), device_.toolchain()});
  std::vector<Instance> candidates = measured_instances(problem, device_.limits(), trials);
  candidates.insert(candidates.end(), miss.ranked().begin(), miss.ranked().end());
  const std::vector<TrialRecord> crashes = crashes_among(trials);
  std::erase_if(candidates, [&](const Instance& instance) {
    return instance.launch.needs_workspace() || has_crashed(crashes, instance.candidate);
  });
  candidates.resize(std::min(candidates.size(), kLookedUp));
  const std::string& compiler = device_.toolchain().compiler;
  for (const Instance& instance : candidates) {
    if (KernelCache::Kernel kernel = kernels_.find_stored(instance, compiler)) {
      return from_kernel(miss.call(), instance, std::move(kernel),
                         origin_of(Origin::kModel, "without a workspace"));
    }
  }
  if (compiling == Compiling::kAllowed) {
    for (const Instance& instance : candidates) {
      auto kernel = kernels_.get(instance, compiler);
      if (std::holds_alternative<KernelCache::Kernel>(kernel)) {
        return from_kernel(miss.call(), instance, std::get<0>(std::move(kernel)),
                           origin_of(Origin::kModel, "without a workspace"));
      }
    }
  }
  return from_built_in(miss);
}

std::unique_ptr<Plan> PlanMaker::from_loaded(Miss& miss) {
  for (const Instance& instance : miss.ranked()) {
    if (KernelCache::Kernel kernel = kernels_.find(fingerprint(instance.source()))) {
      return from_kernel(miss.call(), instance, std::move(kernel),
                         origin_of(Origin::kModel, "loaded before a capture"));
    }
  }
  return nullptr;
}

}  // namespace tunedgemm::internal
