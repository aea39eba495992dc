#pragma once

// CheckedCall: a call whose numbers have been checked, once, before anything is planned for it.

#include <stdexcept>
#include <string>

#include "runtime/calls/call_key.h"

namespace tunedgemm::internal {

/// Refused: the call is wrong, or the policy forbids it. The text is for the caller.
class CallError : public std::runtime_error {
 public:
  enum class Kind { kInvalidArgument, kUnsupported, kNotTuned };
  CallError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// A plain value.
struct CheckedCall {
  CallKey key;
  Problem asked;        ///< as the caller describes it
  Canonical canonical;  ///< as kernels see it
  const Problem& problem() const { return canonical.problem; }
};

/// The key may hold any numbers. Throws CallError(kInvalidArgument) with a sentence that names the
/// first wrong one.
CheckedCall checked_call(const CallKey& key);

/// The same for the key of a plan, which has been checked before.
inline CheckedCall call_of_plan(const CallKey& key) {
  const Problem asked = to_problem(key);
  return {key, asked, canonical(asked)};
}

}  // namespace tunedgemm::internal
