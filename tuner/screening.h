#pragma once

// Screening: steps 1 to 3 of tune(). Every candidate is compiled, checked and, if correct, timed.
// The fastest reach the finals. The evaluator may compile the next candidate while the current one
// is checked.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/contender.h"
#include "tuner/evaluator.h"
#include "tuner/search_limits.h"
#include "tuner/selection.h"
#include "tuner/time_budget.h"
#include "tuner/trial_log.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

struct PhaseSeconds {
  double compile = 0, check = 0, screen = 0, finals = 0;
};

/// A correct candidate with its screening time. Move-only: it owns the kernel.
struct ScreenedCandidate {
  SelectedCandidate selected;
  std::size_t line = 0;  ///< in the trial log
  std::unique_ptr<Trial> trial;
  Contender contender;  ///< for the finals; samples the trial
};

/// Used by one thread. Refers to all constructor arguments.
class Screening {
 public:
  Screening(const Task& task, const SearchLimits& search_limits, TimeBudget& time_budget,
            TrialLog& trial_log, PhaseSeconds& seconds);

  /// More candidates, given the fastest so far, the fastest first.
  using Refine = std::function<Selection(std::span<const Instance> fastest)>;

  /// Tries the candidates until the time is over: those that are compiled first, else in order.
  /// Leaves out candidates that cannot come near the fastest (SearchLimits::skips_hopeless). If
  /// none is valid when the time is over, continues until one is, unless several in a row cannot be
  /// compiled or loaded. Tries candidates that spill registers only if no other is valid.
  ///
  /// Unless `refine` is empty, calls it when half of the candidates have been tried, and tries its
  /// candidates too. So the compiler has work while the other half is tried. Calls
  /// `all_announced`, unless it is empty, once the compiler has all candidates.
  void run(const Selection& selection, const Refine& refine,
           const std::function<void()>& all_announced);

  /// Moves the finalists out: the candidates of fastest(), and the default even if it is slow.
  /// Rejects other timed candidates beyond kFarBehind as too slow.
  [[nodiscard]] std::vector<ScreenedCandidate> take_leaders();
  bool tried_all() const { return tried_all_; }
  /// Whether the deadline stopped a compilation.
  bool lacked_time() const { return !stopped_by_deadline_.empty(); }
  /// The time of the naive kernel; 0 if it was not timed.
  double baseline_us() const { return baseline_us_; }

 private:
  enum class Spilling { kRefused, kAccepted };

  // The error of a family's cost model, from the candidates timed so far.
  struct Calibration {
    int timed = 0;
    double least_ratio = 0;  // of the measured to the predicted time
  };

  void add(const Selection& selection);
  void announce();
  SelectedCandidate take_next();
  void skip_hopeless();
  bool is_hopeless(const SelectedCandidate& selected) const;
  void calibrate(const Instance& timed, double us);
  std::vector<Instance> fastest() const;
  void warm_up();
  void try_one(const SelectedCandidate& selected, Spilling spilling);
  void try_stopped_again();
  std::unique_ptr<Trial> prepare(const SelectedCandidate& selected, std::size_t line);
  bool check(Trial& trial, std::size_t line);
  bool screen(Trial& trial, std::size_t line);
  std::variant<double, Rejection> screening_sample(Trial& trial) const;
  void admit(ScreenedCandidate screened);
  void excuse_all();
  void reject_stragglers();
  bool must_stop();
  void report(Phase phase) const;

  const Task& task_;
  const SearchLimits& search_limits_;
  TimeBudget& time_budget_;
  TrialLog& trial_log_;
  PhaseSeconds& seconds_;
  std::vector<SelectedCandidate> waiting_;    // in the order to announce and to try them
  std::vector<SelectedCandidate> announced_;  // to the evaluator
  std::map<const Family*, Calibration> calibrations_;
  std::vector<ScreenedCandidate> leaders_;  // sorted by their contenders' launch_us
  std::vector<std::size_t> timed_;          // lines in the trial log
  std::vector<SelectedCandidate> spilling_;
  bool tried_all_ = true;
  int not_made_ = 0;  // consecutive candidates that could not be compiled or loaded
  bool has_made_one_ = false;
  std::vector<SelectedCandidate> stopped_by_deadline_;  // their compilations
  std::vector<std::size_t> lines_not_made_;             // in the trial log
  double baseline_us_ = 0;
  int done_ = 0, total_ = 0;
};

}  // namespace tunedgemm::internal
