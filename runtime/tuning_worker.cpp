#include "runtime/tuning_worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "kernel_templates/log.h"

namespace tunedgemm {
namespace {

using Clock = std::chrono::steady_clock;

// For a device that is opened, with all that a driver does when it is first used.
constexpr double kOpeningSeconds = 120;
constexpr int kMostStarts = 3;
// Without a candidate at work: compilations end within their own limits, the longest in ten minutes.
constexpr double kQuietSeconds = 900;
// Of one that has closed its socket, which a crash does a moment before it is over.
constexpr std::chrono::seconds kUntilGone{2};

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e6)));
}

// Whoever ends a process so does not mean the candidate: a user, or a machine without memory.
bool is_from_outside(const ChildResult& result) {
  const auto is = [&](int signal) { return result.code == signal; };
  return result.end == ChildResult::End::kSignalled &&
         (is(SIGKILL) || is(SIGTERM) || is(SIGINT) || is(SIGHUP));
}

std::string text_of(const ChildResult& result) {
  switch (result.end) {
    case ChildResult::End::kSignalled:
      return "its process was ended by signal " + std::to_string(result.code) + " (" +
             strsignal(result.code) + ")";
    case ChildResult::End::kExited:
      return "its process ended with status " + std::to_string(result.code);
    case ChildResult::End::kTimedOut:
      break;
  }
  return "its process was ended";
}

// Throws DeviceError if it has no device.
bool is_ready(TalkingChild& child) {
  const Clock::time_point deadline = after(kOpeningSeconds);
  std::string text;
  while (child.hear(text, deadline) == TalkingChild::Heard::kLine) {
    LineReader line(text);
    const std::string_view word = line.word();
    if (word == "ready") {
      return true;
    }
    if (word == "no-device") {
      const auto kind = static_cast<DeviceError::Kind>(line.integer());
      throw DeviceError(kind, "the worker process cannot open the device: " + line.rest());
    }
  }
  return false;
}

}  // namespace

// About one problem.
struct TuningWorker::Conversation {
  Conversation(const Problem& asked, const TuneOptions& how) : problem(asked), options(how) {}

  const Problem& problem;
  const TuneOptions& options;
  TuneResult result;
  Clock::time_point silence_until;
  bool has_begun = false;
  bool is_done = false;
  std::string at_work;  ///< the candidate
  double seconds = 0;   ///< after which it has hung
  std::string failure;  ///< how the worker was lost
  bool is_from_outside = false;
};

TuningWorker::TuningWorker(std::vector<std::string> command, const WorkerPlace& place, Store& store)
    : command_(std::move(command)), store_(store) {
  const std::vector<std::string> arguments = to_arguments(place);
  command_.insert(command_.end(), arguments.begin(), arguments.end());
}

TuningWorker::~TuningWorker() = default;

void TuningWorker::start() {
  ChildResult result;
  // One that is killed from outside while it starts says nothing about the next.
  for (int attempts = 0; attempts < kMostStarts; ++attempts) {
    auto child = std::make_unique<TalkingChild>(command_);
    if (is_ready(*child)) {
      child_ = std::move(child);
      return;
    }
    result = child->end(kUntilGone);
    if (!is_from_outside(result)) {
      break;
    }
  }
  throw std::system_error(EPROTO, std::generic_category(),
                          command_.front() + " is no worker: " + text_of(result));
}

TuneResult TuningWorker::tune(const Problem& problem, const TuneOptions& options,
                              const DeviceIdentity& device, const Toolchain& toolchain) {
  TuneResult lost;
  std::string failure;
  for (int workers = 0; workers < kMostWorkers && !lost.tuning.cancelled; ++workers) {
    Conversation conversation(problem, options);
    if (child_ == nullptr) {
      start();
    }
    if (talk(conversation)) {
      return std::move(conversation.result);
    }
    child_.reset();
    // One that was idle for too long has left without having begun.
    if (conversation.has_begun) {
      blame(conversation, device, toolchain);
      failure = conversation.failure;
    }
    lost.tuning.cancelled = options.cancelled && options.cancelled();
  }
  lost.tuning.failure = "the worker that tuned " + to_text(problem) + " was lost: " + failure;
  return lost;
}

bool TuningWorker::talk(Conversation& conversation) {
  conversation.silence_until = after(kQuietSeconds);
  if (!child_->say(to_line(conversation.problem, conversation.options))) {
    return false;
  }
  std::string line;
  while (!conversation.is_done) {
    switch (child_->hear(line, conversation.silence_until)) {
      case TalkingChild::Heard::kLine:
        answer(conversation, line);
        break;
      case TalkingChild::Heard::kSilence:
        child_->end({});
        conversation.failure = conversation.at_work.empty()
                                   ? "it was silent for too long and was ended"
                                   : "it did not come back within " +
                                         std::to_string(static_cast<int>(conversation.seconds)) +
                                         " s, and its process was ended";
        return false;
      case TalkingChild::Heard::kEnd: {
        const ChildResult result = child_->end(kUntilGone);
        conversation.is_from_outside = is_from_outside(result);
        conversation.failure =
            conversation.failure.empty() ? text_of(result) : conversation.failure;
        return false;
      }
    }
  }
  return true;
}

void TuningWorker::answer(Conversation& conversation, std::string_view text) {
  LineReader line(text);
  const std::string_view word = line.word();
  const TuneOptions& options = conversation.options;
  if (word == "began") {
    conversation.has_begun = true;
  } else if (word == "progress" && options.on_progress) {
    Progress progress;
    progress.phase = static_cast<Phase>(line.integer());
    progress.done = line.integer();
    progress.total = line.integer();
    progress.best_us = line.number();
    options.on_progress(progress);
  } else if (word == "may-go-on") {
    child_->say(options.cancelled && options.cancelled() ? "no" : "yes");
  } else if (word == "running") {
    conversation.seconds = line.number();
    conversation.at_work = line.rest();
  } else if (word == "back") {
    conversation.at_work.clear();
  } else if (word == "warning") {
    log_warning(line.rest());
  } else if (word == "info") {
    log_info(line.rest());
  } else if (word == "device-failed") {
    conversation.failure = line.rest();  // and it ends
  } else if (word == "no-memory") {
    throw DeviceError(DeviceError::Kind::kOutOfMemory, line.rest());
  } else if (word == "unavailable") {
    throw DeviceError(DeviceError::Kind::kUnavailable, line.rest());
  } else if (word == "done") {
    TuneResult& result = conversation.result;
    result.origin = static_cast<TuneResult::Origin>(line.integer());
    result.tuning.cancelled = line.integer() != 0;
    result.is_leased_elsewhere = line.integer() != 0;
    result.is_unsaved = line.integer() != 0;
    result.tuning.failure = line.rest();
    conversation.is_done = true;
  }
  conversation.silence_until =
      after(conversation.at_work.empty() ? kQuietSeconds : conversation.seconds);
}

void TuningWorker::blame(const Conversation& conversation, const DeviceIdentity& device,
                         const Toolchain& toolchain) {
  const Problem& problem = conversation.problem;
  // The lease of a dead process is taken over with what it marked.
  { const Lease taken = store_.acquire(problem, device, toolchain, 0); }
  const std::optional<Candidate> candidate = parse_candidate(conversation.at_work);
  log_info("a worker that tuned " + to_text(problem) + " was lost" +
           (candidate ? " with " + conversation.at_work : std::string()) + ": " +
           conversation.failure);
  if (!candidate) {
    return;
  }
  TrialRecord trial;
  trial.family = candidate->family->name();
  trial.config = candidate->config;
  trial.family_fingerprint = candidate->family->fingerprint();
  trial.rejection = Rejection{
      conversation.is_from_outside ? Reason::kUnavailable : Reason::kCrashed, conversation.failure};
  store_.put_trial(problem, device, toolchain, trial);
  store_.flush();
}

}  // namespace tunedgemm
