#pragma once

// Crashes: candidates that were running when their process ended or the device was lost. They are
// not tried again until the template, the compiler or the driver changes.

#include <span>
#include <string>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// After this many crashes a problem is not tuned again, because a crash ends the caller's process
/// or breaks its device.
constexpr std::size_t kMostCrashes = 2;
/// The limit if a crash costs only a worker. After this many crashes, only candidates that were
/// timed before are tried.
constexpr std::size_t kMostCrashesOfWorkers = 5;

/// The crashes among the trials, those of races (race_mark) included. Leaves out candidates whose
/// template has changed.
std::vector<TrialRecord> crashes_among(std::span<const TrialRecord> trials);
/// The in-flight mark of a race, in which several candidates run. If the process ends during a
/// race, the mark counts as a crash of the problem, because the guilty candidate is unknown.
TrialRecord race_mark(std::span<const TrialRecord> crashes);
bool has_crashed(std::span<const TrialRecord> crashes, const Candidate& candidate);
/// A sentence if there are too many crashes to continue; else empty.
std::string why_stopped(std::span<const TrialRecord> crashes);
/// For the record's remark: "2 candidates crashed, the last blocked block_m=4 ..."; empty if none
/// crashed.
std::string remark_on(std::span<const TrialRecord> crashes);

}  // namespace tunedgemm::internal
