#pragma once

// Context: one device and one store, with the parts that plan, launch and tune on them. Its own job
// is to decide what a miss leads to, as the policy says. The C API (c_api.cpp) and the tools stand
// on it.
//
// Any number of threads may use it. It owns all its parts, and a plan, a kernel or a workspace that
// it gives away is valid as long as the context.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/process_fork.h"
#include "runtime/backend.h"
#include "runtime/calls/plan.h"
#include "runtime/calls/plan_cache.h"
#include "runtime/context/plan_maker.h"
#include "runtime/context/provisional_plans.h"
#include "runtime/context/workspace_pool.h"
#include "runtime/device.h"
#include "runtime/tuning/background_tuner.h"
#include "runtime/tuning/tuning_session.h"

namespace tunedgemm::internal {

/// What a miss in the cache leads to. The numbers cross the C ABI: never renumber.
enum class Policy : std::int32_t {
  kTune = 1,
  kTuneInBackground = 2,
  kCompile = 3,
  kStored = 4,
  kFail = 5,
};
std::string_view name(Policy policy);
std::optional<Policy> parse_policy(std::string_view text);

struct ContextOptions {
  /// Null: automatic_backend().
  const Backend* backend = nullptr;
  DeviceOptions device;
  StoreOptions store;
  Policy policy = Policy::kTune;
  Rigor rigor = Rigor::kNormal;
  Budget budget;
  /// What starts a worker (worker_process.h), in which candidates run; empty: they run here.
  std::vector<std::string> worker_command;
};

class Context {
 public:
  /// Throws DeviceError if the device that was asked for is not there. A cache that cannot be used
  /// is no error.
  static std::unique_ptr<Context> create(const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  Store& store() { return *store_; }
  const ContextOptions& options() const { return options_; }

  /// Not in a child process that was forked since: there its locks may be held by nobody, its
  /// threads are gone, and its GPU is the parent's. Part of the hot path.
  bool is_of_this_process() const noexcept { return process_ == process_id(); }

  /// The plan for a call, made if there is none yet: may tune and compile, as the policy says, the
  /// context's or one that is asked for. The plan lives as long as the context. While `stream` is
  /// captured only a kernel that is loaded already is used. A problem without a winner is noted as
  /// a request of this name. Throws CallError, DeviceError.
  const Plan& plan(const CheckedCall& call, StreamHandle stream, std::optional<Policy> asked = {},
                   std::string_view name = {});

  /// Null unless plan() has made it. The hot path: no lock, no allocation.
  const Plan* find_plan(const CallKey& key) const noexcept { return plans_.find(key); }

  WorkspacePool& workspaces() { return workspaces_; }

  /// See TuningSession.
  std::optional<Record> find_tuned(const Problem& problem, const TuneOptions& options) {
    return tuning_.find_tuned(problem, options);
  }
  /// The same; plans of the problem that were made without a winner are replaced. Throws
  /// DeviceError.
  TuneResult tune(const Problem& problem, const TuneOptions& options);

  /// Makes limits() of the device complete, for those who measure without tuning here.
  void complete_probe() { tuning_.complete_probe(); }
  /// Part of the hot path: tuning in the background waits while the context is called.
  void note_call() noexcept { background_.note_call(); }
  /// Ends tuning in the background for good.
  void freeze() noexcept { background_.stop(); }
  /// Notes in the store how often plans without a winner were run since the last time.
  void note_calls() { provisional_.note_calls(); }

  /// The kernel by this device's compiler, see KernelCache::get. Throws DeviceError.
  std::variant<KernelCache::Kernel, Rejection> kernel(const Instance& instance) {
    return maker_.kernels().get(instance, device_->toolchain().compiler);
  }

  struct Counters {
    std::atomic<std::int64_t> plans{0}, hits{0}, stale{0}, nearest{0}, model{0}, replaced{0},
        fallbacks{0};
  };
  const Counters& counters() const { return counters_; }
  const KernelCache::Counters& kernel_counters() const { return maker_.kernels().counters(); }
  /// How often the candidates of a problem were ranked for a plan.
  std::int64_t rankings() const { return maker_.rankings(); }
  /// Several lines for people: device, toolchain, cache and its state, counters.
  std::string report();

 private:
  Context(const ContextOptions& options, std::unique_ptr<Device> device,
          std::unique_ptr<Store> store);

  std::unique_ptr<Plan> make_plan(PlanMaker::Miss& miss, Policy policy);
  /// For a call without a plan while its stream is captured: of a kernel that is loaded already.
  /// Throws CallError(kNotTuned) if none computes it.
  const Plan& plan_during_capture(const CheckedCall& call);
  /// The sentence for a caller for whom there is no stored kernel.
  std::string why_not_stored(const Problem& problem);
  std::optional<Hit> find_winner(const Problem& canonical);
  struct Missing {
    std::optional<Hit> hit;         ///< empty if no winner came of it
    bool nothing_compiles = false;  ///< nor would anything else
  };
  Missing tune_missing(const Problem& canonical, std::int64_t tuned_before);
  static Compiling compiling_under(Policy policy);

  BackgroundTuner::Outcome tune_in_background(const Problem& canonical,
                                              const BackgroundTuner::MustEnd& must_end);
  /// Sees to it that the plan is replaced when the problem has a winner; `tuned_before` is
  /// TuningSession::tuned() from before a winner was looked for.
  void await_winner(const Plan& plan, std::int64_t tuned_before);
  /// Gives plans that were made for the problem without its winner successors. Returns whether none
  /// is left.
  bool replace_plans(const Problem& canonical, const Hit& hit, Compiling compiling);

  const pid_t process_ = process_id();
  ContextOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Store> store_;
  PlanCache plans_;
  PlanCache capture_plans_;  ///< apart, since after the capture the problem may be tuned
  PlanMaker maker_;
  ProvisionalPlans provisional_;
  WorkspacePool workspaces_;
  TuningSession tuning_;
  Counters counters_;
  BackgroundTuner background_;  ///< last, since its thread uses all of the above
};

}  // namespace tunedgemm::internal
