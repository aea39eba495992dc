#include "tuner/screening.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "kernel_templates/base/number_text.h"
#include "tuner/evaluator.h"
#include "tuner/race.h"

namespace tunedgemm::internal {
namespace {

constexpr double kSampleUs = 300;
// Relative to the best time. A single sample errs by a few percent, so a candidate beyond
// kFarBehind cannot win. Candidates within kNear go to the finals. A candidate beyond kHopeless
// gets no second sample.
constexpr double kFarBehind = 1.5;
constexpr double kNear = 1.2;
constexpr double kHopeless = 3;
// The error of a family's cost model is known once this many of its candidates have been timed.
constexpr int kEnoughTimed = 4;
// Announced candidates are compiled in order, so later ones are hardly compiled before these. An
// exhaustive search announces thousands.
constexpr std::ptrdiff_t kMostAskedFor = 64;
// If this many candidates in a row cannot be compiled or loaded, the environment is the cause. A
// single candidate is enough if it is rejected as unavailable, unless the deadline has passed: its
// compilation may then only have been slow.
constexpr int kHopelesslyMany = 4;
// The largest fraction of the budget that screening reserves for the finals.
constexpr double kLargestReserve = 0.5;

Preference preference_of(const Instance& ranked) {
  const Family* family = ranked.candidate.family;
  const auto all = families(family->backend());
  return Preference{
      .needs_workspace = ranked.launch.needs_workspace(),
      .family_position = static_cast<int>(std::find(all.begin(), all.end(), family) - all.begin()),
      .predicted_us = ranked.predicted_us,
      .text = to_text(ranked.candidate)};
}

}  // namespace

Screening::Screening(const Task& task, const SearchLimits& search_limits, TimeBudget& time_budget,
                     TrialLog& trial_log, PhaseSeconds& seconds)
    : task_(task),
      search_limits_(search_limits),
      time_budget_(time_budget),
      trial_log_(trial_log),
      seconds_(seconds) {}

void Screening::run(const Selection& selection, const Refine& refine,
                    const std::function<void()>& all_announced) {
  add(selection);
  const std::size_t refine_when_left = selection.candidates.size() / 2;
  bool is_refined = !refine, is_last_announced = !all_announced;
  bool is_warm = false;
  while (true) {
    const std::size_t left = announced_.size() + waiting_.size();
    if (!is_refined && left <= refine_when_left) {
      is_refined = true;
      add(refine(fastest()));
      continue;
    }
    if (left == 0) {
      break;
    }
    announce();
    if (is_refined && waiting_.empty() && !std::exchange(is_last_announced, true)) {
      all_announced();
    }
    if (!std::exchange(is_warm, true)) {
      warm_up();
    }
    if (announced_.empty() || must_stop()) {
      tried_all_ = false;
      break;
    }
    try_one(take_next(), Spilling::kRefused);
    ++done_;
    skip_hopeless();
  }
  try_stopped_again();
  for (const SelectedCandidate& one : std::exchange(spilling_, {})) {
    if (leaders_.empty() && !time_budget_.cancelled()) {
      try_one(one, Spilling::kAccepted);
    }
  }
}

std::vector<Instance> Screening::fastest() const {
  std::vector<Instance> fastest;
  for (const ScreenedCandidate& leader : leaders_) {
    if (leader.contender.launch_us <= kNear * leaders_.front().contender.launch_us) {
      fastest.push_back(leader.selected.ranked);
    }
  }
  return fastest;
}

std::vector<ScreenedCandidate> Screening::take_leaders() {
  if (!has_made_one_) {
    excuse_all();
  }
  reject_stragglers();
  return std::move(leaders_);
}

void Screening::add(const Selection& selection) {
  waiting_.insert(waiting_.end(), selection.candidates.begin(), selection.candidates.end());
  spilling_.insert(spilling_.end(), selection.spilling.begin(), selection.spilling.end());
  total_ += static_cast<int>(selection.candidates.size());
}

// Announces the candidates that wait: all of them, or a batch if the previous one has been tried.
void Screening::announce() {
  const auto batch = static_cast<std::size_t>(task_.evaluator.compile_batch());
  // After the deadline a compiler that hangs would use up another one.
  if (waiting_.empty() || (batch > 0 && !announced_.empty()) || lacked_time() || must_stop()) {
    return;
  }
  report(Phase::kCompile);
  const auto end = batch == 0 || batch > waiting_.size()
                       ? waiting_.end()
                       : waiting_.begin() + static_cast<std::ptrdiff_t>(batch);
  std::vector<Instance> candidates;
  std::transform(waiting_.begin(), end, std::back_inserter(candidates),
                 [](const SelectedCandidate& selected) { return selected.ranked; });
  std::move(waiting_.begin(), end, std::back_inserter(announced_));
  waiting_.erase(waiting_.begin(), end);
  task_.evaluator.set_compile_deadline(task_.evaluator.now_seconds() +
                                       std::max(time_budget_.seconds_left(), kLeastCompileSeconds));
  const Stopwatch compiling(task_.evaluator, seconds_.compile);
  task_.evaluator.compile_ahead(candidates);
}

// The first of the next kMostAskedFor announced candidates that is compiled, else the first.
SelectedCandidate Screening::take_next() {
  const auto end = announced_.begin() + std::min(std::ssize(announced_), kMostAskedFor);
  auto next = std::find_if(announced_.begin(), end, [&](const SelectedCandidate& selected) {
    return task_.evaluator.is_compiled(selected.ranked);
  });
  if (next == end) {
    next = announced_.begin();
  }
  SelectedCandidate taken = std::move(*next);
  announced_.erase(next);
  return taken;
}

void Screening::skip_hopeless() {
  const std::size_t before = announced_.size() + waiting_.size();
  std::erase_if(announced_, [&](const SelectedCandidate& selected) {
    const bool skipped = is_hopeless(selected);
    if (skipped) {
      task_.evaluator.forget(selected.ranked);
    }
    return skipped;
  });
  std::erase_if(waiting_, [&](const auto& selected) { return is_hopeless(selected); });
  done_ += static_cast<int>(before - announced_.size() - waiting_.size());
}

// Whether the candidate would not come near the fastest even if the cost model overestimated its
// time as much as that of any candidate of the family so far.
bool Screening::is_hopeless(const SelectedCandidate& selected) const {
  if (!search_limits_.skips_hopeless || selected.is_default || selected.is_baseline ||
      leaders_.empty()) {
    return false;
  }
  const auto found = calibrations_.find(selected.ranked.candidate.family);
  return found != calibrations_.end() && found->second.timed >= kEnoughTimed &&
         selected.ranked.predicted_us * found->second.least_ratio >
             kNear * leaders_.front().contender.launch_us;
}

void Screening::calibrate(const Instance& timed, double us) {
  Calibration& calibration = calibrations_[timed.candidate.family];
  const double ratio = us / timed.predicted_us;
  calibration.least_ratio =
      calibration.timed == 0 ? ratio : std::min(calibration.least_ratio, ratio);
  ++calibration.timed;
}

void Screening::warm_up() {
  if (!must_stop()) {
    const Stopwatch screening(task_.evaluator, seconds_.screen);
    task_.evaluator.warm_up();
  }
}

void Screening::try_one(const SelectedCandidate& selected, Spilling spilling) {
  const std::size_t line = trial_log_.open(selected.ranked);
  std::unique_ptr<Trial> trial = prepare(selected, line);
  if (trial == nullptr) {
    return;
  }
  const std::int64_t spill_bytes = trial_log_.at(line).spill_bytes;
  if (spill_bytes > 0 && spilling == Spilling::kRefused) {
    trial_log_.reject(line, Reason::kSpills,
                      "spills " + std::to_string(spill_bytes) + " bytes of registers a thread");
    spilling_.push_back(selected);
    return;
  }
  {
    const InFlight mark(task_, trial_log_.at(line));
    if (!check(*trial, line) || !screen(*trial, line)) {
      return;
    }
  }
  trial_log_.write(line);
  timed_.push_back(line);
  const double us = trial_log_.at(line).measurement->median_us;
  if (selected.is_baseline) {
    baseline_us_ = us;
  }
  calibrate(selected.ranked, us);
  Contender contender = contender_of(*trial, us);
  contender.preference = preference_of(selected.ranked);
  contender.is_default = selected.is_default;
  admit({selected, line, std::move(trial), std::move(contender)});
}

// Whatever the budget, a tuning in a worker ends with a winner if the compiler works: on a busy
// machine one compilation can take longer than a small budget. A caller that tunes in its own
// process waits for a result of its call, and has another kernel for it: the budget holds.
void Screening::try_stopped_again() {
  if (!leaders_.empty() || !lacked_time() || !task_.options.in_worker()) {
    return;
  }
  for (const SelectedCandidate& announced : announced_) {
    task_.evaluator.forget(announced.ranked);
  }
  const double deadline = task_.evaluator.now_seconds() + kOnlyCompileSeconds;
  task_.evaluator.set_compile_deadline(deadline);
  for (const SelectedCandidate& stopped : std::vector(stopped_by_deadline_)) {
    if (leaders_.empty() && !time_budget_.cancelled() && task_.evaluator.now_seconds() < deadline) {
      task_.evaluator.forget(stopped.ranked);
      try_one(stopped, Spilling::kRefused);
    }
  }
}

std::unique_ptr<Trial> Screening::prepare(const SelectedCandidate& selected, std::size_t line) {
  report(Phase::kCompile);
  const Stopwatch compiling(task_.evaluator, seconds_.compile);
  Prepared prepared = task_.evaluator.prepare(selected.ranked);
  if (const Rejection* rejection = std::get_if<Rejection>(&prepared)) {
    if (rejection->reason != Reason::kUnavailable) {
      ++not_made_;
    } else if (time_budget_.seconds_left() > 0) {
      not_made_ += kHopelesslyMany;
    } else {
      stopped_by_deadline_.push_back(selected);
    }
    lines_not_made_.push_back(line);
    trial_log_.reject(line, *rejection);
    return nullptr;
  }
  not_made_ = 0;
  has_made_one_ = true;
  std::unique_ptr<Trial> trial = std::get<std::unique_ptr<Trial>>(std::move(prepared));
  const Binary& binary = trial->binary();
  TrialRecord& record = trial_log_.at(line);
  record.registers = binary.registers;
  record.shared_bytes = binary.shared_bytes;
  record.spill_bytes = binary.spill_bytes;
  record.compile_ms = binary.compile_ms;
  return trial;
}

bool Screening::check(Trial& trial, std::size_t line) {
  report(Phase::kCheck);
  const Stopwatch checking(task_.evaluator, seconds_.check);
  const auto checked = trial.check();
  if (const Rejection* rejection = std::get_if<Rejection>(&checked)) {
    trial_log_.reject(line, *rejection);
    return false;
  }
  const double error = std::get<double>(checked);
  trial_log_.at(line).max_error =
      std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  // Negated, so that NaN fails.
  if (!(error <= 1)) {
    trial_log_.reject(line, Reason::kWrongResult,
                      "the error is " + four_digits(error) + " times its bound");
    return false;
  }
  return true;
}

bool Screening::screen(Trial& trial, std::size_t line) {
  report(Phase::kScreen);
  const Stopwatch screening(task_.evaluator, seconds_.screen);
  const auto screened = screening_sample(trial);
  if (const Rejection* rejection = std::get_if<Rejection>(&screened)) {
    trial_log_.reject(line, *rejection);
    return false;
  }
  const double us = std::get<double>(screened);
  trial_log_.at(line).measurement = Measurement{us, us, us, {static_cast<float>(us)}};
  return true;
}

std::variant<double, Rejection> Screening::screening_sample(Trial& trial) const {
  const double roofline_us = task_.evaluator.roofline_us();
  const double best_us = leaders_.empty() ? std::numeric_limits<double>::infinity()
                                          : leaders_.front().contender.launch_us;
  auto first = plausible_sample(trial, 1, roofline_us);
  const double* first_us = std::get_if<double>(&first);
  // A second sample is needed if one launch is too short for a reliable time, or if a disturbance
  // may have slowed the first sample. Hopeless candidates get none.
  if (first_us == nullptr || *first_us > kHopeless * best_us) {
    return first;
  }
  if (2 * *first_us < kSampleUs || *first_us > kNear * best_us) {
    auto second = plausible_sample(trial, launches_for(kSampleUs, *first_us), roofline_us);
    const double* second_us = std::get_if<double>(&second);
    if (second_us == nullptr) {
      return second;
    }
    return std::min(*first_us, *second_us);
  }
  return first;
}

// Unloads candidates that can no longer reach the finals, because thousands of loaded kernels need
// much memory.
void Screening::admit(ScreenedCandidate screened) {
  const auto slower = [](double us, const ScreenedCandidate& other) {
    return us < other.contender.launch_us;
  };
  const double us = screened.contender.launch_us;
  leaders_.insert(std::upper_bound(leaders_.begin(), leaders_.end(), us, slower),
                  std::move(screened));
  const double near_us = kNear * leaders_.front().contender.launch_us;
  int challengers = 0;
  std::erase_if(leaders_, [&](const ScreenedCandidate& leader) {
    return !leader.selected.is_default &&
           (leader.contender.launch_us > near_us || ++challengers > search_limits_.finalists);
  });
}

// If no candidate can be compiled and loaded, the environment is the cause. For example, a full
// disk must not exclude candidates for good.
void Screening::excuse_all() {
  for (const std::size_t line : lines_not_made_) {
    trial_log_.reject(line, Reason::kUnavailable, trial_log_.at(line).rejection->detail);
  }
}

void Screening::reject_stragglers() {
  if (leaders_.empty()) {
    return;
  }
  const double best_us = leaders_.front().contender.launch_us;
  for (const std::size_t line : timed_) {
    const double us = trial_log_.at(line).measurement->median_us;
    const bool races =
        std::any_of(leaders_.begin(), leaders_.end(),
                    [&](const ScreenedCandidate& leader) { return leader.line == line; });
    if (!races && us > kFarBehind * best_us) {
      trial_log_.reject(
          line, Reason::kTooSlow,
          four_digits(us) + " us in screening, " + four_digits(us / best_us) + " times the best");
    }
  }
}

bool Screening::must_stop() {
  if (time_budget_.cancelled()) {
    return true;
  }
  // Without a valid candidate, screening continues even after the time is over, unless nothing
  // compiles.
  if (not_made_ >= kHopelesslyMany && time_budget_.seconds_left() <= 0) {
    return true;
  }
  const RaceOptions finals{.cool_down_seconds = task_.evaluator.cool_down_seconds()};
  double round = 0;
  for (const ScreenedCandidate& leader : leaders_) {
    round += seconds_per_round(leader.contender, finals);
  }
  const double reserve =
      std::min(search_limits_.minimum_rounds * round, kLargestReserve * search_limits_.seconds);
  return !leaders_.empty() && time_budget_.seconds_left() <= reserve;
}

void Screening::report(Phase phase) const {
  if (task_.options.on_progress) {
    task_.options.on_progress(
        {phase, done_, total_, leaders_.empty() ? 0 : leaders_.front().contender.launch_us});
  }
}

}  // namespace tunedgemm::internal
