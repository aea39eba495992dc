#pragma once

// Crashes: candidates that were running when their process ended or the device was lost. They are
// not tried again, until the template, the compiler or the driver is another one.

#include <span>
#include <string>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// After so many of one problem nothing more is tried for it: each has cost somebody a process.
constexpr std::size_t kMostCrashes = 2;
/// Where a crash costs a worker: after so many only those are tried again that ran before.
constexpr std::size_t kMostCrashesOfWorkers = 5;

/// Of these trials those of candidates that crashed, of templates as they are now.
std::vector<TrialRecord> crashes_among(std::span<const TrialRecord> trials);
/// The mark of a race of several candidates, which counts as one more crash of the problem when its
/// process ends in it: nobody knows which candidate did it.
TrialRecord race_mark(std::span<const TrialRecord> crashes);
bool has_crashed(std::span<const TrialRecord> crashes, const Candidate& candidate);
/// A sentence if there are too many to go on; else empty.
std::string why_stopped(std::span<const TrialRecord> crashes);
/// For the record's remark, "2 candidates crashed, the last blocked block_m=4 ..."; empty if none
/// did.
std::string remark_on(std::span<const TrialRecord> crashes);

}  // namespace tunedgemm::internal
