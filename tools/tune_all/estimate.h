#pragma once

// How long a run would take: what --dry-run says.

#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "tools/shared/shape.h"
#include "tools/tune_all/session.h"

namespace tunedgemm::internal {

struct PlannedShape {
  Shape shape;
  bool tuned = false;         ///< the cache answers already
  int legal = 0;              ///< candidates that the constraints allow
  int tried = 0;              ///< how many of them would be tried at most
  double seconds = 0;         ///< estimated
  std::string why_too_small;  ///< the budget for a decision; else empty
};

struct Estimate {
  std::vector<PlannedShape> shapes;
  double seconds = 0;  ///< of all; more than the session's limit, if that is too small
  double seconds_per_candidate = 0;
  bool measured = false;  ///< seconds_per_candidate comes from earlier tunings on this device
};

/// Compiles and measures nothing.
Estimate estimate(Context& context, const std::vector<Shape>& shapes,
                  const SessionOptions& options);

/// Sentences that say what the session's budgets are too small for.
std::vector<std::string> budget_warnings(const Estimate& estimate, const SessionOptions& options);
/// Which shapes would be tuned, and how long that would take.
void print_estimate(std::ostream& out, const Estimate& estimate, Context& context);

}  // namespace tunedgemm::internal
