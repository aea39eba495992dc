#include "runtime/worker_conversation.h"

#include <algorithm>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/printable.h"
#include "runtime/device.h"
#include "runtime/worker_process.h"

namespace tunedgemm::internal {
namespace {

using Clock = std::chrono::steady_clock;

// Without a candidate at work: compilations end within their own limits, the longest in ten minutes.
constexpr std::chrono::minutes kQuiet{15};
// Of a process that runs, which says so every two seconds: one that is stopped does not.
constexpr std::chrono::seconds kMostWithoutHeartbeat{20};
constexpr double kMostSeconds = 1e6;
constexpr std::size_t kShownOfLine = 80;

}  // namespace

WorkerConversation::WorkerConversation(const TuneOptions& options) : options_(options) {
  listen_from_now();
}

WorkerConversation::Next WorkerConversation::take(std::string_view text) {
  LineReader line(text);
  const std::string_view word = line.word();
  if (word == "warning") {
    log_warning(line.rest());
    return Next::kListen;
  }
  if (word == "info") {
    log_info(line.rest());
    return Next::kListen;
  }
  if (word == "alive") {
    note_heartbeat();
    return Next::kListen;
  }
  has_begun_ = has_begun_ || word == "began";
  bool is_understood = has_begun_;
  if (!is_understood || word == "began" || word == "may-go-on") {
    // Nothing to keep.
  } else if (word == "progress") {
    is_understood = take_progress(line.left());
  } else if (word == "running") {
    seconds_ = std::clamp(line.number(), 0.0, kMostSeconds);
    at_work_ = line.rest();
  } else if (word == "back") {
    at_work_.clear();
  } else if (word == "device-failed") {
    failure_ = line.rest();  // and it ends
  } else if (word == "no-memory") {
    throw DeviceError(DeviceError::Kind::kOutOfMemory, line.rest());
  } else if (word == "unavailable") {
    throw DeviceError(DeviceError::Kind::kUnavailable, line.rest());
  } else {
    is_understood = word == "done" && take_result(line.left());
  }
  if (!is_understood) {
    failure_ = "it said \"" + printable(text.substr(0, kShownOfLine), Lines::kOne) +
               "\", which is not understood here; use tune-all of the library's own version";
    return Next::kLost;
  }
  if (word == "done") {
    return Next::kDone;
  }
  listen_from_now();
  if (word == "may-go-on") {
    return options_.cancelled && options_.cancelled() ? Next::kAnswerNo : Next::kAnswerYes;
  }
  return Next::kListen;
}

void WorkerConversation::listen_from_now() {
  lost_at_ = at_work_.empty() ? Clock::now() + kQuiet
                              : Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds_));
  note_heartbeat();
}

void WorkerConversation::note_heartbeat() {
  silence_until_ =
      at_work_.empty() ? std::min(lost_at_, Clock::now() + kMostWithoutHeartbeat) : lost_at_;
}

bool WorkerConversation::take_progress(std::string_view fields) {
  LineReader line(fields);
  const auto phase = line.enumerator(Phase::kDone);
  if (!phase) {
    return false;
  }
  Progress progress;
  progress.phase = *phase;
  progress.done = line.integer();
  progress.total = line.integer();
  progress.best_us = line.number();
  if (options_.on_progress) {
    options_.on_progress(progress);
  }
  return true;
}

bool WorkerConversation::take_result(std::string_view fields) {
  LineReader line(fields);
  const auto origin = line.enumerator(TuneResult::Origin::kFailed);
  if (!origin) {
    return false;
  }
  result_.origin = *origin;
  result_.tuning.cancelled = line.integer() != 0;
  result_.is_leased_elsewhere = line.integer() != 0;
  result_.is_unsaved = line.integer() != 0;
  result_.tuning.failure = line.rest();
  return true;
}

}  // namespace tunedgemm::internal
