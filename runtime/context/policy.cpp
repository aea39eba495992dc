#include "runtime/context/policy.h"

#include <iterator>
#include <utility>

namespace tunedgemm::internal {
namespace {

constexpr std::pair<std::string_view, Policy> kPolicies[] = {
    {"tune", Policy::kTune},
    {"compile", Policy::kCompile},
    {"fail", Policy::kFail},
    {"stored", Policy::kStored},
    {"tune_in_background", Policy::kTuneInBackground}};

}  // namespace

std::string_view name(Policy policy) {
  for (const auto& [name, value] : kPolicies) {
    if (value == policy) {
      return name;
    }
  }
  return "unknown";
}

std::optional<Policy> parse_policy(std::string_view text) {
  for (const auto& [name, policy] : kPolicies) {
    if (text == name) {
      return policy;
    }
  }
  return std::nullopt;
}

std::vector<Attempt> attempts_of(Policy policy, double accepted_loss) {
  const Attempt tuner{KernelMaker::kTuner, accepted_loss};
  const Attempt compiler{KernelMaker::kCompiler,
                         accepted_loss > 0 ? accepted_loss : kUsualAcceptedLoss};
  const Attempt any_stored{KernelMaker::kNobody, kAnyLoss};
  switch (policy) {
    case Policy::kFail:
      return {{KernelMaker::kNobody, 0}};
    case Policy::kStored:
      return {any_stored};
    case Policy::kCompile:
      return {compiler, any_stored};
    case Policy::kTuneInBackground:
      return {any_stored, compiler};
    case Policy::kTune:
      break;
  }
  return {tuner, compiler, any_stored};
}

}  // namespace tunedgemm::internal
