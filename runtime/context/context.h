#pragma once

// Context: one device, one store, and what is made with them: plans, kernels, workspaces, tunings.
// It puts the parts together and decides what a miss leads to; the C API (c_api.cpp) and the tools
// stand on it.
//
// Any number of threads may use it. It owns all its parts, and a plan, a kernel or a workspace that
// it gives away is valid as long as the context.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/process_fork.h"
#include "runtime/backend.h"
#include "runtime/calls/plan.h"
#include "runtime/calls/plan_cache.h"
#include "runtime/context/kernel_cache.h"
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
  int ordinal = 0;
  int host_threads = 0;
  StoreOptions store;
  Policy policy = Policy::kTune;
  Rigor rigor = Rigor::kNormal;
  Budget budget;
  /// See Device::compile_by; empty: the device compiles as it does by itself.
  std::vector<std::string> compile_command;
  /// What starts a worker (worker_process.h), in which candidates run; empty: they run here.
  std::vector<std::string> worker_command;
};

/// Refused: the call is wrong, or the policy forbids it. The text is for the caller.
class CallError : public std::runtime_error {
 public:
  enum class Kind { kInvalidArgument, kUnsupported, kNotTuned };
  CallError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
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
  /// captured only a kernel that is loaded already is used. The key may hold any numbers. A problem
  /// without a winner is noted as a request of this name. Throws CallError, DeviceError.
  const Plan& plan(const CallKey& key, StreamHandle stream, std::optional<Policy> asked = {},
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
  void note_calls();

  /// The kernel by this device's compiler, see KernelCache::get. Throws DeviceError.
  std::variant<KernelCache::Kernel, Rejection> kernel(const Instance& instance) {
    return kernels_.get(instance.source(), instance.launch, device_->toolchain().compiler);
  }

  struct Counters {
    std::atomic<std::int64_t> plans{0}, hits{0}, stale{0}, nearest{0}, model{0}, replaced{0},
        fallbacks{0};
  };
  const Counters& counters() const { return counters_; }
  const KernelCache::Counters& kernel_counters() const { return kernels_.counters(); }
  /// Several lines for people: device, toolchain, cache and its state, counters.
  std::string report();

 private:
  Context(const ContextOptions& options, std::unique_ptr<Device> device,
          std::unique_ptr<Store> store);

  std::unique_ptr<Plan> make_plan(const CallKey& key, const Canonical& canonical, Policy policy);
  /// What to tell a caller for whom there is no stored kernel.
  std::string why_not_stored(const Problem& problem);
  std::optional<Hit> find_winner(const Problem& canonical);
  struct Missing {
    std::optional<Hit> hit;         ///< empty if no winner came of it
    bool nothing_compiles = false;  ///< nor would anything else
  };
  Missing tune_missing(const Problem& canonical, std::int64_t tuned_before);
  enum class Compiling { kAllowed, kForbidden };
  /// Forbidden while a caller waits who is to be answered at once.
  static Compiling compiling_under(Policy policy);
  /// Null if the winner's kernel cannot be had, or only by compiling where that is forbidden.
  std::unique_ptr<Plan> plan_from_hit(const CallKey& key, const Canonical& canonical,
                                      const Hit& hit, Compiling compiling);
  /// The nearest kernel that is stored, loaded or linked in and computes the problem. Null if there
  /// is none, which is remembered until something is stored or loaded.
  std::unique_ptr<Plan> plan_from_stored(const CallKey& key, const Canonical& canonical);
  /// Of the kernel that is linked in and stands in for any candidate. Null if there is none.
  std::unique_ptr<Plan> plan_from_built_in(const CallKey& key, const Canonical& canonical,
                                           std::span<const Instance> ranked);
  /// The same, looked for: in a number of look-ups that does not depend on the size of the cache.
  std::unique_ptr<Plan> find_stored_plan(const CallKey& key, const Canonical& canonical);
  std::unique_ptr<Plan> plan_from_model(const CallKey& key, const Canonical& canonical);
  /// For a problem that has no plan, while the stream is captured: of a kernel that is loaded
  /// already. Throws CallError(kNotTuned) where none computes it.
  const Plan& plan_during_capture(const CallKey& key, const Canonical& canonical);
  /// Null if no loaded kernel computes the problem.
  std::unique_ptr<Plan> plan_from_loaded(const CallKey& key, const Canonical& canonical);
  /// Without a kernel: right for a D without elements.
  std::unique_ptr<Plan> empty_plan(const CallKey& key, const Canonical& canonical);
  std::unique_ptr<Plan> plan_of(const CallKey& key, const Canonical& canonical,
                                const Instance& instance, KernelCache::Kernel kernel,
                                std::string_view origin);

  BackgroundTuner::Outcome tune_in_background(const Problem& canonical,
                                              const BackgroundTuner::MustEnd& must_end);
  /// Keeps in mind that the plan is to be replaced when the problem has a winner; `tuned_before` is
  /// TuningSession::tuned() from before it was looked for.
  void await_winner(const Plan& plan, std::int64_t tuned_before);
  /// Plans that were made for the problem without its winner get successors. Returns whether none
  /// is left.
  bool replace_plans(const Problem& canonical, const Hit& hit, Compiling compiling);

  /// Grows when there may be a kernel that was not stored or loaded before.
  std::int64_t kernels_seen() const { return store_->changes() + kernels_.counters().loaded; }

  const pid_t process_ = process_id();
  ContextOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Store> store_;
  PlanCache plans_;
  PlanCache capture_plans_;  ///< apart, since after the capture the problem may be tuned
  KernelCache kernels_;
  WorkspacePool workspaces_;
  TuningSession tuning_;
  Counters counters_;
  std::mutex without_winner_mutex_;
  std::vector<const Plan*> without_winner_;
  std::mutex without_kernel_mutex_;
  /// By fingerprints of problems: kernels_seen() when no stored kernel computed them.
  std::map<std::string, std::int64_t> without_kernel_;
  BackgroundTuner background_;  ///< last, since its thread uses all of the above
};

}  // namespace tunedgemm::internal
