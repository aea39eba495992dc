#include "runtime/context/context.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/text.h"
#include "runtime/calls/arguments.h"
#include "runtime/context/stored_choice.h"
#include "runtime/process/tuning_worker.h"
#include "tuner/crashes.h"
#include "tuner/neighbours.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

constexpr std::pair<std::string_view, Policy> kPolicies[] = {
    {"tune", Policy::kTune},
    {"compile", Policy::kCompile},
    {"fail", Policy::kFail},
    {"stored", Policy::kStored},
    {"tune_in_background", Policy::kTuneInBackground}};

std::unique_ptr<Device> open_device(const ContextOptions& options) {
  const Backend& backend = options.backend != nullptr ? *options.backend : automatic_backend();
  std::unique_ptr<Device> device = backend.open(options.ordinal, options.host_threads);
  device->compile_by(options.compile_command);
  return device;
}

std::unique_ptr<TuningWorker> worker_of(const ContextOptions& options, const Device& device,
                                        Store& store) {
  if (options.worker_command.empty()) {
    return nullptr;
  }
  return std::make_unique<TuningWorker>(options.worker_command,
                                        WorkerPlace{.backend = std::string(device.backend().name()),
                                                    .ordinal = options.ordinal,
                                                    .host_threads = options.host_threads,
                                                    .cache = store.path().string()},
                                        store);
}

bool is_empty(const Problem& problem) {
  return problem.m == 0 || problem.n == 0 || problem.batch == 0;
}

// What the store would answer for a record that has just been put or found there.
std::optional<Hit> hit_of(Record record, const Problem& problem, const DeviceLimits& limits,
                          Match match) {
  const Family* family = find_family(record.family);
  if (family == nullptr) {
    return std::nullopt;
  }
  Instantiation made = family->instantiate(problem, record.config, limits);
  if (!made) {
    return std::nullopt;
  }
  return Hit{.record = std::move(record), .match = match, .winner = std::move(made).value()};
}

std::string microseconds(double us) {
  const std::string text = std::to_string(us);
  return text.substr(0, text.find('.') + 3) + " us";
}

// What the attempt returns. Where the environment breaks it (no memory, no thread, no file), a null
// or empty result and a line in the log: the caller has a next best answer. A device that has failed
// has none.
template <class Attempt>
auto or_nothing(const Problem& problem, Attempt&& attempt) -> decltype(attempt()) {
  std::string reason;
  try {
    return attempt();
  } catch (const CallError&) {
    throw;
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kFailed) {
      throw;
    }
    reason = error.what();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  log_warning(to_text(problem) + " is computed by the next best kernel: " + reason);
  return {};
}

double compile_seconds(const ContextOptions& options) {
  return std::max(search_limits_of(options.rigor, options.budget).seconds, kLeastCompileSeconds);
}

}  // namespace

std::string_view name(Policy policy) {
  for (const auto& [name, known] : kPolicies) {
    if (known == policy) {
      return name;
    }
  }
  return "unknown";
}

std::optional<Policy> parse_policy(std::string_view text) {
  for (const auto& [name, policy] : kPolicies) {
    if (text == name) {
      return policy;
    }
  }
  return std::nullopt;
}

std::unique_ptr<Context> Context::create(const ContextOptions& options) {
  return std::unique_ptr<Context>(
      new Context(options, open_device(options), Store::open(options.store)));
}

Context::Context(const ContextOptions& options, std::unique_ptr<Device> device,
                 std::unique_ptr<Store> store)
    : options_(options),
      device_(std::move(device)),
      store_(std::move(store)),
      kernels_(*device_, *store_, compile_seconds(options)),
      workspaces_(*device_),
      tuning_(*device_, *store_, worker_of(options, *device_, *store_)),
      background_([this](const Problem& canonical, const BackgroundTuner::MustEnd& must_end) {
        return tune_in_background(canonical, must_end);
      }) {}

Context::~Context() {
  freeze();
  note_calls();
}

const Plan& Context::plan(const CallKey& key, StreamHandle stream, std::optional<Policy> asked,
                          std::string_view name) {
  const Plan* known = plans_.find(key);
  const bool looks_again = asked == Policy::kTune || asked == Policy::kFail;
  if (known != nullptr && (known->is_final || !looks_again)) {
    if (!known->is_final && !name.empty()) {
      store_->note_request(known->problem, device_->identity(), 0, name);
    }
    if (!known->is_final && asked == Policy::kTuneInBackground) {
      background_.add(known->problem);
    }
    return *known;
  }
  const Canonical canonical = tunedgemm::internal::canonical(checked_problem(key));
  if (!device_->stream_id(stream)) {
    return plan_during_capture(key, canonical);
  }
  const std::int64_t tuned_before = tuning_.tuned();
  std::unique_ptr<Plan> made = make_plan(key, canonical, asked.value_or(options_.policy));
  // What came of a tuning may have replaced the known plan already.
  known = plans_.find(key);
  if (known != nullptr && (known->is_final || !made->is_final)) {
    return *known;
  }
  ++counters_.plans;
  const Plan& plan = plans_.add(std::move(made));
  if (!plan.is_final) {
    store_->note_request(plan.problem, device_->identity(), 0, name);
    note_calls();
    await_winner(plan, tuned_before);
    if (asked.value_or(options_.policy) == Policy::kTuneInBackground) {
      background_.add(plan.problem);
    }
  }
  return plan.newest();
}

const Plan& Context::plan_during_capture(const CallKey& key, const Canonical& canonical) {
  if (const Plan* known = capture_plans_.find(key)) {
    return *known;
  }
  const std::int64_t tuned_before = tuning_.tuned();
  std::unique_ptr<Plan> plan = plan_from_loaded(key, canonical);
  if (plan == nullptr) {
    throw CallError(CallError::Kind::kNotTuned,
                    "the stream is being captured and no loaded kernel computes " +
                        to_text(canonical.problem) +
                        "; call once with this problem before the capture");
  }
  ++counters_.fallbacks;
  const Plan& added = capture_plans_.add(std::move(plan));
  if (!added.is_final) {
    store_->note_request(added.problem, device_->identity(), 0);
    await_winner(added, tuned_before);
    if (options_.policy == Policy::kTuneInBackground) {
      background_.add(added.problem);
    }
  }
  return added;
}

std::unique_ptr<Plan> Context::make_plan(const CallKey& key, const Canonical& canonical,
                                         Policy policy) {
  const Problem& problem = canonical.problem;
  if (is_empty(problem)) {
    return empty_plan(key, canonical);
  }
  const std::int64_t tuned_before = tuning_.tuned();
  std::optional<Hit> hit = find_winner(problem);
  if (!hit && compiling_under(policy) == Compiling::kAllowed) {
    hit = or_nothing(problem, [&] { return tuning_.renewed(problem); });
  }
  if (!hit && policy == Policy::kFail) {
    throw CallError(CallError::Kind::kNotTuned,
                    "policy fail, and the cache " + store_->path().string() + " has no winner on " +
                        device_->identity().name + " for " + to_text(problem) +
                        "; tune it with tune-all, or use policy tune");
  }
  bool nothing_compiles = false;
  if (!hit && policy == Policy::kTune) {
    Missing missing = or_nothing(problem, [&] { return tune_missing(problem, tuned_before); });
    hit = std::move(missing.hit);
    nothing_compiles = missing.nothing_compiles;
  }
  // What answers at once must not wait for a probe that it may not need.
  const bool at_once = compiling_under(policy) == Compiling::kForbidden;
  if (hit ? hit->winner.lacks_probe : !at_once) {
    tuning_.complete_probe();
  }
  if (hit && hit->winner.lacks_probe) {
    hit = hit_of(std::move(hit->record), problem, device_->limits(), hit->match);
  }
  const auto plan_of_winner = [&](Compiling compiling) -> std::unique_ptr<Plan> {
    if (!hit) {
      return nullptr;
    }
    return or_nothing(problem, [&] {
      replace_plans(problem, *hit, compiling);
      std::unique_ptr<Plan> plan = plan_from_hit(key, canonical, *hit, compiling);
      if (plan != nullptr) {
        ++(hit->match == Match::kExact ? counters_.hits : counters_.stale);
      }
      return plan;
    });
  };
  if (auto plan = plan_of_winner(compiling_under(policy))) {
    return plan;
  }
  if (at_once || nothing_compiles || !device_->why_not_compile().empty()) {
    if (auto plan = or_nothing(problem, [&] { return plan_from_stored(key, canonical); })) {
      ++counters_.nearest;
      return plan;
    }
  }
  if (policy == Policy::kStored) {
    store_->note_request(problem, device_->identity(), 1);
    throw CallError(CallError::Kind::kNotTuned, why_not_stored(problem));
  }
  // What has to be compiled anyhow may as well be the winner.
  if (policy == Policy::kTuneInBackground) {
    if (auto plan = plan_of_winner(Compiling::kAllowed)) {
      return plan;
    }
  }
  ++counters_.model;
  return plan_from_model(key, canonical);
}

Context::Compiling Context::compiling_under(Policy policy) {
  const bool at_once = policy == Policy::kStored || policy == Policy::kTuneInBackground;
  return at_once ? Compiling::kForbidden : Compiling::kAllowed;
}

std::string Context::why_not_stored(const Problem& problem) {
  return "policy stored, and neither the cache " + store_->path().string() +
         " nor the library has a kernel for " + device_->identity().name + " that computes " +
         to_text(problem) + "; tune it or one like it with tune-all, or use policy compile";
}

std::optional<Hit> Context::find_winner(const Problem& canonical) {
  return store_->find(canonical, device_->identity(), device_->toolchain(), device_->limits());
}

Context::Missing Context::tune_missing(const Problem& canonical, std::int64_t tuned_before) {
  TuneOptions tuning;
  tuning.rigor = options_.rigor;
  tuning.budget = options_.budget;
  const BackgroundTuner::Interruption interruption(background_);
  TuneResult result = tuning_.tune_missing(canonical, tuning, tuned_before);
  if (!result.record) {
    log_warning("not tuned: " + result.tuning.failure);
    const std::vector<TrialRecord>& trials = result.tuning.trials;
    const bool nothing_compiles =
        !trials.empty() && std::all_of(trials.begin(), trials.end(), [](const TrialRecord& trial) {
          return trial.rejection && trial.rejection->reason == Reason::kUnavailable;
        });
    return {.hit = std::nullopt, .nothing_compiles = nothing_compiles};
  }
  return {.hit = hit_of(std::move(*result.record), canonical, device_->limits(), Match::kExact)};
}

TuneResult Context::tune(const Problem& problem, const TuneOptions& options) {
  const BackgroundTuner::Interruption interruption(background_);
  TuneResult result = tuning_.tune(problem, options);
  if (result.record) {
    const Problem canonical = tunedgemm::internal::canonical(problem).problem;
    if (const std::optional<Hit> hit =
            hit_of(*result.record, canonical, device_->limits(), Match::kExact)) {
      replace_plans(canonical, *hit, Compiling::kAllowed);
    }
  }
  return result;
}

BackgroundTuner::Outcome Context::tune_in_background(const Problem& canonical,
                                                     const BackgroundTuner::MustEnd& must_end) {
  // A winner that is there has only to be compiled.
  const std::optional<Hit> known = find_winner(canonical);
  if (known && replace_plans(canonical, *known, Compiling::kAllowed)) {
    return BackgroundTuner::Outcome::kDone;
  }
  TuneOptions tuning;
  tuning.rigor = options_.rigor;
  tuning.budget = options_.budget;
  tuning.cancelled = must_end;
  tuning.must_be_whole = true;  // else what an interruption left would be taken for the winner
  // Not to wait for another process is what lets the thread be stopped.
  TuneResult result = tuning_.tune(canonical, tuning, 0);
  if (result.is_leased_elsewhere || result.tuning.cancelled) {
    return BackgroundTuner::Outcome::kAgain;
  }
  if (!result.record) {
    log_warning("not tuned in the background: " + result.tuning.failure);
  } else if (const auto hit =
                 hit_of(*std::move(result.record), canonical, device_->limits(), Match::kExact)) {
    replace_plans(canonical, *hit, Compiling::kAllowed);
    log_info("tuned in the background: " + to_text(canonical));
  }
  return BackgroundTuner::Outcome::kDone;
}

void Context::await_winner(const Plan& plan, std::int64_t tuned_before) {
  {
    const std::scoped_lock lock(without_winner_mutex_);
    without_winner_.push_back(&plan);
  }
  // A tuning that ended before the plan was noted has not replaced it.
  if (tuning_.tuned() != tuned_before) {
    if (const std::optional<Hit> hit = find_winner(plan.problem)) {
      replace_plans(plan.problem, *hit, compiling_under(options_.policy));
    }
  }
}

void Context::note_calls() {
  const std::scoped_lock lock(without_winner_mutex_);
  for (const Plan* plan : without_winner_) {
    if (const std::int64_t calls = plan->calls.exchange(0, std::memory_order_relaxed); calls > 0) {
      store_->note_request(plan->problem, device_->identity(), calls);
    }
  }
}

bool Context::replace_plans(const Problem& canonical, const Hit& hit, Compiling compiling) {
  std::vector<const Plan*> old;
  {
    const std::scoped_lock lock(without_winner_mutex_);
    const auto begin =
        std::partition(without_winner_.begin(), without_winner_.end(),
                       [&](const Plan* plan) { return !(plan->problem == canonical); });
    old.assign(begin, without_winner_.end());
    without_winner_.erase(begin, without_winner_.end());
  }
  std::vector<const Plan*> kept;
  for (const Plan* plan : old) {
    const Plan* successor = nullptr;
    try {
      if (auto made = plan_from_hit(
              plan->key, tunedgemm::internal::canonical(to_problem(plan->key)), hit, compiling)) {
        successor = &plans_.add(std::move(made));
      }
    } catch (const DeviceError& error) {  // of another plan than the one that is asked for
      log_warning("the plan of " + to_text(canonical) + " stays as it is: " + error.what());
    }
    if (successor == nullptr) {
      kept.push_back(plan);
      continue;
    }
    ++counters_.replaced;
    plan->successor.store(successor, std::memory_order_release);
    if (const std::int64_t calls = plan->calls.exchange(0, std::memory_order_relaxed); calls > 0) {
      store_->note_request(plan->problem, device_->identity(), calls);
    }
  }
  const std::scoped_lock lock(without_winner_mutex_);
  without_winner_.insert(without_winner_.end(), kept.begin(), kept.end());
  return kept.empty();
}

std::unique_ptr<Plan> Context::plan_from_hit(const CallKey& key, const Canonical& canonical,
                                             const Hit& hit, Compiling compiling) {
  const Source source = hit.winner.source();
  const std::string& compiler = hit.record.toolchain.compiler;
  std::variant<KernelCache::Kernel, Rejection> kernel =
      kernels_.find_stored(source, hit.winner.launch, compiler);
  if (std::get<0>(kernel) == nullptr) {
    if (compiling == Compiling::kForbidden) {
      return nullptr;
    }
    kernel = kernels_.get(source, hit.winner.launch, compiler);
  }
  if (const auto* rejection = std::get_if<Rejection>(&kernel)) {
    log_warning("the winner " + to_text(hit.winner.candidate) +
                " cannot be used: " + rejection->detail);
    return nullptr;
  }
  const std::string origin = std::string(hit.match == Match::kExact ? "tuned" : "stale") + ", " +
                             microseconds(hit.record.measurement.median_us);
  std::unique_ptr<Plan> plan =
      plan_of(key, canonical, hit.winner, std::get<0>(std::move(kernel)), origin);
  plan->is_final = true;
  return plan;
}

std::unique_ptr<Plan> Context::plan_from_stored(const CallKey& key, const Canonical& canonical) {
  const std::string problem = fingerprint(canonical.problem);
  const std::int64_t seen = kernels_seen();
  {
    const std::scoped_lock lock(without_kernel_mutex_);
    const auto known = without_kernel_.find(problem);
    if (known != without_kernel_.end() && known->second == seen) {
      return nullptr;
    }
  }
  std::unique_ptr<Plan> plan = find_stored_plan(key, canonical);
  if (plan == nullptr) {
    const std::scoped_lock lock(without_kernel_mutex_);
    without_kernel_[problem] = seen;
  }
  return plan;
}

std::unique_ptr<Plan> Context::find_stored_plan(const CallKey& key, const Canonical& canonical) {
  const Problem& problem = canonical.problem;
  const DeviceIdentity& device = device_->identity();
  const DeviceLimits& limits = device_->limits();
  const std::string& compiler = device_->toolchain().compiler;
  const auto stored = [&](const Instance& instance) {
    return kernels_.find_stored(instance.source(), instance.launch, compiler);
  };
  const auto plan_of_winner = [&](std::span<const Record> winners) -> std::unique_ptr<Plan> {
    for (const Instance& instance : instances_of_winners(problem, device, limits, winners)) {
      if (KernelCache::Kernel kernel = stored(instance)) {
        return plan_of(key, canonical, instance, std::move(kernel), "the nearest stored kernel");
      }
    }
    return nullptr;
  };
  if (auto plan = plan_of_winner(store_->neighbours(problem, device, kAskedNeighbours))) {
    return plan;
  }
  if (auto plan = plan_of_winner(store_->distant_neighbours(problem, device, kAskedNeighbours))) {
    return plan;
  }
  // What was compiled without a tuning has no winner's row: it was among the model's first choices.
  // Beyond those, what is loaded costs no look-up.
  constexpr std::size_t kLookedUp = 32;
  const std::vector<Instance> ranked = ranked_candidates(problem, limits);
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    const Instance& instance = ranked[rank];
    KernelCache::Kernel kernel =
        rank < kLookedUp ? stored(instance) : kernels_.find(fingerprint(instance.source()));
    if (kernel != nullptr) {
      return plan_of(key, canonical, instance, std::move(kernel),
                     "a stored kernel, chosen by the model");
    }
  }
  return plan_from_built_in(key, canonical, ranked);
}

std::unique_ptr<Plan> Context::plan_from_built_in(const CallKey& key, const Canonical& canonical,
                                                  std::span<const Instance> ranked) {
  KernelCache::Kernel kernel =
      ranked.empty() ? nullptr : device_->built_in(ranked.front().source());
  return kernel == nullptr ? nullptr
                           : plan_of(key, canonical, ranked.front(), std::move(kernel), "");
}

std::unique_ptr<Plan> Context::plan_from_model(const CallKey& key, const Canonical& canonical) {
  const Problem& problem = canonical.problem;
  const DeviceLimits& limits = device_->limits();
  // One candidate that does not compile must not fail a call: there are others.
  constexpr std::size_t kAttempts = 8;
  std::string reasons;
  std::size_t attempts = 0;
  // What has crashed in a tuning would do so in the caller's process.
  const std::vector<TrialRecord> crashes =
      crashes_among(store_->trials(problem, device_->identity(), device_->toolchain()));
  if (crashes.size() >= kMostCrashes) {
    if (auto plan = plan_from_built_in(key, canonical, ranked_candidates(problem, limits))) {
      return plan;
    }
  }
  // A workspace is allocated when the kernel runs, in one stream or in several.
  const std::int64_t room = device_->free_memory_bytes() / 2;
  for (const Instance& instance :
       untuned_choices(problem, device_->identity(), limits,
                       store_->neighbours(problem, device_->identity(), kAskedNeighbours))) {
    if (instance.launch.needs_workspace() && instance.launch.workspace_bytes > room) {
      continue;
    }
    if (has_crashed(crashes, instance.candidate)) {
      continue;
    }
    if (attempts++ == kAttempts) {
      break;
    }
    auto kernel = or_nothing(problem, [&] { return this->kernel(instance); });
    const auto* rejection = std::get_if<Rejection>(&kernel);
    if (rejection == nullptr && std::get<0>(kernel) != nullptr) {
      return plan_of(key, canonical, instance, std::get<0>(std::move(kernel)),
                     "chosen by the model");
    }
    reasons = rejection != nullptr ? rejection->detail : "the environment does not let it";
  }
  if (std::unique_ptr<Plan> plan =
          plan_from_built_in(key, canonical, ranked_candidates(problem, limits))) {
    log_warning(to_text(problem) + " is computed by the kernel that is linked in: " + reasons);
    return plan;
  }
  throw CallError(CallError::Kind::kUnsupported,
                  "no kernel could be made for " + to_text(problem) + ": " + reasons);
}

std::unique_ptr<Plan> Context::plan_from_loaded(const CallKey& key, const Canonical& canonical) {
  const Problem& problem = canonical.problem;
  if (is_empty(problem)) {
    return empty_plan(key, canonical);
  }
  const DeviceLimits& limits = device_->limits();
  for (const Instance& instance : ranked_candidates(problem, limits)) {
    if (KernelCache::Kernel kernel = kernels_.find(fingerprint(instance.source()))) {
      return plan_of(key, canonical, instance, std::move(kernel), "loaded before a capture");
    }
  }
  return nullptr;
}

std::unique_ptr<Plan> Context::empty_plan(const CallKey& key, const Canonical& canonical) {
  auto plan = std::make_unique<Plan>(key, canonical);
  plan->context = this;
  plan->has_streams = device_->has_streams();
  return plan;
}

std::unique_ptr<Plan> Context::plan_of(const CallKey& key, const Canonical& canonical,
                                       const Instance& instance, KernelCache::Kernel kernel,
                                       std::string_view origin) {
  std::unique_ptr<Plan> plan = empty_plan(key, canonical);
  plan->launch = instance.launch;
  plan->description =
      to_text(instance.candidate) + " (" +
      std::string(kernel->is_built_in() ? "linked in: nothing is compiled" : origin) + ")";
  plan->candidate = instance.candidate;
  plan->is_final = false;
  plan->kernel = std::move(kernel);
  return plan;
}

std::string Context::report() {
  note_calls();
  const DeviceIdentity& identity = device_->identity();
  const StoreHealth health = store_->health();
  std::ostringstream text;
  text << "device     " << identity.name << " (" << identity.backend << ")\n"
       << "toolchain  " << device_->toolchain().compiler << ", " << device_->toolchain().driver
       << "\n"
       << "cache      " << (health.path.empty() ? "in memory" : health.path.string()) << " ("
       << name(health.state) << ", " << health.winners << " winners)\n";
  for (const std::string& warning : health.warnings) {
    text << "           " << warning << "\n";
  }
  text << "plans      " << counters_.plans << ": " << counters_.hits << " tuned, "
       << counters_.stale << " stale, " << counters_.nearest << " of the nearest stored kernel, "
       << counters_.model << " chosen by the model, " << counters_.replaced
       << " of these replaced; " << tuning_.tuned() << " tuned and " << kernels_.counters().compiled
       << " kernels compiled here; " << counters_.fallbacks << " fallbacks during stream capture\n";
  return printable(text.str(), Lines::kMany);
}

}  // namespace tunedgemm::internal
