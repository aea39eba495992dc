#include "runtime/tuning_worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "kernel_templates/base/log.h"

namespace tunedgemm::internal {
namespace {

using Clock = std::chrono::steady_clock;

// A worker greets before it does anything else. Another program, which may never say or end
// anything, holds a call for no longer.
constexpr std::chrono::seconds kUntilGreeting{2};
// For a device that is opened, with all that a driver does when it is first used.
constexpr std::chrono::seconds kOpening{120};
constexpr int kMostStarts = 3;
// Of one that has closed its socket, which a crash does a moment before it is over.
constexpr std::chrono::seconds kUntilGone{2};

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
  std::string text;
  if (child.hear(text, Clock::now() + kUntilGreeting) != TalkingChild::Heard::kLine ||
      text != kGreeting) {
    return false;
  }
  const Clock::time_point deadline = Clock::now() + kOpening;
  while (child.hear(text, deadline) == TalkingChild::Heard::kLine) {
    LineReader line(text);
    const std::string_view word = line.word();
    if (word == "ready") {
      return true;
    }
    if (word == "no-device") {
      const auto kind = line.enumerator(DeviceError::Kind::kFailed);
      throw DeviceError(kind.value_or(DeviceError::Kind::kUnavailable),
                        "the worker process cannot open the device: " + line.rest());
    }
    if (word != "warning" && word != "info") {
      return false;
    }
  }
  return false;
}

}  // namespace

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
    std::vector variables{"TUNEDGEMM_WORKER=" + std::string(kNoWorker)};
    child_.reset();
    try {
      variables.push_back("TMPDIR=" + folder_.emplace(0).path().string());
    } catch (const std::system_error&) {
      folder_.reset();  // it will find its own, or be without
    }
    auto child = std::make_unique<TalkingChild>(command_, variables);
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
    WorkerConversation conversation(options);
    if (child_ == nullptr) {
      start();
    }
    const std::optional<Loss> loss = talk(problem, options, conversation);
    if (!loss) {
      return std::move(conversation.result());
    }
    child_.reset();
    failure = loss->failure;
    // One that was idle for too long has left without having begun.
    if (conversation.has_begun()) {
      blame(problem, conversation.at_work(), *loss, device, toolchain);
    }
    lost.tuning.cancelled = options.cancelled && options.cancelled();
  }
  lost.tuning.failure = "the worker that tuned " + to_text(problem) + " was lost: " + failure;
  return lost;
}

std::optional<TuningWorker::Loss> TuningWorker::talk(const Problem& problem,
                                                     const TuneOptions& options,
                                                     WorkerConversation& conversation) {
  using Next = WorkerConversation::Next;
  bool is_there = child_->say(to_line(problem, options));
  std::chrono::milliseconds notice = kUntilGone;
  std::string line;
  while (is_there) {
    const TalkingChild::Heard heard = child_->hear(line, conversation.silence_until());
    if (heard == TalkingChild::Heard::kSilence) {
      child_->end({});
      const std::string seconds = std::to_string(static_cast<int>(conversation.seconds()));
      return Loss{conversation.at_work().empty()
                      ? "it was silent for too long and was ended"
                      : "it did not come back within " + seconds + " s, and its process was ended"};
    }
    const Next next = heard == TalkingChild::Heard::kLine ? conversation.take(line) : Next::kLost;
    if (next == Next::kDone) {
      return std::nullopt;
    }
    if (heard == TalkingChild::Heard::kLine && next == Next::kLost) {
      notice = {};  // it talks nonsense, and nobody waits for it
    }
    const bool is_asked = next == Next::kAnswerYes || next == Next::kAnswerNo;
    is_there =
        next != Next::kLost && (!is_asked || child_->say(next == Next::kAnswerYes ? "yes" : "no"));
  }
  const ChildResult result = child_->end(notice);
  return Loss{conversation.failure().empty() ? text_of(result) : conversation.failure(),
              is_from_outside(result)};
}

void TuningWorker::blame(const Problem& problem, const std::string& at_work, const Loss& loss,
                         const DeviceIdentity& device, const Toolchain& toolchain) {
  // The lease of a dead process is taken over with what it marked.
  { const Lease taken = store_.acquire(problem, device, toolchain, 0); }
  const std::optional<Candidate> candidate = parse_candidate(at_work);
  log_info("a worker that tuned " + to_text(problem) + " was lost" +
           (candidate ? " with " + at_work : std::string()) + ": " + loss.failure);
  if (!candidate) {
    return;
  }
  TrialRecord trial;
  trial.family = candidate->family->name();
  trial.config = candidate->config;
  trial.family_fingerprint = candidate->family->fingerprint();
  trial.rejection =
      Rejection{loss.is_from_outside ? Reason::kUnavailable : Reason::kCrashed, loss.failure};
  store_.put_trial(problem, device, toolchain, trial);
  store_.flush();
}

}  // namespace tunedgemm::internal
