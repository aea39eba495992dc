#pragma once

// Context: a device and a store, with the parts that plan, launch and tune. Context itself decides,
// by the policy, how to handle a cache miss. The C API (c_api.cpp) and the tools use it.
//
// Thread-safe. A context owns all its parts. The plans and kernels that it returns are valid as
// long as the context.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/process_fork.h"
#include "runtime/backend.h"
#include "runtime/context/add_only_map.h"
#include "runtime/context/plan.h"
#include "runtime/context/plan_maker.h"
#include "runtime/context/policy.h"
#include "runtime/context/provisional_plans.h"
#include "runtime/context/recent_plans.h"
#include "runtime/context/watch.h"
#include "runtime/context/workspace_pool.h"
#include "runtime/device.h"
#include "runtime/tuning/background_tuner.h"
#include "runtime/tuning/device_probe.h"
#include "runtime/tuning/stored_winners.h"
#include "runtime/tuning/tuning_session.h"

namespace tunedgemm::internal {

struct ContextOptions {
  /// Null: automatic_backend().
  const Backend* backend = nullptr;
  DeviceOptions device;
  StoreOptions store;
  Policy policy = Policy::kTune;
  Rigor rigor = Rigor::kNormal;
  Budget budget;
  int sm_limit = 0;  ///< of problems without one; 0: none
  /// Starts the worker (worker_process.h) that runs candidates. Empty: candidates run in this
  /// process.
  std::vector<std::string> worker_command;
  /// The number of provisional plans that are kept for the life of the context, and that of
  /// RecentPlans: 32768 M of a layer, or four layers of a server with up to 8192 tokens a step.
  std::size_t most_provisional_plans = 1 << 15;
  /// A private folder in which contexts of equal devices share what they compile (BinaryCache), or
  /// empty.
  std::filesystem::path shared_binaries;
};

/// The launches of a process, for the line that it logs when it exits, and for `tunedgemm top`.
struct CallSummary {
  std::int64_t calls = 0;
  double tuning_seconds = 0;
  struct OfProblem {
    std::int64_t calls = 0;
    const Plan* plan = nullptr;  ///< the newest; null if its context was destroyed
    Origin origin = Origin::kNothing;
  };
  std::map<std::string, OfProblem> problems;  ///< by device and problem
  std::set<std::string> requested;            ///< those whose requests are in a cache file

  std::string text() const;  ///< empty without calls
  /// A line for each problem of a context that exists, with tabs between the calls, the measured or
  /// expected time in microseconds (0: unknown), the origin, the problem and the kernel.
  std::string lines() const;
};

class Context {
 public:
  /// Throws DeviceError if the device is not available. An unusable cache is not an error.
  static std::unique_ptr<Context> create(const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  Store& store() { return *store_; }
  /// The sm_limit of problems without one; 0 on the host.
  std::int32_t sm_limit() const { return sm_limit_; }
  const ContextOptions& options() const { return options_; }

  /// False in a child process that was forked after create(). The child must not use the context,
  /// because the parent's threads may hold its locks, and the GPU belongs to the parent. Part of
  /// the hot path.
  bool is_of_this_process() const noexcept { return process_ == process_id(); }

  /// The plan for a call. Makes the plan if there is none, and may tune and compile for it if the
  /// policy allows. The policy is `call_policy`, or else the context's. The plan lives as long as
  /// the context. While `stream` is captured only loaded kernels are used. If the plan has no
  /// winner, the store notes a request, with `name` unless `stream` is captured. Throws CallError,
  /// DeviceError.
  ///
  /// `accepted_loss`: see attempts_of().
  const Plan& plan(const CheckedCall& call, StreamHandle stream,
                   std::optional<Policy> call_policy = {}, std::string_view name = {},
                   double accepted_loss = 0) {
    return *find_or_make(call, stream, call_policy, name, accepted_loss, KeptFor::kContext);
  }
  /// The same under the context's policy, for one launch. If there are already many provisional
  /// plans, a new one lives only as long as the result and a bounded set (RecentPlans).
  std::shared_ptr<const Plan> plan_for_launch(const CheckedCall& call, StreamHandle stream) {
    return find_or_make(call, stream, {}, {}, 0, KeptFor::kLaunch);
  }
  /// A plan of plan_for_launch() that is not in find_plan(); null if there is none.
  std::shared_ptr<const Plan> find_recent(const CallKey& key) const { return recent_.find(key); }
  /// See PlanMaker.
  const std::string& description(const Plan& plan) { return maker_.description(plan); }
  double described_loss(const Plan& plan) { return maker_.described_loss(plan); }

  /// Null if no plan has been made for the key. Part of the hot path: no lock, no allocation.
  const Plan* find_plan(const CallKey& key) const noexcept { return plans_.find(key); }

  /// Announces the problems that calls will need, in this order, instead of those announced
  /// before. While a call tunes one of them, the compilers begin with the first one behind it that
  /// has no winner. An empty list also ends these compilations, and waits for those in progress.
  void announce(std::deque<CanonicalProblem> problems);

  WorkspacePool& workspaces() { return workspaces_; }
  /// A plan of the same call with a kernel that needs no workspace, for a launch whose workspace
  /// cannot be allocated. May compile the kernel if the context's policy allows it. Throws
  /// DeviceError(kOutOfMemory) if there is no such kernel.
  const Plan& plan_without_workspace(const Plan& plan);

  /// See StoredWinners.
  std::optional<Record> find_tuned(const Problem& problem, const TuneOptions& options) {
    return winners_.find_tuned(canonical(problem), options);
  }
  /// See TuningSession; also replaces the problem's provisional plans. Throws DeviceError.
  TuneResult tune(const Problem& problem, const TuneOptions& options);

  /// Completes the device's limits(), for callers that measure without tuning.
  void complete_probe() { probe_.complete(); }
  /// Notes a call, so that background tuning pauses. Part of the hot path.
  void note_call() noexcept { background_.note_call(); }
  /// Ends background tuning and the watch for other processes' winners, for good.
  void freeze() noexcept {
    background_.stop();
    winner_watch_.stop();
  }
  /// Stores how often provisional plans have run since the last call of note_calls().
  void note_calls() { provisional_.note_calls(); }
  /// Later calls make their plans again.
  void drop_recent_plans() { recent_.clear(); }

  /// KernelCache::get with the device's compiler. Throws DeviceError.
  std::variant<KernelCache::Kernel, Rejection> kernel(const Instance& instance) {
    return maker_.kernels().get(instance, device_->toolchain().compiler);
  }

  struct Counters {
    std::atomic<std::int64_t> plans{0}, hits{0}, stale{0}, nearest{0}, model{0}, replaced{0},
        fallbacks{0};
  };
  const Counters& counters() const { return counters_; }
  const KernelCache::Counters& kernel_counters() const { return maker_.kernels().counters(); }
  /// Whether the launches of final plans are counted, too: for add_to().
  bool counts_all_calls() const noexcept { return counts_all_calls_; }
  /// Adds the launches and tunings so far, unless counts_all_calls() is false. The summary is
  /// valid as long as the context. Launches of recent plans are added after they are dropped.
  void add_to(CallSummary& summary);
  /// How often candidates were ranked to make a plan.
  std::int64_t rankings() const { return maker_.rankings(); }
  /// Several lines for display: device, toolchain, cache and its state, counters.
  std::string report();

 private:
  Context(const ContextOptions& options, std::unique_ptr<Device> device,
          std::unique_ptr<Store> store);

  enum class KeptFor { kContext, kLaunch };
  std::shared_ptr<const Plan> find_or_make(const CheckedCall& call, StreamHandle stream,
                                           std::optional<Policy> call_policy, std::string_view name,
                                           double accepted_loss, KeptFor kept_for);
  /// Whether a new provisional plan may be kept for the life of the context.
  bool keeps(KeptFor kept_for) const;
  /// A call's search for a kernel.
  struct Search {
    PlanMaker::Miss& miss;
    std::int64_t tuned_before;  ///< TuningSession::tuned() before the winner was looked up
    std::optional<Hit> winner;
    bool may_renew = true;          ///< once a call, the winner of an older kernel template
    bool was_winner_tried = false;  ///< its kernel may be compiled, and there was no plan
    bool nothing_compiles = false;  ///< in the tuning, every candidate was kUnavailable
    std::string why_not_compiled = "the environment failed, see the log";
  };
  /// The plan of the first source that has one. The sources of each attempt of the policy are the
  /// winner, a stored kernel and a new kernel. Throws CallError if there is none.
  std::unique_ptr<Plan> make_plan(PlanMaker::Miss& miss, Policy policy, double accepted_loss);
  // The sources. Each returns null if it has no plan, or if the attempt does not permit it.
  /// Also replaces the problem's provisional plans.
  std::unique_ptr<Plan> plan_of_winner(Search& search, const Attempt& attempt);
  std::unique_ptr<Plan> plan_of_stored(Search& search, const Attempt& attempt);
  /// Tunes, or compiles the model's choice.
  std::unique_ptr<Plan> plan_of_new_kernel(Search& search, const Attempt& attempt);
  [[noreturn]] void throw_without_kernel(const Search& search, Policy policy);
  /// Whether the plan has a kernel of another M with at most this expected loss; false for 0.
  bool is_within(const Plan& plan, double accepted_loss);
  /// The plan of a call during a stream capture, which may only use a loaded kernel. Throws
  /// CallError(kNotTuned) if no loaded kernel computes the problem.
  std::shared_ptr<const Plan> plan_during_capture(const CheckedCall& call, KeptFor kept_for);
  struct TunedMiss {
    std::optional<Hit> hit;         ///< empty if the tuning found no winner
    bool nothing_compiles = false;  ///< every candidate was rejected as kUnavailable
  };
  TunedMiss tune_missing(const CanonicalProblem& problem, std::int64_t tuned_before);
  /// The first announced problem behind this one that has no winner. Forgets those before it.
  std::optional<CanonicalProblem> next_after(const CanonicalProblem& problem);
  static Compiling compiling_under(Policy policy);

  BackgroundTuner::Outcome tune_in_background(const CanonicalProblem& problem,
                                              const BackgroundTuner::MustEnd& must_end);
  /// Registers the plan, to be replaced once the problem has a winner. `changes_before` is the
  /// value of Store::changes() before the plan was made.
  void await_winner(const Plan& plan, std::int64_t changes_before, Compiling compiling);
  /// Replaces provisional plans if other processes have stored the winners. Does not compile.
  /// Returns whether any plan stays. Called on the thread of winner_watch_.
  bool use_winners_of_others();
  /// Replaces the problem's provisional plans by plans with the winner's kernel. Returns whether
  /// all were replaced.
  bool replace_plans(const CanonicalProblem& problem, const Hit& hit, Compiling compiling);

  const pid_t process_ = process_id();
  ContextOptions options_;
  std::unique_ptr<Device> device_;
  const std::int32_t sm_limit_;
  std::unique_ptr<Store> store_;
  AddOnlyMap<Plan> plans_;
  AddOnlyMap<Plan>
      capture_plans_;  ///< separate, so that calls after a capture make their own plans
  AddOnlyMap<Plan> plans_without_workspace_;
  PlanMaker maker_;
  ProvisionalPlans provisional_;
  RecentPlans recent_;
  WorkspacePool workspaces_;
  StoredWinners winners_;
  DeviceProbe probe_;
  TuningSession tuning_;
  std::mutex announced_mutex_;
  std::deque<CanonicalProblem> announced_;
  Counters counters_;
  const bool counts_all_calls_ =
      environment("TUNEDGEMM_LOG") == "summary" || !environment("TUNEDGEMM_TOP").empty();
  std::atomic<std::int64_t> dropped_calls_{0};  ///< of recent_
  std::atomic<bool> has_told_of_tuning_{false};
  std::int64_t changes_seen_ = -1;  ///< Store::changes() at the last look of winner_watch_
  // These two are declared last, because their threads use all members above.
  BackgroundTuner background_;
  Watch winner_watch_;
};

}  // namespace tunedgemm::internal
