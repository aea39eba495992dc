#include "tools/tune_all/session.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>
#include <limits>
#include <map>
#include <memory>

#include "tools/shared/program.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tools/tune_all/auto_ladder.h"
#include "tools/tune_all/progress_display.h"
#include "tuner/remark.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// The time since the session began, and its limit.
class SessionClock {
 public:
  explicit SessionClock(double limit_seconds)
      : limit_seconds_(limit_seconds > 0 ? limit_seconds
                                         : std::numeric_limits<double>::infinity()) {}
  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  double left() const { return limit_seconds_ - spent(); }

 private:
  double limit_seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// The reason why no further shape may be tuned, or "".
std::string why_not_go_on(const SessionClock& clock, const Session& session) {
  if (!session.device_failure.empty()) {
    return "not tried: the device failed";
  }
  if (interrupted()) {
    return "not tried: interrupted";
  }
  return clock.left() <= 0 ? "not tried: --total-seconds is over" : "";
}

Outcome with_record(Outcome outcome, std::optional<Record> record) {
  outcome.record = std::move(record);
  outcome.kept_default = outcome.record ? why_default_was_kept(outcome.record->remark) : "";
  return outcome;
}

Outcome without_record(const Shape& shape, const std::string& failure) {
  Outcome outcome;
  outcome.shape = shape;
  outcome.failure = failure;
  return outcome;
}

Outcome outcome_of(const Shape& shape, TuneResult result) {
  Outcome outcome = without_record(shape, result.tuning.failure);
  outcome.origin = result.origin;
  outcome.is_unsaved = result.is_unsaved;
  return with_record(std::move(outcome), std::move(result.record));
}

// Updates the outcomes whose winners were unsaved. A worker retries failed writes, so it may have
// stored these winners since. With --force, the winner that is found may be the one that was to be
// replaced.
void find_late_stores(Context& context, const SessionOptions& options, Session& session) {
  if (options.shape.force) {
    return;
  }
  for (Outcome& outcome : session.outcomes) {
    if (!outcome.is_unsaved) {
      continue;
    }
    if (auto record = context.find_tuned(outcome.shape.problem, options.shape)) {
      outcome = with_record(without_record(outcome.shape, ""), std::move(record));
      outcome.origin = TuneResult::Origin::kTuned;
    }
  }
}

class SessionRun {
 public:
  SessionRun(Context& context, const SessionOptions& options, std::size_t shapes,
             std::size_t to_tune)
      : context_(context),
        options_(options),
        display_(shapes, to_tune, options.total_seconds),
        clock_(options.total_seconds) {}

  bool goes_on() const { return why_not_go_on(clock_, session_).empty(); }

  void tune(const Shape& shape, TuneOptions options) {
    // Cached shapes are reported even when the time is over.
    const bool is_cached =
        !options.force && context_.find_tuned(shape.problem, options).has_value();
    if (const auto reason = why_not_go_on(clock_, session_); !is_cached && !reason.empty()) {
      session_.outcomes.push_back(without_record(shape, reason));
      session_.outcomes.back().was_tried = false;
      return;
    }
    options.on_progress = [&](const Progress& progress) { display_.shape_progresses(progress); };
    options.cancelled = [&] {
      display_.refresh();
      return interrupted() || clock_.left() <= 0;
    };
    display_.shape_begins(shape, search_limits_of(options.rigor, options.budget));
    try {
      TuneResult result = context_.tune(shape.problem, options);
      display_.shape_ends(result);
      if (result.record && !shape.name.empty()) {
        context_.store().add_name(shape.problem, context_.device().identity(), shape.name);
      }
      session_.outcomes.push_back(outcome_of(shape, std::move(result)));
    } catch (const DeviceError& error) {
      session_.device_failure = error.what();
      session_.outcomes.push_back(without_record(shape, error.what()));
    }
  }

  void note(const std::string& sentence) { session_.ladders.push_back(sentence); }

  Session end() {
    find_late_stores(context_, options_, session_);
    display_.finish();
    session_.seconds = clock_.spent();
    session_.interrupted = interrupted();
    return std::move(session_);
  }

 private:
  Context& context_;
  const SessionOptions& options_;
  ProgressDisplay display_;
  SessionClock clock_;
  Session session_;
};

// The automatic ladders of the layers, taken one after the other. Each is prepared while the shapes
// or the ladder before it are tuned, unless that would disturb the timing. Only one is prepared at
// a time, because it compiles on all threads.
class Ladders {
 public:
  Ladders(Context& context, const std::vector<Layer>& layers) : context_(context), layers_(layers) {
    if (!layers.empty()) {
      context.complete_probe();
    }
    prepare_next();
  }
  std::unique_ptr<AutoLadder> take_next() {
    std::unique_ptr<AutoLadder> ladder = next_.get();
    prepare_next();
    return ladder;
  }

 private:
  void prepare_next() {
    if (prepared_ == layers_.size()) {
      return;
    }
    const auto when =
        context_.device().compiling_disturbs_timing() ? std::launch::deferred : std::launch::async;
    next_ = std::async(when, [this, &layer = layers_[prepared_]] {
      return std::make_unique<AutoLadder>(context_, layer);
    });
    ++prepared_;
  }

  Context& context_;
  const std::vector<Layer>& layers_;
  std::size_t prepared_ = 0;
  std::future<std::unique_ptr<AutoLadder>> next_;
};

constexpr std::size_t kFailureWidth = 60;

std::vector<std::string> wide_row(const Outcome& outcome) {
  const Problem& problem = outcome.shape.problem;
  std::vector<std::string> cells{outcome.shape.name, extents_text(problem), types_text(problem),
                                 layout_text(problem), epilogue_text(problem)};
  if (!outcome.record) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
  } else {
    const Record& record = *outcome.record;
    const double us = record.measurement.median_us;
    cells.insert(cells.end(),
                 {time_text(us), spread_text(record.measurement), gflops_text(flops(problem), us),
                  speedup_text(record.naive_us, us), speedup_text(record.default_us, us)});
  }
  cells.emplace_back(name(outcome.origin));
  cells.push_back(outcome.record ? outcome.record->family + " " + to_text(outcome.record->config)
                                 : first_line(outcome.failure, kFailureWidth));
  cells.push_back(outcome.record ? outcome.record->remark : "");
  return cells;
}

std::vector<std::string> row(const Outcome& outcome) {
  const Problem& problem = outcome.shape.problem;
  std::vector<std::string> cells{extents_text(problem) + " " + layout_text(problem),
                                 types_text(problem)};
  if (!outcome.record) {
    cells.insert(cells.end(), {"-", "-", "-", "-"});
  } else {
    const Record& record = *outcome.record;
    const double us = record.measurement.median_us;
    cells.insert(cells.end(), {kernel_text(record), time_text(us), spread_text(record.measurement),
                               speedup_text(record.default_us, us)});
  }
  cells.push_back(epilogue_text(problem));
  cells.emplace_back(name(outcome.origin));
  cells.push_back(outcome.shape.name);
  return cells;
}

void print_kept_defaults(std::ostream& out, const Session& session) {
  std::map<std::string, int> kept;
  for (const Outcome& outcome : session.outcomes) {
    if (!outcome.kept_default.empty()) {
      ++kept[outcome.kept_default];
    }
  }
  for (const auto& [reason, number] : kept) {
    out << number << " kept the default: " << reason << ".\n";
  }
}

auto count(const Session& session, TuneResult::Origin origin) {
  return std::count_if(session.outcomes.begin(), session.outcomes.end(),
                       [&](const Outcome& outcome) { return outcome.origin == origin; });
}

void extend(AutoLadder& ladder, const Layer& layer, SessionRun& run,
            const SessionOptions& options) {
  std::size_t added = 0;
  std::optional<Rung> rung = ladder.next(options.ladder_loss);
  for (; rung && run.goes_on(); rung = ladder.next(options.ladder_loss)) {
    TuneOptions few = options.shape;
    few.rigor = Rigor::kModel;
    few.candidates = rung->candidates;
    run.tune(rung->shape, few);
    ++added;
  }
  const auto percent = [](double loss) { return rounded_text(100 * loss) + " %"; };
  const double loss = rung ? rung->expected_loss : options.ladder_loss;
  run.note(shape_text(to_shape(layer.fields)) + ": " + counted(added, "value") +
           " of M added; at any other M the stored kernels are expected to take at most " +
           percent(loss) + " longer than the best" +
           (rung ? ", more than the " + percent(options.ladder_loss) + " of --ladder-loss" : ""));
}

}  // namespace

Session tune_shapes(Context& context, const WorkList& work, const SessionOptions& options,
                    const std::vector<bool>& is_tuned) {
  std::vector<std::size_t> to_tune;  // the last first
  for (std::size_t index = work.shapes.size(); index-- > 0;) {
    if (index >= is_tuned.size() || !is_tuned[index]) {
      to_tune.push_back(index);
    }
  }
  SessionRun run(context, options, work.shapes.size(), to_tune.size());
  Ladders ladders(context, work.layers);
  for (std::size_t index = 0; index < work.shapes.size(); ++index) {
    if (!to_tune.empty() && to_tune.back() == index) {
      to_tune.pop_back();
    }
    TuneOptions with_next = options.shape;
    if (!to_tune.empty()) {
      with_next.next = work.shapes[to_tune.back()].problem;
    }
    run.tune(work.shapes[index], with_next);
  }
  for (const Layer& layer : work.layers) {
    if (!run.goes_on()) {
      break;
    }
    extend(*ladders.take_next(), layer, run, options);
  }
  return run.end();
}

void print_wide_table(std::ostream& out, const Session& session) {
  Table table({{"name"},
               {"m x n x k"},
               {"types"},
               {"layout"},
               {"epilogue"},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"vs naive", Align::kRight},
               {"vs default", Align::kRight},
               {"outcome"},
               {"winner"},
               {"remark"}});
  for (const Outcome& outcome : session.outcomes) {
    table.add(wide_row(outcome));
  }
  table.print(out);
}

void print_table(std::ostream& out, const Session& session, std::size_t width) {
  Table table({{"m x n x k"},
               {"types", Align::kLeft, Constant::kHeading},
               {"winner"},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {"vs default", Align::kRight},
               {"epilogue", Align::kLeft, Constant::kHeading},
               {"outcome", Align::kLeft, Constant::kHeading},
               {"name"}});
  for (const Outcome& outcome : session.outcomes) {
    if (outcome.was_tried) {
      table.add(row(outcome));
    }
  }
  if (table.size() > 0) {
    table.print_fitting(out, width);
  }
}

void print_summary(std::ostream& out, const Session& session, Context& context) {
  const auto tuned = count(session, TuneResult::Origin::kTuned);
  const auto elsewhere = count(session, TuneResult::Origin::kElsewhere);
  const auto cached = count(session, TuneResult::Origin::kCached);
  const auto failed = count(session, TuneResult::Origin::kFailed);
  std::map<std::string, std::size_t> left;
  for (const Outcome& outcome : session.outcomes) {
    if (!outcome.was_tried) {
      ++left[outcome.failure];
    } else if (!outcome.record) {
      out << "no winner for " << shape_text(outcome.shape) << " "
          << types_text(outcome.shape.problem) << ": " << outcome.failure << '\n';
    }
  }
  for (const auto& [reason, number] : left) {
    out << counted(number, "shape") << ' ' << reason << ".\n";
  }
  out << counted(session.outcomes.size(), "shape") << " on " << context.device().identity().name
      << ": " << tuned << " tuned in " << duration_text(session.seconds) << ", " << cached
      << " already in the cache";
  if (elsewhere > 0) {
    out << ", " << elsewhere << " tuned by another process";
  }
  out << ", " << failed << " without a winner.\n";
  if (tuned == 0 && failed == 0) {
    out << "Nothing was tuned: every shape already had a winner in the cache.\n";
  }
  print_kept_defaults(out, session);
  const auto remarked =
      std::count_if(session.outcomes.begin(), session.outcomes.end(), [](const Outcome& outcome) {
        return outcome.record.has_value() && !outcome.record->remark.empty();
      });
  if (remarked > 0) {
    out << counted(static_cast<std::size_t>(remarked), "shape")
        << " with a remark (--wide): more time (--budget-seconds, --rigor) or an idle machine may "
           "help.\n";
  }
  for (const std::string& sentence : session.ladders) {
    out << "Ladder of " << sentence << ".\n";
  }
  if (session.interrupted) {
    out << "Interrupted: finished results are kept, and the same command continues from there.\n";
  }
  out << "Cache: " << context.store().path().string() << '\n';
}

void print_json(std::ostream& out, const Session& session) {
  Json array = Json::array();
  for (const Outcome& outcome : session.outcomes) {
    Json entry{{"name", outcome.shape.name},
               {"problem", to_text(outcome.shape.problem)},
               {"outcome", name(outcome.origin)}};
    entry["record"] = outcome.record ? to_json(*outcome.record) : Json(nullptr);
    entry["failure"] = outcome.failure;
    entry["kept_default"] =
        outcome.kept_default.empty() ? Json(nullptr) : Json(outcome.kept_default);
    array.push_back(std::move(entry));
  }
  out << json_text(array, 2) << '\n';
}

}  // namespace tunedgemm::internal
