#include "tools/tune_all/session.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "tools/shared/interrupt.h"

namespace tunedgemm::internal {
namespace {

// The time since the session began, against its limit.
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
  return clock.left() <= 0 ? "not tried: the total time was spent" : "";
}

TuneResult tune_one(Context& context, const Problem& problem, const SessionOptions& options,
                    const SessionClock& clock, ProgressDisplay& display) {
  TuneOptions tune_options = options.shape;
  tune_options.on_progress = [&](const Progress& progress) { display.shape_moves(progress); };
  tune_options.cancelled = [&] { return interrupted() || clock.left() <= 0; };
  return context.tune(problem, tune_options);
}

// A worker tries again to store what it could not.
void find_stored_later(Context& context, const SessionOptions& options, Session& session) {
  for (Outcome& outcome : session.outcomes) {
    if (!outcome.is_unsaved) {
      continue;
    }
    if (auto record = context.find_tuned(outcome.shape.problem, options.shape)) {
      outcome = {outcome.shape, TuneResult::Origin::kTuned, std::move(record), "", false};
    }
  }
}

}  // namespace

Session tune_shapes(Context& context, const std::vector<Shape>& shapes,
                    const SessionOptions& options, ProgressDisplay& display) {
  const SessionClock clock(options.total_seconds);
  Session session;
  for (const Shape& shape : shapes) {
    // What the cache has is told even when the time is over.
    const bool known = context.find_tuned(shape.problem, options.shape).has_value();
    if (const auto reason = why_not_go_on(clock, session); !known && !reason.empty()) {
      session.outcomes.push_back({shape, TuneResult::Origin::kFailed, std::nullopt, reason});
      continue;
    }
    display.shape_begins(shape);
    try {
      TuneResult result = tune_one(context, shape.problem, options, clock, display);
      display.shape_ends(result);
      session.outcomes.push_back({shape, result.origin, std::move(result.record),
                                  std::move(result.tuning.failure), result.is_unsaved});
    } catch (const DeviceError& error) {
      session.device_failure = error.what();
      session.outcomes.push_back({shape, TuneResult::Origin::kFailed, std::nullopt, error.what()});
    }
  }
  find_stored_later(context, options, session);
  display.finish();
  session.seconds = clock.spent();
  session.interrupted = interrupted();
  return session;
}

}  // namespace tunedgemm::internal
