#include "tuner/tune.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "tuner/crashes.h"
#include "tuner/decision.h"
#include "tuner/finals.h"
#include "tuner/remark.h"
#include "tuner/screening.h"
#include "tuner/search_limits.h"
#include "tuner/selection.h"
#include "tuner/statistics.h"
#include "tuner/time_budget.h"
#include "tuner/trial_log.h"

namespace tunedgemm::internal {
namespace {

void report(const Task& task, Phase phase, int done, int total, double best_us) {
  if (task.options.on_progress) {
    task.options.on_progress({phase, done, total, best_us});
  }
}

std::vector<Contender*> contenders_of(std::vector<ScreenedCandidate>& screened) {
  std::vector<Contender*> contenders;
  contenders.reserve(screened.size());
  for (ScreenedCandidate& candidate : screened) {
    contenders.push_back(&candidate.contender);
  }
  return contenders;
}

FinalsReport race(std::vector<ScreenedCandidate>& screened, const Task& task,
                  const SearchLimits& search_limits, TimeBudget& time_budget,
                  std::span<const TrialRecord> crashes) {
  const InFlight mark(task, race_mark(crashes));
  const double best_us = screened.front().contender.launch_us;
  return run_finals(contenders_of(screened), task.evaluator, search_limits, time_budget,
                    task.options.seed, [&](int rounds) {
                      report(task, Phase::kFinals, rounds, search_limits.maximum_rounds, best_us);
                    });
}

// Stores the outcomes, and removes finalists that failed or got no rounds.
void write_outcomes(std::vector<ScreenedCandidate>& screened, const FinalsReport& finals,
                    TrialLog& trial_log) {
  for (const ScreenedCandidate& candidate : screened) {
    const Contender& contender = candidate.contender;
    if (contender.rejection) {
      trial_log.reject(candidate.line, *contender.rejection);
    } else if (!contender.rounds_us.empty()) {
      TrialRecord& trial = trial_log.at(candidate.line);
      trial.measurement = summarize(contender.rounds_us);
      trial.final_round = true;
      trial.sm_clock_mhz = finals.clock_mhz;
      trial_log.write(candidate.line);
    }
  }
  std::erase_if(screened, [](const ScreenedCandidate& candidate) {
    return candidate.contender.rejection || candidate.contender.rounds_us.empty();
  });
}

std::string failure_of(const std::vector<TrialRecord>& trials, bool cancelled, bool lacked_time) {
  if (cancelled) {
    return "cancelled before any candidate was valid";
  }
  if (trials.empty()) {
    return "there is no candidate for this problem on this device";
  }
  const TrialRecord& last = trials.back();
  const std::string why =
      last.rejection ? ", the last (" + last.family + ") as " + to_text(*last.rejection) : "";
  return "none of " + std::to_string(trials.size()) + " candidates was valid" +
         (lacked_time ? " within the budget (--budget-seconds, TUNEDGEMM_TUNE_SECONDS)" : "") + why;
}

Record record_of(const Task& task, const std::vector<ScreenedCandidate>& finalists,
                 const Decision& decision, const TrialLog& trial_log) {
  const auto us_of = [&](const ScreenedCandidate& finalist) {
    return trial_log.trials()[finalist.line].measurement->median_us;
  };
  const ScreenedCandidate& winner = finalists[decision.winner];
  const TrialRecord& trial = trial_log.trials()[winner.line];
  Record record;
  record.problem = task.key.problem;
  record.device = task.key.device;
  record.toolchain = task.key.toolchain;
  record.family = trial.family;
  record.config = trial.config;
  record.family_fingerprint = trial.family_fingerprint;
  record.measurement = *trial.measurement;
  record.max_error = trial.max_error;
  record.rigor = task.options.rigor;
  record.candidates_tried = static_cast<int>(trial_log.trials().size());
  for (const ScreenedCandidate& finalist : finalists) {
    if (finalist.selected.is_default) {
      record.default_us = us_of(finalist);
    }
  }
  if (decision.runner_up) {
    record.runner_up_us = us_of(finalists[*decision.runner_up]);
  }
  for (const std::size_t tie : decision.ties) {
    record.ties.push_back(to_text(finalists[tie].selected.ranked.candidate));
  }
  return record;
}

std::string remark_of(const Decision& decision, const std::vector<ScreenedCandidate>& finalists,
                      const Record& record, const FinalsReport& finals) {
  const bool is_default = finalists[decision.winner].selected.is_default;
  const bool alone =
      is_default && !record.complete && record.candidates_tried < 2 && record.candidates_legal > 1;
  const std::string kept =
      alone ? "kept: default, no time to try another"
            : why_kept(decision, is_default ? Winner::kDefault : Winner::kChallenger);
  return joined_remarks(kept, why_noisy(record.measurement, finals, load_of_machine()));
}

// The candidates with which the tuning of the next problem will begin, unless this one's winner
// changes them.
std::vector<Instance> first_candidates(const CanonicalProblem& next, const Task& task,
                                       const SearchLimits& search_limits) {
  const TuningKey key{next, task.key.device, task.key.toolchain};
  const Ranking ranking =
      rank({key, task.limits, task.evaluator, task.store, task.options}, search_limits);
  std::vector<Instance> first;
  for (const SelectedCandidate& selected : ranking.selection.candidates) {
    first.push_back(selected.ranked);
  }
  return first;
}

}  // namespace

Tuning tune(const TuningKey& key, const DeviceLimits& limits, Evaluator& evaluator, Store& store,
            const TuneOptions& options) {
  const Task task{key, limits, evaluator, store, options};
  SearchLimits search_limits = search_limits_of(options.rigor, options.budget);
  if (!options.candidates.empty()) {
    search_limits.skips_hopeless = false;  // the caller wants them all
  }
  TimeBudget time_budget(evaluator, search_limits.seconds, options.cancelled);
  PhaseSeconds seconds;
  TrialLog trial_log(task);
  Tuning tuning;

  // 0. Rank: the default, neighbours' winners, and the cost model's best.
  report(task, Phase::kRank, 0, 0, 0);
  const Ranking ranking = rank(task, search_limits);
  const std::vector<TrialRecord>& crashes = ranking.crashes;
  trial_log.adopt(ranking.selection.rejected);
  if (!crashes.empty()) {
    trial_log.write_at_once();
  }
  if (!options.in_worker() || ranking.selection.candidates.empty()) {
    tuning.failure = why_stopped(crashes);
  }
  if (!tuning.failure.empty()) {
    return tuning;
  }

  // 1. Compile, 2. check and 3. screen each candidate, then variants of the best tiles.
  Screening screening(task, search_limits, time_budget, trial_log, seconds);
  Screening::Refine refine_best;
  if (options.candidates.empty() && !ranking.only_those_that_ran && search_limits.refinements > 0) {
    refine_best = [&](std::span<const Instance> fastest) {
      return refine(knowledge_of(ranking), fastest, ranking.selection.candidates, search_limits);
    };
  }
  std::function<void()> announce_next;
  if (options.next && options.candidates.empty() && !options.default_candidate) {
    announce_next = [&] {
      evaluator.compile_next(first_candidates(*options.next, task, search_limits));
    };
  }
  screening.run(ranking.selection, refine_best, announce_next);
  std::vector<ScreenedCandidate> finalists = screening.take_leaders();

  // 4. Finals: interleaved rounds.
  FinalsReport finals;
  if (!finalists.empty()) {
    const Stopwatch racing(evaluator, seconds.finals);
    finals = race(finalists, task, search_limits, time_budget, crashes);
  }
  write_outcomes(finalists, finals, trial_log);

  // 5. Decide.
  if (finalists.empty()) {
    tuning.failure =
        failure_of(trial_log.trials(), time_budget.cancelled(), screening.lacked_time());
  } else {
    const Decision decision = decide(contenders_of(finalists));
    const ScreenedCandidate& winner = finalists[decision.winner];
    Record record = record_of(task, finalists, decision, trial_log);
    record.naive_us = screening.baseline_us();
    record.candidates_legal = static_cast<int>(ranking.ranked.size());
    const std::string neighbour = evaluator.neighbour();
    record.complete =
        screening.tried_all() && finals.enough && !ranking.only_those_that_ran && neighbour.empty();
    record.remark = joined_remarks(
        joined_remarks(remark_of(decision, finalists, record, finals), remark_on(crashes)),
        why_shared(neighbour));
    record.compile_seconds = seconds.compile;
    record.check_seconds = seconds.check;
    record.screen_seconds = seconds.screen;
    record.finals_seconds = seconds.finals;
    record.spent_seconds = time_budget.seconds_spent();
    tuning.winner_source = winner.selected.ranked.source();
    tuning.winner_binary = winner.trial->binary();
    tuning.record = std::move(record);
  }
  tuning.cancelled = time_budget.cancelled();
  tuning.trials = trial_log.trials();
  report(task, Phase::kDone, finals.rounds, finals.rounds,
         tuning.record ? tuning.record->measurement.median_us : 0);
  return tuning;
}

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::kRank:
      return "rank";
    case Phase::kCompile:
      return "compile";
    case Phase::kCheck:
      return "check";
    case Phase::kScreen:
      return "screen";
    case Phase::kFinals:
      return "finals";
    case Phase::kDone:
      return "done";
  }
  return "?";
}

}  // namespace tunedgemm::internal
