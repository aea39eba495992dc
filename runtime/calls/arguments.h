#pragma once

// Converts the arguments of the C API to checked values. Only this file interprets numbers, struct
// sizes and text from callers. An invalid argument is refused with a sentence that names the
// argument, its value and the valid values. All functions throw CallError(kInvalidArgument).
// context/call_key.h then translates a tunedgemm_problem to a Problem.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/call_key.h"
#include "runtime/context/checked_call.h"
#include "runtime/context/context.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

[[noreturn]] void refuse(const std::string& message);

/// Extends the caller's struct to this library's version. Members that the caller's version lacks
/// get their defaults. Refuses a struct_size that no version can have. Refuses the size of a later
/// version, too, because its new members are unknown here.
tunedgemm_problem complete(const tunedgemm_problem* problem);
tunedgemm_buffers complete(const tunedgemm_buffers* buffers);
/// An element of a caller's list. The struct_size of the first one, which has passed check_size(),
/// is the distance between two elements.
template <class Struct>
Struct complete(const Struct* list, std::size_t index);

/// The key may contain any numbers; the sentence names the first invalid one.
CheckedCall checked_call(const CallKey& key);

/// Sets the members that the text names (problem_grammar.h). Refuses a field that the struct does
/// not hold, too. The struct is unchanged if the text is refused.
void parse(const char* text, tunedgemm_problem* problem);
/// The text of a problem that is well formed.
std::string text_of(const tunedgemm_problem* problem);

/// Refuses a struct_size as complete() does.
void check_size(const tunedgemm_plan_info* info);
void check_size(const tunedgemm_problem* problem);
void check_size(const tunedgemm_buffers* buffers);

/// A sentence for each environment variable whose value contexts refuse.
std::vector<std::string> wrong_variables();

/// A null pointer stands for all defaults, including those from environment variables.
ContextOptions checked_options(const tunedgemm_context_options* caller_options);

struct PlanOptions {
  std::optional<Policy> policy;  ///< empty: the context's
  LaunchRegime launch_regime = LaunchRegime::kIsolated;
  std::string_view name;
  double accepted_loss = 0;  ///< see Context::plan
};
/// A null pointer stands for all defaults. The result's name points into the caller's memory.
PlanOptions checked_options(const tunedgemm_plan_options* caller_options);

}  // namespace tunedgemm::internal
