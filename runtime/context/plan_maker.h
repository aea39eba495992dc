#pragma once

// PlanMaker: makes plans, each with a kernel that is tuned, stored, loaded, linked in or compiled
// now. PlanMaker does not know the policy: Context decides which functions to call for a cache
// miss.
//
// Thread-safe. A PlanMaker owns the loaded kernels. Its plans are valid as long as the context.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store.h"
#include "runtime/calls/plan.h"
#include "runtime/context/kernel_cache.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// Whether making a plan may compile. Forbidden if the caller must not block.
enum class Compiling { kAllowed, kForbidden };

class PlanMaker {
 public:
  /// A call that needs a plan, and its candidates. The candidates are ranked on first use.
  class Miss {
   public:
    Miss(PlanMaker& maker, const CheckedCall& call) : maker_(maker), call_(call) {}
    const CheckedCall& call() const { return call_; }
    const Problem& problem() const { return call_.problem(); }
    /// In the cost model's order, the best first.
    const std::vector<Instance>& ranked();

   private:
    PlanMaker& maker_;
    const CheckedCall& call_;
    std::vector<Instance> ranked_;
  };

  /// `compile_seconds` is the timeout of a compilation if the compiler can be stopped.
  PlanMaker(Context& context, Device& device, Store& store, double compile_seconds)
      : context_(context),
        device_(device),
        store_(store),
        kernels_(device, store, compile_seconds) {}
  ~PlanMaker() = default;
  PlanMaker(const PlanMaker&) = delete;
  PlanMaker& operator=(const PlanMaker&) = delete;

  KernelCache& kernels() { return kernels_; }
  const KernelCache& kernels() const { return kernels_; }
  std::int64_t rankings() const { return rankings_; }

  /// A plan without a kernel, which is complete only if D has no elements.
  std::unique_ptr<Plan> empty(const CheckedCall& call);
  /// The plan of a stored winner. Null if its kernel is not available, or if compilation is needed
  /// but forbidden. Throws DeviceError.
  std::unique_ptr<Plan> from_winner(const CheckedCall& call, const Hit& hit, Compiling compiling);
  /// The nearest stored, loaded or linked-in kernel that computes the problem. Null if there is
  /// none; a later call then searches again only if a kernel has been stored or loaded meanwhile.
  /// Throws DeviceError.
  std::unique_ptr<Plan> from_store(Miss& miss);
  /// The best of untuned_choices() (tuner/neighbours.h); compiles it unless it is stored. Skips
  /// candidates that have crashed, and those whose workspace would not fit. If a candidate cannot
  /// be compiled or loaded, tries the next, up to eight in all. Null if all fail; `why_not` then
  /// gets the last reason, if there is one. Throws DeviceError.
  std::unique_ptr<Plan> from_model(Miss& miss, std::string& why_not);
  /// The fastest kernel that needs no workspace, by the times of the problem's tuning or else by
  /// the cost model. Prefers a stored kernel, which needs no compilation. Null if there is none.
  /// Throws DeviceError.
  std::unique_ptr<Plan> without_workspace(Miss& miss, Compiling compiling);
  /// A loaded kernel; null if none computes the problem. Launches nothing, allocates no device
  /// memory.
  std::unique_ptr<Plan> from_loaded(Miss& miss);

 private:
  /// The search of from_store(). The number of look-ups does not depend on the size of the cache.
  std::unique_ptr<Plan> find_stored(Miss& miss);
  /// A kernel that may be stored, and the origin that the plan's description names.
  struct StoredChoice {
    Instance instance;
    std::string origin;
  };
  /// The plan of the first choice that is stored and loads; null if there is none.
  std::unique_ptr<Plan> first_stored(const CheckedCall& call,
                                     std::span<const StoredChoice> choices);
  /// Winners of other M (tuner/any_m.h), the fastest expected first.
  std::vector<StoredChoice> choices_of_other_m(const Problem& problem,
                                               std::span<const Record> winners);
  /// Adds the winners that are not among the choices, the nearest first.
  void add_nearest(std::vector<StoredChoice>& choices, const Problem& problem,
                   std::span<const Record> winners);
  /// The linked-in kernel, which stands in for any candidate. Null if the device has none, or no
  /// candidate is legal.
  std::unique_ptr<Plan> from_built_in(Miss& miss);
  std::unique_ptr<Plan> from_kernel(const CheckedCall& call, const Instance& instance,
                                    KernelCache::Kernel kernel, std::string_view origin);
  /// A counter that grows whenever a kernel is stored or loaded.
  std::int64_t kernels_seen() const { return store_.changes() + kernels_.counters().loaded; }

  Context& context_;
  Device& device_;
  Store& store_;
  KernelCache kernels_;
  std::atomic<std::int64_t> rankings_{0};
  std::mutex without_kernel_mutex_;
  /// Maps the fingerprint of a problem to the value of kernels_seen() before its last search, which
  /// found nothing.
  std::map<std::string, std::int64_t> without_kernel_;
};

/// Logs that the next best kernel computes the problem, and why.
void log_next_best(const Problem& problem, const std::string& reason);

/// Returns the attempt's result. If the environment fails (no memory, no thread, no file), logs the
/// reason and returns a null or empty result, so that the caller can fall back. Rethrows a
/// CallError and the DeviceError of a lost device, because neither has a fallback.
template <class Attempt>
auto try_or_log(const Problem& problem, Attempt&& attempt) -> decltype(attempt()) {
  try {
    return attempt();
  } catch (const CallError&) {
    throw;
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kLost) {
      throw;
    }
    log_next_best(problem, error.what());
  } catch (const std::exception& error) {
    log_next_best(problem, error.what());
  }
  return {};
}

}  // namespace tunedgemm::internal
