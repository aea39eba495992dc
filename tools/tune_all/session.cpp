#include "tools/tune_all/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "tools/shared/concurrently.h"
#include "tools/shared/program.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tools/tune_all/auto_ladder.h"
#include "tools/tune_all/progress_display.h"
#include "tools/tune_all/shape_queue.h"
#include "tuner/remark.h"
#include "tuner/search_limits.h"
#include "tuner/statistics.h"

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

Outcome with_record(Outcome outcome, std::optional<Record> record) {
  outcome.record = std::move(record);
  outcome.kept_default = outcome.record ? why_default_was_kept(outcome.record->remark) : "";
  return outcome;
}

Outcome without_record(const NamedProblem& shape, const std::string& failure) {
  Outcome outcome;
  outcome.shape = shape;
  outcome.failure = failure;
  return outcome;
}

Outcome outcome_of(const NamedProblem& shape, TuneResult result) {
  Outcome outcome = without_record(shape, result.tuning.failure);
  outcome.kind = result.kind;
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
      outcome.kind = TuneResult::Kind::kTuned;
    }
  }
}

// A session ends when this many winners in a row could not be stored: the disk is full, or the file
// is not writable any more, and further winners would be lost as well. Fewer may only have met
// another program that kept the file busy.
constexpr int kMostUnsavedInARow = 3;

// Thread-safe: each device's thread tunes on its own context.
class SessionRun {
 public:
  SessionRun(std::span<Context* const> contexts, const SessionOptions& options, std::size_t shapes,
             std::size_t to_tune)
      : contexts_(contexts),
        options_(options),
        display_(shapes, to_tune, contexts.size(), options.total_seconds),
        clock_(options.total_seconds),
        has_failed_(contexts.size()) {
    session_.outcomes.resize(shapes);
  }

  bool has_failed(std::size_t device) const { return has_failed_[device]; }
  bool goes_on(std::size_t device) const { return why_not_go_on(device).empty(); }

  // Tunes the shape of the list on the device.
  void tune(std::size_t device, std::size_t index, const NamedProblem& shape,
            const TuneOptions& options) {
    Outcome outcome = try_on(device, shape, options);
    const std::lock_guard<std::mutex> lock(mutex_);
    session_.outcomes[index] = std::move(outcome);
  }
  // Tunes a shape that is not in the list.
  void tune(std::size_t device, const NamedProblem& shape, const TuneOptions& options) {
    Outcome outcome = try_on(device, shape, options);
    const std::lock_guard<std::mutex> lock(mutex_);
    session_.outcomes.push_back(std::move(outcome));
  }

  void note(const std::string& sentence) {
    const std::lock_guard<std::mutex> lock(mutex_);
    session_.ladders.push_back(sentence);
  }

  Session end() {
    find_late_stores(*contexts_.front(), options_, session_);
    display_.finish();
    session_.seconds = clock_.spent();
    session_.interrupted = interrupted();
    return std::move(session_);
  }

 private:
  // The reason why the device may tune no further shape, or "".
  std::string why_not_go_on(std::size_t device) const {
    if (has_failed_[device]) {
      return "not tried: the device failed";
    }
    if (interrupted()) {
      return "not tried: interrupted";
    }
    if (unsaved_in_a_row_ >= kMostUnsavedInARow) {
      return "not tried: winners could not be stored";
    }
    return clock_.left() <= 0 ? "not tried: --total-seconds is over" : "";
  }

  Outcome try_on(std::size_t device, const NamedProblem& shape, TuneOptions options) {
    Context& context = *contexts_[device];
    // Cached shapes are reported even when the time is over. Otherwise tune() looks for the winner.
    const std::string reason = why_not_go_on(device);
    if (!reason.empty() && (options.force || !context.find_tuned(shape.problem, options))) {
      Outcome outcome = without_record(shape, reason);
      outcome.was_tried = false;
      return outcome;
    }
    options.on_progress = [&](const Progress& progress) {
      display_.shape_progresses(device, progress);
    };
    options.cancelled = [&] {
      display_.refresh();
      return interrupted() || clock_.left() <= 0;
    };
    display_.shape_begins(device, shape, search_limits_of(options.rigor, options.budget));
    try {
      TuneResult result = context.tune(shape.problem, options);
      display_.shape_ends(device, result);
      note_unsaved(context, result);
      if (result.record && !shape.name.empty()) {
        context.store().add_name(canonical(shape.problem), context.device().identity(), shape.name);
      }
      if (options_.on_shape_end) {
        options_.on_shape_end();
      }
      return outcome_of(shape, std::move(result));
    } catch (const DeviceError& error) {
      has_failed_[device] = true;
      TuneResult failed;
      failed.tuning.failure = error.what();
      display_.shape_ends(device, failed);
      const std::lock_guard<std::mutex> lock(mutex_);
      session_.device_failure = error.what();
      return outcome_of(shape, std::move(failed));
    }
  }

  void note_unsaved(Context& context, const TuneResult& result) {
    if (result.is_unsaved || context.store().unsaved_winners() > 0) {
      ++unsaved_in_a_row_;
    } else if (result.kind == TuneResult::Kind::kTuned) {
      unsaved_in_a_row_ = 0;
    }
  }

  std::span<Context* const> contexts_;
  const SessionOptions& options_;
  ProgressDisplay display_;
  SessionClock clock_;
  std::vector<std::atomic<bool>> has_failed_;  // by device
  std::atomic<int> unsaved_in_a_row_{0};
  std::mutex mutex_;
  Session session_;
};

// The automatic ladders of the layers that one device takes, one after the other. Each is prepared
// while the shapes or the ladder before it are tuned, unless that would disturb the timing. Only
// one is prepared at a time, because it compiles on all threads.
class Ladders {
 public:
  // `next_layer` is shared by the devices.
  Ladders(Context& context, const std::vector<Layer>& layers, std::atomic<std::size_t>& next_layer)
      : context_(context), layers_(layers), next_layer_(next_layer) {
    if (!layers.empty()) {
      context.complete_probe();
    }
    prepare_next();
  }

  struct Prepared {
    const Layer* layer = nullptr;
    std::unique_ptr<AutoLadder> ladder;
  };
  // Without a layer if none is left.
  Prepared take_next() {
    Prepared taken = next_.valid() ? next_.get() : Prepared();
    prepare_next();
    return taken;
  }

 private:
  void prepare_next() {
    const std::size_t next = next_layer_++;
    if (next >= layers_.size()) {
      return;
    }
    const auto when =
        context_.device().compiling_disturbs_timing() ? std::launch::deferred : std::launch::async;
    next_ = std::async(when, [this, &layer = layers_[next]] {
      return Prepared{&layer, std::make_unique<AutoLadder>(context_, layer)};
    });
  }

  Context& context_;
  const std::vector<Layer>& layers_;
  std::atomic<std::size_t>& next_layer_;
  std::future<Prepared> next_;
};

constexpr std::size_t kFailureWidth = 60;

// Tables omit the column if no winner was compared.
std::string vs_vendor_text(const Record& record) {
  return record.vendor.empty() ? "" : speedup_text(record.vendor_us, record.measurement.median_us);
}

std::vector<std::string> wide_row(const Outcome& outcome) {
  const Problem& problem = outcome.shape.problem;
  std::vector<std::string> cells{outcome.shape.name, extents_text(problem), types_text(problem),
                                 layout_text(problem), epilogue_text(problem)};
  if (!outcome.record) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-", ""});
  } else {
    const Record& record = *outcome.record;
    const double us = record.measurement.median_us;
    cells.insert(cells.end(), {time_text(us), spread_text(record.measurement),
                               gflops_text(flops(problem), us), speedup_text(record.naive_us, us),
                               speedup_text(record.default_us, us), vs_vendor_text(record)});
  }
  cells.emplace_back(name(outcome.kind));
  cells.push_back(outcome.record ? outcome.record->family + " " + to_text(outcome.record->config)
                                 : first_line(outcome.failure, kFailureWidth));
  cells.push_back(outcome.record ? outcome.record->remark : "");
  return cells;
}

std::vector<std::string> row(const Outcome& outcome) {
  const Problem& problem = outcome.shape.problem;
  std::vector<std::string> cells{shape_text(problem), types_text(problem)};
  if (!outcome.record) {
    cells.insert(cells.end(), {"-", "-", "", "-", "-"});
  } else {
    const Record& record = *outcome.record;
    const double us = record.measurement.median_us;
    cells.insert(cells.end(),
                 {kernel_text(record), time_text(us), vs_vendor_text(record),
                  spread_text(record.measurement), speedup_text(record.default_us, us)});
  }
  cells.push_back(epilogue_text(problem));
  cells.emplace_back(name(outcome.kind));
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

void print_comparisons(std::ostream& out, const Session& session) {
  std::vector<double> speedups;
  std::map<std::string, int> missing;
  for (const Outcome& outcome : session.outcomes) {
    if (!outcome.not_compared.empty()) {
      ++missing[outcome.not_compared];
    } else if (outcome.record && outcome.record->vendor == session.vendor) {
      speedups.push_back(outcome.record->vendor_us / outcome.record->measurement.median_us);
    }
  }
  out << std::ranges::count_if(speedups, [](double speedup) { return speedup > 1; }) << " of "
      << speedups.size() << " compared winners are faster than " << session.vendor;
  if (!speedups.empty()) {
    out << " (" << speedup_text(median(speedups), 1) << " at the median)";
  }
  for (const auto& [reason, number] : missing) {
    out << "; " << number << " not compared: " << reason;
  }
  out << ".\n";
}

auto count(const Session& session, TuneResult::Kind kind) {
  return std::count_if(session.outcomes.begin(), session.outcomes.end(),
                       [&](const Outcome& outcome) { return outcome.kind == kind; });
}

void extend(AutoLadder& ladder, const Layer& layer, SessionRun& run, std::size_t device,
            const SessionOptions& options) {
  std::size_t added = 0;
  std::optional<Rung> rung = ladder.next(options.ladder_loss);
  for (; rung && run.goes_on(device); rung = ladder.next(options.ladder_loss)) {
    TuneOptions few = options.shape;
    few.rigor = Rigor::kModel;
    few.candidates = rung->candidates;
    run.tune(device, rung->shape, few);
    ++added;
  }
  const auto percent = [](double loss) { return rounded_text(100 * loss) + " %"; };
  const double loss = rung ? rung->expected_loss : options.ladder_loss;
  run.note(shape_text(to_named_problem(layer.fields)) + ": " + counted(added, "value") +
           " of M added; at any other M the stored kernels are expected to take at most " +
           percent(loss) + " longer than the best" +
           (rung ? ", more than the " + percent(options.ladder_loss) + " of --ladder-loss" : ""));
}

}  // namespace

std::string devices_text(std::span<Context* const> contexts) {
  const std::string number = contexts.size() > 1 ? std::to_string(contexts.size()) + " " : "";
  return number + contexts.front()->device().identity().name;
}

Session tune_shapes(std::span<Context* const> contexts, const WorkList& work,
                    const SessionOptions& options, const std::vector<bool>& is_tuned) {
  ShapeQueue queue(tuning_order(work.shapes, options.total_seconds > 0), is_tuned, contexts.size());
  SessionRun run(contexts, options, work.shapes.size(), queue.to_tune());
  std::atomic<std::size_t> next_layer{0};
  std::vector<std::unique_ptr<Ladders>> ladders;
  for (Context* const context : contexts) {
    ladders.push_back(std::make_unique<Ladders>(*context, work.layers, next_layer));
  }
  const auto tune = [&](std::size_t device, const ShapeQueue::Turn& turn) {
    TuneOptions with_next = options.shape;
    if (turn.next) {
      with_next.next = canonical(work.shapes[*turn.next].problem);
    }
    run.tune(device, turn.shape, work.shapes[turn.shape], with_next);
  };
  concurrently(contexts.size(), [&](std::size_t device) {
    for (auto turn = queue.take(device); turn; turn = queue.take(device)) {
      tune(device, *turn);
      if (run.has_failed(device)) {
        return;
      }
    }
  });
  // If all devices have failed, shapes are left. Their winners may be in the cache.
  for (auto turn = queue.take(0); turn; turn = queue.take(0)) {
    tune(0, *turn);
  }
  concurrently(contexts.size(), [&](std::size_t device) {
    while (run.goes_on(device)) {
      const Ladders::Prepared next = ladders[device]->take_next();
      if (next.layer == nullptr) {
        return;
      }
      extend(*next.ladder, *next.layer, run, device, options);
    }
  });
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
               {"vs vendor", Align::kRight},
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
               {"vs vendor", Align::kRight},
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

void print_summary(std::ostream& out, const Session& session, std::span<Context* const> contexts) {
  const auto tuned = count(session, TuneResult::Kind::kTuned);
  const auto elsewhere = count(session, TuneResult::Kind::kElsewhere);
  const auto cached = count(session, TuneResult::Kind::kCached);
  const auto failed = count(session, TuneResult::Kind::kFailed);
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
  out << counted(session.outcomes.size(), "shape") << " on " << devices_text(contexts) << ": "
      << tuned << " tuned in " << duration_text(session.seconds) << ", " << cached
      << " already in the cache";
  if (elsewhere > 0) {
    out << ", " << elsewhere << " tuned by another process";
  }
  out << ", " << failed << " without a winner.\n";
  if (cached > 0 && tuned == 0 && failed == 0) {
    out << "Nothing was tuned: every shape already had a winner in the cache.\n";
  }
  print_kept_defaults(out, session);
  if (!session.vendor.empty()) {
    print_comparisons(out, session);
  }
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
}

void print_json(std::ostream& out, const Session& session) {
  Json array = Json::array();
  for (const Outcome& outcome : session.outcomes) {
    Json entry{{"name", outcome.shape.name},
               {"problem", to_text(outcome.shape.problem)},
               {"outcome", name(outcome.kind)}};
    entry["record"] = outcome.record ? to_json(*outcome.record) : Json(nullptr);
    entry["failure"] = outcome.failure;
    entry["kept_default"] =
        outcome.kept_default.empty() ? Json(nullptr) : Json(outcome.kept_default);
    array.push_back(std::move(entry));
  }
  out << json_text(array, 2) << '\n';
}

}  // namespace tunedgemm::internal
