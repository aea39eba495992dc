#pragma once

// What callers of the C interface give, made into values that the rest of the library may rely on.
// Here alone is decided what a number, a size of a struct or a text from outside means; what means
// nothing is refused with a sentence that names it, its value and what may stand in its place.
// All functions throw CallError(kInvalidArgument).

#include <optional>
#include <string>
#include <string_view>

#include "runtime/calls/call_key.h"
#include "runtime/context/context.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

[[noreturn]] void refuse(const std::string& message);

/// A struct of this library's version: what the caller's lacks at its end has its default. A
/// caller's size is refused if it is none of a struct, or that of a later version, whose members
/// this library does not know.
tunedgemm_problem complete(const tunedgemm_problem* given);
tunedgemm_buffers complete(const tunedgemm_buffers* given);

/// Null for all defaults, the environment's included.
ContextOptions checked_options(const tunedgemm_context_options* given);

struct PlanOptions {
  std::optional<Policy> policy;  ///< empty: the context's
  LaunchRegime launch_regime = LaunchRegime::kIsolated;
  std::string_view name;
};
/// Null for all defaults. The name is the caller's.
PlanOptions checked_options(const tunedgemm_plan_options* given);

}  // namespace tunedgemm::internal
