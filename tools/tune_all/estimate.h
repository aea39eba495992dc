#pragma once

// The shapes of a run that still need tuning, and how long that will take.

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tools/shared/named_problem.h"
#include "tools/tune_all/session.h"

namespace tunedgemm::internal {

struct PlannedShape {
  NamedProblem shape;
  bool tuned = false;         ///< the cache has its winner, so nothing is to do
  double seconds = 0;         ///< estimated
  std::string why_too_small;  ///< why the budget cannot decide; else empty
};

struct Estimate {
  std::vector<PlannedShape> shapes;  ///< after an interrupt, fewer than in the list
  double seconds = 0;                ///< sum over the shapes; may exceed --total-seconds
  double seconds_per_candidate = 0;
  bool measured = false;  ///< seconds_per_candidate comes from earlier tunings on this device
};

/// Estimates the time of a run without compiling or measuring. An interrupt ends the estimate
/// early.
Estimate estimate(std::span<Context* const> contexts, const std::vector<NamedProblem>& shapes,
                  const SessionOptions& options);

/// Warnings about budgets that are too small.
std::vector<std::string> budget_warnings(const Estimate& estimate, const SessionOptions& options);

/// A row for each of the `shapes` shapes of the list that has an estimate, and a summary.
void print_estimate(std::ostream& out, const Estimate& estimate, std::size_t shapes,
                    std::span<Context* const> contexts, std::size_t width);
void print_json(std::ostream& out, const Estimate& estimate, const Context& context);

}  // namespace tunedgemm::internal
