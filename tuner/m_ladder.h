#pragma once

// MLadder: chooses among stored kernels for a problem whose M was not tuned, by the times that were
// measured at other M. A kernel accepts every M, but its tile, its cluster and its split of K suit
// some.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// A kernel that won at some M, as a candidate for a problem.
struct LadderChoice {
  Instance instance;         ///< for the problem, with the alignments that the kernel needs
  double expected_us = 0;    ///< of a launch
  std::int64_t tuned_m = 0;  ///< the M where the kernel won, the nearest one if there are several
};

/// The tuned problems of one class: those that differ in M alone, and in what follows from M.
/// Immutable, so threads may share it. The limits must outlive it.
///
/// The cost model predicts each config's time at each M. Its error is the ratio of measured to
/// predicted time. The usual error at a tuned M is the median of the candidates measured there. A
/// kernel's error relative to the usual one is known where the kernel was measured. Between two
/// such M it is interpolated linearly in log M; far from all of them the expected time has a
/// penalty.
class MLadder {
 public:
  /// Ignores tuned problems of other classes.
  MLadder(const Problem& problem, const DeviceLimits& limits, std::span<const TunedProblem> tuned);

  /// The class's winners that are legal for a problem of the class, the least expected_us first.
  std::vector<LadderChoice> choices(const Problem& problem) const;

  /// The same of another device's ladder: kernels that won at the problem's M come first, since the
  /// other device measured them to be the fastest, and this device has measured none.
  std::vector<LadderChoice> choices_elsewhere(const Problem& problem) const;

  /// Whether a problem of the class with this M is tuned.
  bool has(std::int64_t m) const;

  /// The expected time of a candidate for a problem of the class. If it won nowhere, the model's
  /// prediction is corrected by the median error of all candidates that were measured at the tuned
  /// M around the problem.
  double expected_us(const Instance& instance) const;

  /// The expected time of the fastest candidate. `ranked` are the ranked_candidates() of a problem
  /// of the class. 0 if it is empty.
  double best_expected_us(std::span<const Instance> ranked) const;

  /// The share of time that a launch of `expected_us` takes longer than best_expected_us().
  double expected_loss(double expected_us, std::span<const Instance> ranked) const;

 private:
  struct Kernel {
    Candidate candidate;
    Problem tuned = {};                     ///< a problem that it won, which has its alignments
    std::vector<std::int64_t> won_at = {};  ///< values of M
    /// log2 of the model's error relative to the usual one, by log2 of M + 1
    std::map<double, double> errors = {};
  };

  void add_winner(const Record& winner);
  /// Adds an error of the candidate's kernels, if the candidate won somewhere.
  void add_error(const Problem& problem, const Candidate& candidate, double measured_us);
  /// log2 of the model's error that is expected of a kernel.
  double error_of(const Kernel& kernel, double log2_m) const;

  const DeviceLimits& limits_;
  std::set<std::int64_t> tuned_m_;
  std::map<std::string, std::vector<Kernel>> kernels_;  ///< by the candidate's text
  std::map<double, double> usual_errors_;  ///< median log2 of the errors, by log2 of M + 1
};

/// The key of a class: equal for problems that a ladder may serve from one another.
std::string ladder_key(const Problem& problem);

/// "served from M = 4096"
std::string served_from(std::int64_t tuned_m);
/// "tuned on NVIDIA H200", or "served from M = 4096, tuned on NVIDIA H200" if M differs.
std::string tuned_on(const DeviceIdentity& device, const LadderChoice& choice,
                     const Problem& problem);
/// "expected within 3 %", rounded up to whole percents.
std::string expected_within(double expected_loss);

}  // namespace tunedgemm::internal
