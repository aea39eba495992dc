#include "runtime/context/context.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <locale>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/number_text.h"
#include "kernel_templates/base/text.h"
#include "runtime/start_thread.h"
#include "runtime/tuning/in_process_tuner.h"
#include "runtime/tuning/worker_tuner.h"
#include "tuner/evaluator.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// A call that tunes for longer says so on a terminal, once in the life of its context.
constexpr std::chrono::seconds kSilence{2};

std::unique_ptr<Device> open_device(const ContextOptions& options) {
  const Backend& backend = options.backend != nullptr ? *options.backend : automatic_backend();
  return backend.open(options.device);
}

// A tuner in this process, or in a worker's if the options have a command that starts one.
std::unique_ptr<Tuner> make_tuner(const ContextOptions& options, Device& device, Store& store,
                                  StoredWinners& winners, DeviceProbe& probe) {
  auto in_process =
      std::make_unique<InProcessTuner>(device, store, winners, probe, options.shared_binaries);
  if (options.worker_command.empty()) {
    return in_process;
  }
  const WorkerPlace place{.backend = std::string(device.backend().name()),
                          .ordinal = options.device.ordinal,
                          .host_threads = options.device.host_threads,
                          .compile_threads = options.device.compile_threads,
                          .cache = store.path().string(),
                          .shared_binaries = options.shared_binaries.string()};
  return std::make_unique<WorkerTuner>(
      store, winners, std::make_unique<TuningWorker>(options.worker_command, place, store),
      std::move(in_process));
}

// "the cache FILE", or "the cache in memory" if there is no file.
std::string name_of_cache(const Store& store) {
  const std::string path = store.path().string();
  return "the cache " + (path.empty() ? "in memory" : path);
}

bool is_empty(const Problem& problem) {
  return problem.m == 0 || problem.n == 0 || problem.batch == 0;
}

// The hit that the store would return for the record.
std::optional<Hit> to_hit(Record record, const Problem& problem, const DeviceLimits& limits,
                          Match match) {
  const Family* family = find_family(record.family);
  if (family == nullptr) {
    return std::nullopt;
  }
  Instantiation winner = family->instantiate(problem, record.config, limits);
  if (!winner) {
    return std::nullopt;
  }
  return Hit{.record = std::move(record), .match = match, .winner = std::move(winner).value()};
}

double compile_seconds(const ContextOptions& options) {
  return std::max(search_limits_of(options.rigor, options.budget).seconds, kLeastCompileSeconds);
}

// A plan that its context keeps: the pointer owns nothing.
std::shared_ptr<const Plan> kept(const Plan& plan) {
  return {std::shared_ptr<void>(), &plan};
}

// "512 x 128 x 256, f16→f16 ieee", for the log.
std::string title_of(const Problem& problem) {
  return std::to_string(problem.m) + " x " + std::to_string(problem.n) + " x " +
         std::to_string(problem.k) + ", " + types_text(problem);
}

}  // namespace

std::unique_ptr<Context> Context::create(const ContextOptions& options) {
  return std::unique_ptr<Context>(
      new Context(options, open_device(options), Store::open(options.store)));
}

Context::Context(const ContextOptions& options, std::unique_ptr<Device> device,
                 std::unique_ptr<Store> store)
    : options_(options),
      device_(std::move(device)),
      sm_limit_(device_->limits().is_gpu() ? options.sm_limit : 0),
      store_(std::move(store)),
      maker_(*this, *device_, *store_, compile_seconds(options)),
      provisional_(*device_, *store_),
      recent_(options.most_provisional_plans,
              [this](const Plan& plan) {
                provisional_.note_calls_of(plan);
                dropped_calls_ += plan.noted_calls;
              }),
      workspaces_(*device_),
      winners_(*device_, *store_),
      probe_(*device_, *store_),
      tuning_(*device_, winners_, make_tuner(options, *device_, *store_, winners_, probe_)),
      background_(
          [this](const CanonicalProblem& problem, const BackgroundTuner::MustEnd& must_end) {
            return tune_in_background(problem, must_end);
          }),
      winner_watch_([this] { return use_winners_of_others(); }) {}

Context::~Context() {
  freeze();
  recent_.clear();
  note_calls();
}

bool Context::keeps(KeptFor kept_for) const {
  return kept_for == KeptFor::kContext || provisional_.size() < options_.most_provisional_plans;
}

std::shared_ptr<const Plan> Context::find_or_make(const CheckedCall& call, StreamHandle stream,
                                                  std::optional<Policy> call_policy,
                                                  std::string_view name, double accepted_loss,
                                                  KeptFor kept_for) {
  const Plan* existing = plans_.find(call.key);
  const auto suffices = [&](const Plan& plan) {
    return plan.is_final || (call_policy == Policy::kTune ? is_within(plan, accepted_loss)
                                                          : call_policy != Policy::kFail);
  };
  if (existing != nullptr && suffices(*existing)) {
    if (!existing->is_final && !name.empty()) {
      store_->note_request(existing->problem, device_->identity(), 0, name);
    }
    if (!existing->is_final && call_policy == Policy::kTuneInBackground) {
      background_.add(existing->problem);
    }
    return kept(*existing);
  }
  if (!device_->stream_id(stream)) {
    return plan_during_capture(call, kept_for);
  }
  const std::int64_t changes_before = store_->changes();
  PlanMaker::Miss miss(maker_, call);
  const Policy policy = call_policy.value_or(options_.policy);
  std::unique_ptr<Plan> new_plan = make_plan(miss, policy, accepted_loss);
  // Another thread, or a tuning, may have added a plan meanwhile.
  existing = plans_.find(call.key);
  if (existing != nullptr && (existing->is_final || !new_plan->is_final)) {
    return kept(*existing);
  }
  ++counters_.plans;
  if (!new_plan->is_final && !keeps(kept_for)) {
    store_->note_request(new_plan->problem, device_->identity(), 0, name);
    return recent_.add(std::move(new_plan));
  }
  const Plan& plan = plans_.add(std::move(new_plan));
  if (!plan.is_final) {
    store_->note_request(plan.problem, device_->identity(), 0, name);
    await_winner(plan, changes_before, compiling_under(policy));
    if (policy == Policy::kTuneInBackground) {
      background_.add(plan.problem);
    }
  }
  return kept(plan.newest());
}

std::shared_ptr<const Plan> Context::plan_during_capture(const CheckedCall& call,
                                                         KeptFor kept_for) {
  if (const Plan* existing = capture_plans_.find(call.key)) {
    return kept(*existing);
  }
  const std::int64_t changes_before = store_->changes();
  PlanMaker::Miss miss(maker_, call);
  std::unique_ptr<Plan> plan =
      is_empty(call.problem) ? maker_.empty(call) : maker_.from_loaded(miss);
  if (plan == nullptr) {
    throw CallError(CallError::Kind::kNotTuned,
                    "the stream is being captured and no loaded kernel computes " +
                        to_text(call.problem) + "; call once with this problem before the capture");
  }
  ++counters_.fallbacks;
  if (!plan->is_final && !keeps(kept_for)) {
    store_->note_request(plan->problem, device_->identity(), 0);
    return plan;
  }
  const Plan& added = capture_plans_.add(std::move(plan));
  if (!added.is_final) {
    store_->note_request(added.problem, device_->identity(), 0);
    await_winner(added, changes_before, Compiling::kForbidden);
    if (options_.policy == Policy::kTuneInBackground) {
      background_.add(added.problem);
    }
  }
  return kept(added);
}

const Plan& Context::plan_without_workspace(const Plan& plan) {
  if (const Plan* existing = plans_without_workspace_.find(plan.key)) {
    return *existing;
  }
  const CheckedCall call = call_of_plan(plan.key);
  PlanMaker::Miss miss(maker_, call);
  auto other = try_or_log(plan.problem, [&] {
    return maker_.without_workspace(miss, compiling_under(options_.policy));
  });
  if (other == nullptr) {
    throw DeviceError(DeviceError::Kind::kOutOfMemory,
                      "there is no memory for the workspace of " +
                          std::to_string(plan.launch.workspace_bytes) + " bytes that " +
                          plan.description + " needs, and no kernel without one for " +
                          to_text(plan.problem));
  }
  return plans_without_workspace_.add(std::move(other));
}

std::unique_ptr<Plan> Context::make_plan(PlanMaker::Miss& miss, Policy policy,
                                         double accepted_loss) {
  if (is_empty(miss.problem())) {
    return maker_.empty(miss.call());
  }
  Search search{
      .miss = miss, .tuned_before = tuning_.tuned(), .winner = winners_.find(miss.problem())};
  using PlanSource = std::unique_ptr<Plan> (Context::*)(Search&, const Attempt&);
  constexpr PlanSource kSources[] = {&Context::plan_of_winner, &Context::plan_of_stored,
                                     &Context::plan_of_new_kernel};
  for (const Attempt& attempt : attempts_of(policy, accepted_loss)) {
    for (const PlanSource source : kSources) {
      if (auto plan =
              try_or_log(miss.problem(), [&] { return (this->*source)(search, attempt); })) {
        return plan;
      }
    }
  }
  throw_without_kernel(search, policy);
}

std::unique_ptr<Plan> Context::plan_of_winner(Search& search, const Attempt& attempt) {
  const CanonicalProblem& problem = search.miss.problem();
  std::optional<Hit>& winner = search.winner;
  const bool may_compile = attempt.may_compile_winner();
  if (!winner && may_compile && std::exchange(search.may_renew, false)) {
    winner = winners_.renewed(problem);
  }
  // A winner says whether its kernel needs the probe. A compiler's attempt needs it for its choice.
  if (winner ? winner->winner.lacks_probe : attempt.maker == KernelMaker::kCompiler) {
    probe_.complete();
  }
  if (winner && winner->winner.lacks_probe) {
    winner = to_hit(std::move(winner->record), problem, device_->limits(), winner->match);
  }
  if (!winner || search.was_winner_tried) {
    return nullptr;
  }
  search.was_winner_tried = may_compile;
  const Compiling compiling = may_compile ? Compiling::kAllowed : Compiling::kForbidden;
  replace_plans(problem, *winner, compiling);
  auto plan = maker_.from_winner(search.miss.call(), *winner, compiling);
  if (plan != nullptr) {
    ++(winner->match == Match::kExact ? counters_.hits : counters_.stale);
  }
  return plan;
}

std::unique_ptr<Plan> Context::plan_of_stored(Search& search, const Attempt& attempt) {
  PlanMaker::Miss& miss = search.miss;
  const auto cannot_compile = [&] {  // opens NVRTC, so it is asked last
    return search.nothing_compiles || !device_->why_not_compile().empty();
  };
  const bool is_any_accepted = attempt.accepted_loss == kAnyLoss ||
                               (attempt.maker == KernelMaker::kCompiler && cannot_compile());
  std::unique_ptr<Plan> plan;
  if (is_any_accepted) {
    plan = maker_.from_store(miss);
  } else if (attempt.accepted_loss > 0) {
    plan = maker_.from_ladder(miss);
    if (plan != nullptr && maker_.expected_loss(*plan, miss.ranked()) > attempt.accepted_loss) {
      plan = nullptr;
    }
  }
  counters_.nearest += plan != nullptr ? 1 : 0;
  return plan;
}

std::unique_ptr<Plan> Context::plan_of_new_kernel(Search& search, const Attempt& attempt) {
  if (attempt.maker == KernelMaker::kTuner && !search.winner) {
    TunedMiss tuned = tune_missing(search.miss.problem(), search.tuned_before);
    search.winner = std::move(tuned.hit);
    search.nothing_compiles = tuned.nothing_compiles;
    return plan_of_winner(search, attempt);
  }
  std::unique_ptr<Plan> plan;
  if (attempt.maker == KernelMaker::kCompiler) {
    plan = maker_.from_model(search.miss, search.why_not_compiled);
    counters_.model += plan != nullptr ? 1 : 0;
  }
  return plan;
}

bool Context::is_within(const Plan& plan, double accepted_loss) {
  return accepted_loss > 0 && plan.origin.kind == Origin::kOtherM &&
         maker_.expected_loss(plan) <= accepted_loss;
}

Compiling Context::compiling_under(Policy policy) {
  return attempts_of(policy).front().may_compile_winner() ? Compiling::kAllowed
                                                          : Compiling::kForbidden;
}

void Context::throw_without_kernel(const Search& search, Policy policy) {
  const CanonicalProblem& problem = search.miss.problem();
  const std::string& device = device_->identity().name;
  if (policy == Policy::kFail) {
    throw CallError(
        CallError::Kind::kNotTuned,
        "policy fail, and " + name_of_cache(*store_) +
            (search.winner ? " has a winner whose kernel cannot be used (see the log) on "
                           : " has no winner on ") +
            device + " for " + to_text(problem) + "; tune it with tune-all, or use policy tune");
  }
  if (policy == Policy::kStored) {
    store_->note_request(problem, device_->identity(), 1);
    throw CallError(CallError::Kind::kNotTuned,
                    "policy stored, and neither " + name_of_cache(*store_) +
                        " nor the library has a kernel for " + device + " that computes " +
                        to_text(problem) +
                        "; tune it or one like it with tune-all, or use policy compile");
  }
  throw CallError(CallError::Kind::kUnsupported, "no kernel could be made for " + to_text(problem) +
                                                     ": " + search.why_not_compiled);
}

Context::TunedMiss Context::tune_missing(const CanonicalProblem& problem,
                                         std::int64_t tuned_before) {
  TuneOptions tuning;
  tuning.rigor = options_.rigor;
  tuning.budget = options_.budget;
  tuning.next = next_after(problem);
  const BackgroundTuner::Interruption interruption(background_);
  const double limit = search_limits_of(tuning.rigor, tuning.budget).seconds;
  const std::string at_most =
      std::isfinite(limit) ? ", in at most " + four_digits(limit) + " s" : "";
  log_info("a call tunes " + title_of(problem) + at_most);
  const std::string notice = "a first call tunes " + title_of(problem) + ", once" + at_most +
                             "; TUNEDGEMM_LOG=info tells more, TUNEDGEMM_LOG=off nothing";
  // On a thread, because a step of the tuning, such as a compilation, may take long by itself.
  auto teller = start_thread<std::jthread>([&](const std::stop_token& ends) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, ends, kSilence, [] { return false; });
    if (!ends.stop_requested() && !has_told_of_tuning_.exchange(true)) {
      log_info_on_terminal(notice);
    }
  });
  TuneResult result = tuning_.tune_missing(problem, tuning, tuned_before);
  teller.reset();
  if (result.record) {
    log_info("the call's winner for " + title_of(problem) + " is of the family " +
             result.record->family + ": " + four_digits(result.record->measurement.median_us) +
             " us");
  }
  if (!result.record) {
    log_warning("not tuned: " + result.tuning.failure);
    const std::vector<TrialRecord>& trials = result.tuning.trials;
    const bool nothing_compiles =
        !trials.empty() && std::all_of(trials.begin(), trials.end(), [](const TrialRecord& trial) {
          return trial.rejection && trial.rejection->reason == Reason::kUnavailable;
        });
    return {.hit = std::nullopt, .nothing_compiles = nothing_compiles};
  }
  return {.hit = to_hit(std::move(*result.record), problem, device_->limits(), Match::kExact)};
}

void Context::announce(std::deque<CanonicalProblem> problems) {
  const bool is_end = problems.empty();
  {
    const std::scoped_lock lock(announced_mutex_);
    announced_ = std::move(problems);
  }
  if (is_end) {
    tuning_.drop_next();
  }
}

std::optional<CanonicalProblem> Context::next_after(const CanonicalProblem& problem) {
  const std::scoped_lock lock(announced_mutex_);
  const auto current = std::ranges::find(announced_, problem);
  if (current == announced_.end()) {
    return std::nullopt;
  }
  const auto needs_no_tuning = [&](const CanonicalProblem& announced) {
    return announced == problem || is_empty(announced) || winners_.find(announced);
  };
  announced_.erase(announced_.begin(),
                   std::find_if_not(current, announced_.end(), needs_no_tuning));
  return announced_.empty() ? std::nullopt : std::optional(announced_.front());
}

TuneResult Context::tune(const Problem& problem, const TuneOptions& options) {
  const BackgroundTuner::Interruption interruption(background_);
  const CanonicalProblem tuned = canonical(problem);
  TuneResult result = tuning_.tune(tuned, options);
  if (result.record) {
    if (const std::optional<Hit> hit =
            to_hit(*result.record, tuned, device_->limits(), Match::kExact)) {
      replace_plans(tuned, *hit, Compiling::kAllowed);
    }
  }
  return result;
}

BackgroundTuner::Outcome Context::tune_in_background(const CanonicalProblem& problem,
                                                     const BackgroundTuner::MustEnd& must_end) {
  // A stored winner needs no tuning. At most its kernel must be compiled.
  const std::optional<Hit> stored = winners_.find(problem);
  if (stored && replace_plans(problem, *stored, Compiling::kAllowed)) {
    return BackgroundTuner::Outcome::kDone;
  }
  TuneOptions tuning;
  tuning.rigor = options_.rigor;
  tuning.budget = options_.budget;
  tuning.cancelled = must_end;
  tuning.in_background = true;
  // Do not wait for another process's lease, because stop() cannot interrupt that wait.
  TuneResult result = tuning_.tune(problem, tuning, 0);
  if (result.is_leased_elsewhere || result.tuning.cancelled) {
    return BackgroundTuner::Outcome::kAgain;
  }
  if (!result.record) {
    log_warning("not tuned in the background: " + result.tuning.failure);
  } else if (const auto hit =
                 to_hit(*std::move(result.record), problem, device_->limits(), Match::kExact)) {
    replace_plans(problem, *hit, Compiling::kAllowed);
    log_info("tuned in the background: " + to_text(problem));
  }
  return BackgroundTuner::Outcome::kDone;
}

void Context::await_winner(const Plan& plan, std::int64_t changes_before, Compiling compiling) {
  provisional_.add(plan);
  // A tuning that ended before add(), or a look of winner_watch_, did not see the plan.
  if (store_->changes() != changes_before) {
    if (const std::optional<Hit> hit = winners_.find(plan.problem)) {
      replace_plans(plan.problem, *hit, compiling);
    }
  }
  winner_watch_.start();
}

bool Context::use_winners_of_others() {
  if (provisional_.size() == 0) {
    return false;
  }
  // A plan that is added after this look-up compares changes() itself, in await_winner().
  const std::int64_t changes = store_->refresh();
  if (changes != changes_seen_) {
    changes_seen_ = changes;
    for (const CanonicalProblem& problem :
         provisional_.problems_among(store_->tuned_problems(device_->identity()))) {
      if (const std::optional<Hit> hit = winners_.find(problem)) {
        replace_plans(problem, *hit, Compiling::kForbidden);
      }
    }
    recent_.clear();
  }
  return provisional_.size() > 0;
}

bool Context::replace_plans(const CanonicalProblem& problem, const Hit& hit, Compiling compiling) {
  recent_.clear();
  try {
    return provisional_.replace(problem, [&](const Plan& plan) -> const Plan* {
      auto successor = maker_.from_winner(call_of_plan(plan.key), hit, compiling);
      if (successor == nullptr) {
        return nullptr;
      }
      ++counters_.replaced;
      return &plans_.add(std::move(successor));
    });
  } catch (const std::exception& error) {  // the provisional plan stays usable
    log_warning("a provisional plan of " + to_text(problem) + " is not replaced: " + error.what());
    return false;
  }
}

std::string CallSummary::text() const {
  std::map<Origin, int> origins;
  for (const auto& [key, problem] : problems) {
    ++origins[problem.origin];
  }
  std::string text = counted(calls, "call") + ", " + counted(std::ssize(problems), "problem");
  const char* before = ": ";
  for (const auto& [origin, number] : origins) {
    text += std::exchange(before, ", ") + std::to_string(number) + " " + std::string(name(origin));
  }
  text += tuning_seconds > 0 ? "; " + four_digits(tuning_seconds) + " s of tuning" : "";
  if (!requested.empty()) {
    text += "; `tune-all --from-requests` would tune " + std::to_string(requested.size());
  }
  return calls == 0 ? "" : text;
}

std::string CallSummary::lines() const {
  std::ostringstream lines;
  for (const auto& [key, problem] : problems) {
    if (const Plan* plan = problem.plan) {
      const std::optional<Record>& winner = plan->origin.winner;
      lines << problem.calls << '\t'
            << (winner ? winner->measurement.median_us : plan->origin.expected_us) << '\t'
            << name(problem.origin) << '\t' << to_text(plan->problem) << '\t' << plan->description
            << '\n';
    }
  }
  return lines.str();
}

void Context::add_to(CallSummary& summary) {
  if (!counts_all_calls_) {
    return;
  }
  const std::string device = fingerprint(device_->identity());
  for (const AddOnlyMap<Plan>* plans : {&plans_, &capture_plans_}) {
    plans->for_each([&](const Plan& plan) {
      if (const std::int64_t calls = plan.calls + plan.noted_calls) {
        const Plan& newest = plan.newest();
        const std::string problem = device + fingerprint(plan.problem);
        CallSummary::OfProblem& noted = summary.problems[problem];
        noted = {noted.calls + calls, &newest, newest.origin.kind};
        if (newest.is_final) {
          summary.requested.erase(problem);
        } else if (!store_->path().empty()) {
          summary.requested.insert(problem);
        }
        summary.calls += calls;
      }
    });
  }
  summary.calls += dropped_calls_;
  summary.tuning_seconds += tuning_.seconds();
}

std::string Context::report() {
  note_calls();
  const DeviceIdentity& identity = device_->identity();
  const StoreHealth health = store_->health();
  std::ostringstream text;
  text.imbue(std::locale::classic());  // the program's may group digits
  text << "device     " << identity.name << " (" << identity.backend << ")\n"
       << "toolchain  " << device_->toolchain().compiler << ", " << device_->toolchain().driver
       << "\n"
       << "cache      " << (health.path.empty() ? "in memory" : health.path.string()) << " ("
       << name(health.state) << ", " << counted(health.winners, "winner") << ")\n";
  for (const auto& [path, winners] : health.system_files) {
    text << "           of them " << winners << " in " << path.string() << '\n';
  }
  for (const std::string& warning : health.warnings) {
    text << "           " << warning << "\n";
  }
  text << "plans      " << counters_.plans << ": " << counters_.hits << " tuned, "
       << counters_.stale << " stale, " << counters_.nearest << " of the nearest stored kernel, "
       << counters_.model << " chosen by the model, " << counters_.replaced
       << " of these replaced; " << tuning_.tuned() << " tuned and "
       << maker_.kernels().counters().compiled << " kernels compiled here; " << counters_.fallbacks
       << " fallbacks during stream capture\n";
  return printable(text.str(), Lines::kMany);
}

}  // namespace tunedgemm::internal
