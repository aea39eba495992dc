#pragma once

// ProvisionalPlans: the plans of problems without a winner. Callers run a provisional plan until a
// plan with the winner replaces it. The store counts the launches of provisional plans.
//
// Thread-safe. Owns no plan.

#include <functional>
#include <mutex>
#include <vector>

#include "cache/store.h"
#include "runtime/calls/plan.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

class ProvisionalPlans {
 public:
  /// Device and store must outlive this object.
  ProvisionalPlans(const Device& device, Store& store) : device_(device), store_(store) {}
  ~ProvisionalPlans() = default;
  ProvisionalPlans(const ProvisionalPlans&) = delete;
  ProvisionalPlans& operator=(const ProvisionalPlans&) = delete;

  void add(const Plan& plan);

  /// Stores how often the plans have run since the last call of note_calls().
  void note_calls();

  /// The problems of the plans, each once.
  std::vector<Problem> problems();

  /// Gives each plan of the problem the successor that `make` returns, and removes the plan from
  /// this list. A plan stays if `make` returns null. If `make` throws, all plans stay. Returns
  /// whether all were removed.
  bool replace(const Problem& canonical, const std::function<const Plan*(const Plan&)>& make);

 private:
  void note_calls_of(const Plan& plan);

  const Device& device_;
  Store& store_;
  std::mutex mutex_;
  std::vector<const Plan*> plans_;
};

}  // namespace tunedgemm::internal
