#include "tuner/crashes.h"

#include <algorithm>
#include <iterator>

namespace tunedgemm::internal {
namespace {

std::string text_of(const TrialRecord& trial) {
  return trial.family + " " + to_text(trial.config);
}

}  // namespace

std::vector<TrialRecord> crashes_among(std::span<const TrialRecord> trials) {
  std::vector<TrialRecord> crashes;
  std::copy_if(
      trials.begin(), trials.end(), std::back_inserter(crashes), [](const TrialRecord& trial) {
        const Family* family = find_family(trial.family);
        const bool is_void = family != nullptr && family->fingerprint() != trial.family_fingerprint;
        return trial.rejection && trial.rejection->reason == Reason::kCrashed && !is_void;
      });
  return crashes;
}

TrialRecord race_mark(std::span<const TrialRecord> crashes) {
  TrialRecord mark;
  mark.family = "race";  // no family has this name
  mark.config.set("attempt", static_cast<int>(crashes.size()) + 1);
  return mark;
}

bool has_crashed(std::span<const TrialRecord> crashes, const Candidate& candidate) {
  return std::any_of(crashes.begin(), crashes.end(), [&](const TrialRecord& crash) {
    return crash.family == candidate.family->name() && crash.config == candidate.config;
  });
}

std::string why_stopped(std::span<const TrialRecord> crashes) {
  if (crashes.size() < kMostCrashes) {
    return "";
  }
  return std::to_string(crashes.size()) +
         " candidates have ended their process or broken the device, the last " +
         text_of(crashes.back()) +
         ": the problem is no longer tuned with this compiler and driver; see tunedgemm trials, "
         "and "
         "check the machine for faults";
}

std::string remark_on(std::span<const TrialRecord> crashes) {
  if (crashes.empty()) {
    return "";
  }
  if (crashes.size() == 1) {
    return "1 candidate crashed: " + text_of(crashes.back());
  }
  return std::to_string(crashes.size()) + " candidates crashed, the last " +
         text_of(crashes.back());
}

}  // namespace tunedgemm::internal
