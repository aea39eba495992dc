#pragma once

// ProvisionalPlans: the plans of problems without a winner. Callers run a provisional plan until a
// plan with the winner replaces it. The store counts the launches of provisional plans.
//
// Thread-safe. Owns no plan. The cost of add() does not depend on the number of plans.

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/store.h"
#include "runtime/context/plan.h"
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
  std::size_t size() const;

  /// Stores how often the plans have run since the last call of note_calls(). Each time the number
  /// of plans has doubled, add() does the same.
  void note_calls();
  /// Stores how often a plan has run since its launches were last stored.
  void note_calls_of(const Plan& plan) const;

  /// The problems of plans whose fingerprints are in the set.
  std::vector<CanonicalProblem> problems_among(
      const std::unordered_set<std::string>& fingerprints) const;

  /// Gives each plan of the problem the successor that `make` returns, and removes the plan from
  /// this list. A plan stays if `make` returns null. If `make` throws, all plans stay. Returns
  /// whether no plan of the problem is left.
  bool replace(const CanonicalProblem& problem,
               const std::function<const Plan*(const Plan&)>& make);

 private:
  const Device& device_;
  Store& store_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::vector<const Plan*>> plans_;  ///< by fingerprint of problem
  std::size_t size_ = 0;
  std::size_t added_ = 0;  ///< since note_calls()
};

}  // namespace tunedgemm::internal
