#include "runtime/tuning/tuning_worker.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "kernel_templates/base/log.h"
#include "runtime/evaluation/watched_evaluator.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

using Clock = std::chrono::steady_clock;

// The interval at which TuneOptions::cancelled is polled.
constexpr std::chrono::milliseconds kCancelPollInterval{100};

// These signals come from outside (a user, the OOM killer), not from a candidate.
bool is_from_outside(const ChildResult& result) {
  constexpr int kSignals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
  return result.end == ChildResult::End::kSignalled &&
         std::find(std::begin(kSignals), std::end(kSignals), result.code) != std::end(kSignals);
}

std::string seconds_text(double seconds) {
  return std::to_string(static_cast<int>(seconds)) + " s";
}

}  // namespace

TuningWorker::TuningWorker(std::vector<std::string> command, const WorkerPlace& place, Store& store,
                           std::chrono::milliseconds slack)
    : command_(std::move(command)), store_(store), slack_(slack) {
  const std::vector<std::string> arguments = to_arguments(place);
  command_.insert(command_.end(), arguments.begin(), arguments.end());
}

TuningWorker::~TuningWorker() {
  if (child_) {
    child_->close_input();
    child_->finish(Clock::now() + std::chrono::seconds(1));
  }
}

void TuningWorker::start() {
  std::vector<std::string> variables;
  try {
    variables.push_back("TMPDIR=" + folder_.emplace().path().string());
  } catch (const std::system_error&) {
    folder_.reset();  // the worker inherits TMPDIR
  }
  child_ = std::make_unique<ChildProcess>(command_, ChildLimits{.file_bytes = 0}, variables);
}

TuneResult TuningWorker::tune(const TuningKey& key, const TuneOptions& options) {
  const CanonicalProblem& problem = key.problem;
  TuneResult lost;
  Loss last;
  for (int workers = 0;
       workers < kMostWorkers && last.cause != Cause::kTimeLimit && !lost.tuning.cancelled;
       ++workers) {
    WorkerConversation conversation(options);
    const bool is_new = child_ == nullptr;
    if (is_new) {
      start();
    }
    const std::optional<Loss> loss = talk(problem, options, conversation);
    if (!loss) {
      return std::move(conversation.result());
    }
    child_.reset();
    last = *loss;
    if (is_new && !conversation.has_spoken() && last.cause == Cause::kCandidate) {
      throw std::system_error(EPROTO, std::generic_category(),
                              command_.front() + " is not a worker: " + last.failure);
    }
    record_loss(key, conversation.at_work(), last);
    lost.tuning.cancelled = options.cancelled && options.cancelled();
  }
  lost.tuning.failure = "the worker that tuned " + to_text(problem) + " was lost: " + last.failure;
  return lost;
}

std::optional<TuningWorker::Loss> TuningWorker::talk(const CanonicalProblem& problem,
                                                     const TuneOptions& options,
                                                     WorkerConversation& conversation) {
  using Next = WorkerConversation::Next;
  using Received = ChildProcess::Received;
  const double expected_seconds =
      search_limits_of(options.rigor, options.budget).seconds + filling_seconds(problem);
  const std::chrono::duration<double> limit =
      slack_ + std::chrono::duration<double>(std::min(2 * expected_seconds, kLongestLimitSeconds));
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  bool is_connected = child_->send(to_lines(problem, options)), is_cancelled = false;
  std::string line;
  while (is_connected) {
    const Received received = child_->receive(
        line, std::min({Clock::now() + kCancelPollInterval, conversation.hung_at(), deadline}));
    if (received == Received::kEnd) {
      break;
    }
    if (received == Received::kLine) {
      const Next next = conversation.take(line);
      if (next == Next::kDone) {
        return std::nullopt;
      }
      is_connected = next != Next::kLost;
    } else if (Clock::now() >= conversation.hung_at()) {
      return Loss{"it did not return within " + seconds_text(conversation.seconds()) +
                  ", and its process was killed"};
    }
    if (child_->is_stopped()) {
      return Loss{"a signal had stopped its process, which was killed", Cause::kOutside};
    }
    if (Clock::now() >= deadline) {
      return Loss{"it did not finish within " + seconds_text(limit.count()) + " and was killed",
                  Cause::kTimeLimit};
    }
    if (!is_cancelled && options.cancelled && options.cancelled()) {
      is_cancelled = true;
      is_connected = child_->send(std::string(kCancelLine));
    }
  }
  child_->close_input();
  // A worker that has reported a failure, or sent garbage, is not waited for.
  const auto patience =
      conversation.failure().empty() ? ChildProcess::kExitTimeout : std::chrono::seconds(0);
  const ChildResult result = child_->finish(Clock::now() + patience);
  return Loss{
      conversation.failure().empty() ? "its process " + to_text(result) : conversation.failure(),
      is_from_outside(result) ? Cause::kOutside : Cause::kCandidate};
}

void TuningWorker::record_loss(const TuningKey& key, const std::string& at_work, const Loss& loss) {
  const std::optional<Candidate> candidate = parse_candidate(at_work);
  log_info("a worker that tuned " + to_text(key.problem) + " was lost" +
           (candidate ? " while running " + at_work : std::string()) + ": " + loss.failure);
  if (candidate) {
    TrialRecord trial;
    trial.family = candidate->family->name();
    trial.config = candidate->config;
    trial.family_fingerprint = candidate->family->fingerprint();
    trial.rejection = Rejection{
        loss.cause == Cause::kCandidate ? Reason::kCrashed : Reason::kUnavailable, loss.failure};
    store_.put_trial(key, trial);
  }
  store_.flush();  // the next worker reads the file
}

}  // namespace tunedgemm::internal
