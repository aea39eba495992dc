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
#include "runtime/context/kernel_cache.h"
#include "runtime/context/plan.h"
#include "runtime/device.h"
#include "tuner/m_ladder.h"

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
    const CanonicalProblem& problem() const { return call_.problem; }
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
  /// The stored kernel that is expected to be the fastest of those that won at another M. Null if
  /// there is none, or none loads. Throws DeviceError.
  std::unique_ptr<Plan> from_ladder(Miss& miss);
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

  /// For a kernel that was tuned for another M: the share of time that it is expected to take
  /// longer than the winner that a tuning would find. Ranks the problem's candidates, which takes
  /// milliseconds, unless the caller passes them as `ranked`.
  double expected_loss(const Plan& plan);
  double expected_loss(const Plan& plan, std::span<const Instance> ranked);
  /// One line for people, which lives as long as the plan. For a kernel that was tuned for another
  /// M, calls expected_loss() the first time.
  const std::string& description(const Plan& plan);
  /// The expected loss that the description states; 0 unless the kernel was tuned for another M.
  double described_loss(const Plan& plan);

 private:
  struct DescribedLoss {
    double expected_loss = 0;
    std::string text;
  };
  /// The loss of a plan with a kernel of another M. The first call for the plan computes it.
  const DescribedLoss& describe_loss(const Plan& plan);
  /// The search of from_store(). The number of look-ups does not depend on the size of the cache.
  std::unique_ptr<Plan> find_stored(Miss& miss);
  /// The stored kernel of a similar device's winner of the problem or, if there is none, of another
  /// M. Null if there is none, or none loads.
  std::unique_ptr<Plan> from_ladder_of(Miss& miss, const DeviceIdentity& similar);
  /// The plan of the device's nearest winner whose kernel is stored and loads; null if there is
  /// none. `suffix` ends the origin's text.
  std::unique_ptr<Plan> from_winners_of(Miss& miss, const DeviceIdentity& device,
                                        std::string_view suffix);
  /// The device's ladder of the problem's class, as the store has it now. It is read from the store
  /// only if something has been stored since it was last read.
  std::shared_ptr<const MLadder> ladder_of(const CanonicalProblem& problem,
                                           const DeviceIdentity& device);
  /// The linked-in kernel, which stands in for any candidate. Null if the device has none, or no
  /// candidate is legal.
  std::unique_ptr<Plan> from_built_in(Miss& miss);
  std::unique_ptr<Plan> from_kernel(const CheckedCall& call, const Instance& instance,
                                    KernelCache::Kernel kernel, KernelOrigin origin);
  /// A counter that grows whenever a kernel is stored or loaded.
  std::int64_t kernels_seen() const { return store_.changes() + kernels_.counters().loaded; }

  Context& context_;
  Device& device_;
  Store& store_;
  KernelCache kernels_;
  std::atomic<std::int64_t> rankings_{0};
  struct ReadLadder {
    std::int64_t changes = 0;  ///< of the store, before it was read
    std::shared_ptr<const MLadder> ladder;
  };
  std::mutex ladders_mutex_;
  std::map<std::string, ReadLadder> ladders_;  ///< by device and ladder_key()
  std::mutex descriptions_mutex_;
  std::map<const Plan*, DescribedLoss> descriptions_;  ///< of plans with kernels of another M
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
