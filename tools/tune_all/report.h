#pragma once

// What tune-all prints at its end.

#include <iosfwd>

#include "tools/tune_all/estimate.h"
#include "tools/tune_all/session.h"

namespace tunedgemm::internal {

/// A row a shape: the winner, its time and rate, and how it compares with the baseline kernel and
/// with what would have run without tuning.
void print_table(std::ostream& out, const Session& session);
/// How many were tuned, were known and have no winner; where the cache is.
void print_summary(std::ostream& out, const Session& session, Context& context);
/// The outcomes as a JSON array.
void print_json(std::ostream& out, const Session& session);
void print_estimate(std::ostream& out, const Estimate& estimate, Context& context);

}  // namespace tunedgemm::internal
