#include "tools/tune_all/progress_display.h"

#include <algorithm>
#include <iostream>

#include "kernel_templates/base/printable.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kLineWidth = 100;
constexpr auto kBetweenRewrites = std::chrono::milliseconds(100);

std::string bar(double share) {
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "]";
}

std::string result_text(const TuneResult& result) {
  if (!result.record) {
    return "no winner: " + first_line(result.tuning.failure, 200);
  }
  const Record& record = *result.record;
  const double us = record.measurement.median_us;
  return time_text(us) + ", " + gflops_text(flops(record.problem), us) + " GFLOP/s, " +
         record.family + " " + to_text(record.config);
}

std::string_view origin_text(TuneResult::Origin origin) {
  switch (origin) {
    case TuneResult::Origin::kTuned:
      return "tuned";
    case TuneResult::Origin::kCached:
      return "cached";
    case TuneResult::Origin::kElsewhere:
      return "tuned by another process";
    case TuneResult::Origin::kFailed:
      break;
  }
  return "failed";
}

}  // namespace

void ProgressDisplay::shape_begins(const Shape& shape) {
  shape_text_ =
      shape_text(shape) + " " + types_text(shape.problem) + " " + layout_text(shape.problem);
  last_rewrite_ = {};
  shape_moves({});
}

double ProgressDisplay::seconds_left() const {
  const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
  return tuned_ == 0 ? 0 : spent / tuned_ * (to_tune_ - tuned_);
}

void ProgressDisplay::shape_moves(const Progress& progress) {
  const auto now = Clock::now();
  if (style_ == Style::kLines || now - last_rewrite_ < kBetweenRewrites) {
    return;
  }
  last_rewrite_ = now;
  std::string text = bar(shapes_ == 0 ? 1 : static_cast<double>(ended_) / shapes_) + " " +
                     std::to_string(ended_ + 1) + "/" + std::to_string(shapes_) + "  " +
                     shape_text_ + "  " + std::string(name(progress.phase));
  if (progress.total > 0) {
    text += " " + std::to_string(progress.done) + "/" + std::to_string(progress.total);
  }
  if (progress.best_us > 0) {
    text += "  best " + time_text(progress.best_us);
  }
  if (tuned_ > 0) {
    text += "  " + duration_text(seconds_left()) + " left";
  }
  rewrite(text);
}

void ProgressDisplay::shape_ends(const TuneResult& result) {
  ++ended_;
  tuned_ += result.origin == TuneResult::Origin::kCached ? 0 : 1;
  const bool failed = result.origin == TuneResult::Origin::kFailed;
  if (style_ == Style::kLines) {
    std::clog << ended_ << "/" << shapes_ << "  " << shape_text_ << "  "
              << origin_text(result.origin) << ": " << printable(result_text(result), Lines::kOne);
    if (tuned_ > 0 && tuned_ < to_tune_) {
      std::clog << "  (" << duration_text(seconds_left()) << " left)";
    }
    std::clog << std::endl;
  } else if (failed) {
    rewrite(shape_text_ + "  " + result_text(result));
    std::clog << '\n';
  }
}

void ProgressDisplay::finish() {
  if (style_ == Style::kInPlace) {
    rewrite("");
  }
}

void ProgressDisplay::rewrite(const std::string& text) {
  // Cut to a line, so that the carriage return finds its beginning again.
  std::string line = printable(text, Lines::kOne);
  while (display_width(line) > kLineWidth) {
    line.pop_back();
  }
  constexpr std::string_view kEraseLine = "\r\x1b[2K";
  std::clog << kEraseLine << line << std::flush;
}

}  // namespace tunedgemm::internal
