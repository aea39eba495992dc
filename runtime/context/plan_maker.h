#pragma once

// PlanMaker: the kernel that a call runs, out of all that are tuned, stored, loaded, linked in or
// can be compiled. It knows no policy: Context decides which of its functions a miss may use.
//
// Any number of threads may use it. It owns the loaded kernels; its plans are valid as long as the
// context.

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

/// Whether a plan may be made by compiling. Forbidden while a caller waits for an immediate answer.
enum class Compiling { kAllowed, kForbidden };

class PlanMaker {
 public:
  /// A call that has no plan, and its candidates: ranked when first needed, and only once.
  class Miss {
   public:
    Miss(PlanMaker& maker, const CheckedCall& call) : maker_(maker), call_(call) {}
    const CheckedCall& call() const { return call_; }
    const Problem& problem() const { return call_.problem(); }
    /// Best first, as the cost model predicts.
    const std::vector<Instance>& ranked();

   private:
    PlanMaker& maker_;
    const CheckedCall& call_;
    std::vector<Instance> ranked_;
  };

  /// `compile_seconds` is how long one compilation may take if the compiler can be stopped.
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

  /// Without a kernel: right for a D without elements.
  std::unique_ptr<Plan> empty(const CheckedCall& call);
  /// Of a winner that the store found. Null if its kernel cannot be had, or only by compiling while
  /// that is forbidden. Throws DeviceError.
  std::unique_ptr<Plan> of_winner(const CheckedCall& call, const Hit& hit, Compiling compiling);
  /// The nearest kernel that is stored, loaded or linked in and computes the problem. Null if there
  /// is none, which is remembered until something is stored or loaded. Throws DeviceError.
  std::unique_ptr<Plan> of_stored(Miss& miss);
  /// The model's choice, compiled unless it is stored; candidates that have crashed are passed
  /// over. Throws CallError(kUnsupported) if no kernel can be made, DeviceError.
  std::unique_ptr<Plan> of_model(Miss& miss);
  /// Null if no loaded kernel computes the problem. Launches nothing, allocates no device memory.
  std::unique_ptr<Plan> of_loaded(Miss& miss);

 private:
  /// Looks the nearest stored kernel up, in a number of look-ups that does not depend on the size
  /// of the cache.
  std::unique_ptr<Plan> find_stored(Miss& miss);
  std::unique_ptr<Plan> find_winner_of_others(const CheckedCall& call,
                                              std::span<const Record> winners);
  /// The linked-in kernel, which stands in for any candidate. Null if the device has none.
  std::unique_ptr<Plan> of_built_in(Miss& miss);
  std::unique_ptr<Plan> of_kernel(const CheckedCall& call, const Instance& instance,
                                  KernelCache::Kernel kernel, std::string_view origin);
  /// Grows when there may be a kernel that was not stored or loaded before.
  std::int64_t kernels_seen() const { return store_.changes() + kernels_.counters().loaded; }

  Context& context_;
  Device& device_;
  Store& store_;
  KernelCache kernels_;
  std::atomic<std::int64_t> rankings_{0};
  std::mutex without_kernel_mutex_;
  /// By fingerprints of problems: kernels_seen() when no stored kernel computed them.
  std::map<std::string, std::int64_t> without_kernel_;
};

/// Logs that the problem is computed by the next best kernel, and why.
void log_next_best(const Problem& problem, const std::string& reason);

/// The attempt's result. If the environment breaks it (no memory, no thread, no file), logs why and
/// returns a null or empty result: the caller has a next best answer. A failed device has none.
template <class Attempt>
auto try_or_log(const Problem& problem, Attempt&& attempt) -> decltype(attempt()) {
  try {
    return attempt();
  } catch (const CallError&) {
    throw;
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kFailed) {
      throw;
    }
    log_next_best(problem, error.what());
  } catch (const std::exception& error) {
    log_next_best(problem, error.what());
  }
  return {};
}

}  // namespace tunedgemm::internal
