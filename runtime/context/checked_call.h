#pragma once

// CheckedCall: a call whose arguments have been checked (calls/arguments.h), once, before a plan is
// made.

#include <stdexcept>
#include <string>

#include "runtime/context/call_key.h"

namespace tunedgemm::internal {

/// A refused call: an argument is invalid, no kernel can be made, or the policy allows none. The
/// message is for the caller.
class CallError : public std::runtime_error {
 public:
  enum class Kind { kInvalidArgument, kUnsupported, kNotTuned };
  CallError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

struct CheckedCall {
  CallKey key;
  Problem asked;             ///< as the caller describes it
  CanonicalProblem problem;  ///< as the kernels compute it
};

/// The call of a plan's key, which has already been checked.
inline CheckedCall call_of_plan(const CallKey& key) {
  const Problem original = to_problem(key);
  return {key, original, canonical(original)};
}

}  // namespace tunedgemm::internal
