#include "tools/tune_all/progress_display.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string_view>
#include <utility>

#include "kernel_templates/base/text.h"
#include "tools/shared/program.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr auto kBetweenRewrites = std::chrono::milliseconds(100);
// A line so narrow that fewer characters of the shape would fit has no bar.
constexpr std::size_t kLeastShape = 16;
// Before this time the progress says nothing about the time left.
constexpr double kLeastSecondsToEstimate = 1;
// The rest of a tuning is its finals.
constexpr double kShareOfScreening = 0.9;

constexpr std::string_view kStopping = "stopping after this candidate; Ctrl-C again: at once";

std::string bar_text(double share) {
  constexpr std::size_t kBarWidth = 10;
  const auto full = static_cast<std::size_t>(share * kBarWidth);
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '-') + "] ";
}

std::string phase_text(const Progress& progress) {
  std::string text = "  " + std::string(name(progress.phase));
  return progress.total > 0
             ? text + " " + std::to_string(progress.done) + "/" + std::to_string(progress.total)
             : text;
}

std::string result_text(const TuneResult& result) {
  if (!result.record) {
    return printable(first_line(result.tuning.failure, 200), Lines::kOne);
  }
  const Record& record = *result.record;
  const double us = record.measurement.median_us;
  return printable(time_text(us) + ", " + gflops_text(flops(record.problem), us) + " GFLOP/s, " +
                       record.family + " " + to_text(record.config),
                   Lines::kOne);
}

}  // namespace

std::string_view name(TuneResult::Kind kind) {
  switch (kind) {
    case TuneResult::Kind::kTuned:
      return "tuned";
    case TuneResult::Kind::kCached:
      return "cached";
    case TuneResult::Kind::kElsewhere:
      return "tuned elsewhere";
    case TuneResult::Kind::kFailed:
      break;
  }
  return "no winner";
}

std::string progress_line(const SessionProgress& progress, std::size_t width) {
  std::string times = std::to_string(progress.shape) + "/" + std::to_string(progress.shapes) +
                      "  " + duration_text(progress.elapsed_seconds);
  if (progress.seconds_left > 0 && !progress.is_stopping) {
    times += ", " + duration_text(progress.seconds_left) + " left";
  }
  times += "  ";
  if (progress.is_stopping) {
    return shortened(times + std::string(kStopping) + "  " + progress.shape_text, width);
  }
  const std::string bar = bar_text(progress.share);
  std::string line = display_width(bar + times) + kLeastShape <= width ? bar + times : times;
  line += progress.shape_text;
  const Progress tuning = progress.tuning.value_or(Progress{});
  const std::string phase = progress.tuning ? phase_text(tuning) : "";
  const std::string best = tuning.best_us > 0 ? "  best " + time_text(tuning.best_us) : "";
  for (const std::string& addition : {phase, best}) {
    if (display_width(line) + display_width(addition) > width) {
      break;
    }
    line += addition;
  }
  return shortened(line, width);
}

double share_of_tuning(const Progress& progress, double seconds,
                       const SearchLimits& search_limits) {
  const double of_phase =
      progress.total > 0 ? static_cast<double>(progress.done) / progress.total : 0;
  double share = kShareOfScreening * of_phase;
  if (progress.phase == Phase::kFinals) {
    share = kShareOfScreening + (1 - kShareOfScreening) * of_phase;
  } else if (progress.phase == Phase::kDone) {
    share = 1;
  }
  return std::clamp(std::max(share, seconds / search_limits.seconds), 0.0, 1.0);
}

ProgressDisplay::ProgressDisplay(std::size_t shapes, std::size_t to_tune, std::size_t devices,
                                 double total_seconds)
    : is_terminal_(isatty(STDERR_FILENO) != 0),
      shapes_(shapes),
      to_tune_(to_tune),
      total_seconds_(total_seconds),
      at_work_(devices) {}

double ProgressDisplay::seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void ProgressDisplay::shape_begins(std::size_t device, const NamedProblem& shape,
                                   const SearchLimits& search_limits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shapes_ = std::max(shapes_, ended_ + 1);  // a ladder's rung is not known before
  at_work_[device] = {.text = printable(shape_text(shape) + " " + types_text(shape.problem) + " " +
                                            layout_text(shape.problem),
                                        Lines::kOne),
                      .begin = Clock::now(),
                      .search_limits = search_limits,
                      .progress = {},
                      .share = 0};
  last_rewrite_ = {};
  show();
}

void ProgressDisplay::shape_progresses(std::size_t device, const Progress& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  at_work_[device].progress = progress;
  show();
}

double ProgressDisplay::share() const {
  double done = static_cast<double>(tuned_);
  for (const ShapeAtWork& shape : at_work_) {
    done += shape.share;
  }
  const double all = std::max(static_cast<double>(to_tune_), std::ceil(done));
  return all > 0 ? done / all : 0;
}

double ProgressDisplay::seconds_left() const {
  const double spent = seconds_since(begin_);
  const double done = share();
  const bool can_estimate = done > 0 && spent >= kLeastSecondsToEstimate;
  const double left = can_estimate ? spent / done * (1 - done) : 0;
  return total_seconds_ > 0 ? std::clamp(total_seconds_ - spent, 0.0, left) : left;
}

void ProgressDisplay::refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  show();
}

void ProgressDisplay::show() {
  const auto now = Clock::now();
  if (interrupted() && !is_stopping_) {
    is_stopping_ = true;
    last_rewrite_ = {};
    if (!is_terminal_) {
      std::clog << kStopping << std::endl;
    }
  }
  if (!is_terminal_ || now - last_rewrite_ < kBetweenRewrites) {
    return;
  }
  last_rewrite_ = now;
  std::string texts;
  for (ShapeAtWork& shape : at_work_) {
    if (!shape.text.empty()) {
      texts += (texts.empty() ? "" : ", ") + shape.text;
      // The number of candidates may grow; the bar does not move back.
      shape.share = std::max(
          shape.share,
          share_of_tuning(shape.progress, seconds_since(shape.begin), shape.search_limits));
    }
  }
  const bool is_single = at_work_.size() == 1;
  rewrite(
      progress_line({.shape = std::min(ended_ + 1, shapes_),
                     .shapes = shapes_,
                     .share = share(),
                     .elapsed_seconds = seconds_since(begin_),
                     .seconds_left = seconds_left(),
                     .shape_text = texts,
                     .tuning = is_single ? std::optional(at_work_.front().progress) : std::nullopt,
                     .is_stopping = is_stopping_},
                    line_width(STDERR_FILENO)));
}

void ProgressDisplay::shape_ends(std::size_t device, const TuneResult& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++ended_;
  tuned_ += result.kind == TuneResult::Kind::kCached ? 0 : 1;
  const std::string text = std::exchange(at_work_[device], {}).text;
  const bool failed = result.kind == TuneResult::Kind::kFailed;
  if (!is_terminal_) {
    std::clog << ended_ << "/" << shapes_ << "  " << text << "  " << name(result.kind) << ": "
              << result_text(result);
    if (tuned_ > 0 && tuned_ < to_tune_) {
      std::clog << "  (" << duration_text(seconds_left()) << " left)";
    }
    std::clog << std::endl;
  } else if (failed) {
    rewrite(text + "  " + std::string(name(result.kind)) + ": " + result_text(result));
    std::clog << '\n';
  }
}

void ProgressDisplay::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_terminal_) {
    rewrite("");
  }
}

void ProgressDisplay::rewrite(const std::string& text) {
  // Cut the line: a wrapped line could not be erased.
  constexpr std::string_view kEraseLine = "\r\x1b[2K";
  std::clog << kEraseLine << shortened(text, line_width(STDERR_FILENO)) << std::flush;
}

}  // namespace tunedgemm::internal
