#pragma once

// The best of one family for a problem: what a rung of the ladder is worth.

#include <optional>

#include "runtime/context.h"

namespace tunedgemm {

/// The fastest of the family's candidates that the cost model likes best, measured as the tuner
/// does; the cache's winner stays what it is. Empty if the family has none for the problem, or none
/// that is right. The problem is canonical. Throws DeviceError.
std::optional<Candidate> best_of_family(Context& context, const Problem& problem,
                                        const Family& family);

}  // namespace tunedgemm
