#include "runtime/tuning/background_tuner.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "kernel_templates/base/log.h"
#include "runtime/device.h"

namespace tunedgemm::internal {
namespace {

// The pause after a tuning that must be retried.
constexpr std::chrono::seconds kRetryPause{1};
// If the context stays busy for this long, the tuning ends and returns its lease.
constexpr std::chrono::seconds kLongestWait{5};

}  // namespace

struct BackgroundTuner::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<CanonicalProblem> waiting;
  std::set<std::string> added;  ///< fingerprints of all problems ever added
  bool stopping = false;
  bool is_running = false;  ///< whether the thread runs
  int interruptions = 0;
  std::thread thread;

  bool is_interrupted() const { return stopping || interruptions > 0; }
};

BackgroundTuner::BackgroundTuner(Tune tune, std::chrono::milliseconds quiet)
    : tune_(std::move(tune)), quiet_(quiet), state_(std::make_unique<State>()) {}

BackgroundTuner::~BackgroundTuner() {
  stop();
}

void BackgroundTuner::add(const CanonicalProblem& problem) {
  State& state = *state_;
  const std::scoped_lock lock(state.mutex);
  if (state.stopping || !state.added.insert(fingerprint(problem)).second) {
    return;
  }
  state.waiting.push_back(problem);
  if (!state.thread.joinable()) {
    try {
      state.thread = std::thread([this, &state] { run(state); });
      state.is_running = true;
    } catch (const std::system_error& error) {
      state.stopping = true;
      log_warning(std::string("background tuning is off, its thread cannot be started: ") +
                  error.what());
    }
  }
  state.changed.notify_all();
}

void BackgroundTuner::stop() noexcept {
  State& state = *state_;
  std::thread ended;
  {
    std::unique_lock lock(state.mutex);
    state.stopping = true;
    ended.swap(state.thread);
    state.changed.notify_all();
    state.changed.wait(lock, [&] { return !state.is_running; });
  }
  if (ended.joinable()) {
    ended.join();
  }
}

void BackgroundTuner::run(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stopping || !state.waiting.empty(); });
    // The idle period starts now, so ignore earlier calls.
    bool is_quiet = false;
    while (!state.stopping && !is_quiet) {
      called_lately_.store(false, std::memory_order_relaxed);
      state.changed.wait_for(lock, quiet_, [&] { return state.stopping; });
      is_quiet = !called_lately_.load(std::memory_order_relaxed) && state.interruptions == 0;
    }
    if (state.stopping) {
      state.is_running = false;
      state.changed.notify_all();
      return;
    }
    const CanonicalProblem problem = state.waiting.front();
    state.waiting.pop_front();
    lock.unlock();
    const Outcome outcome = tune(state, problem);
    lock.lock();
    if (outcome == Outcome::kAgain) {
      state.waiting.push_back(problem);
      state.changed.wait_for(lock, kRetryPause, [&] { return state.stopping; });
    }
  }
}

BackgroundTuner::Outcome BackgroundTuner::tune(State& state, const CanonicalProblem& problem) {
  try {
    return tune_(problem, [this, &state] { return must_end(state); });
  } catch (const DeviceError& error) {
    log_warning("tuning " + to_text(problem) + " in the background: " + error.what());
    if (error.kind() == DeviceError::Kind::kLost) {
      const std::scoped_lock lock(state.mutex);
      state.stopping = true;
    }
  } catch (const std::exception& error) {
    log_warning("tuning " + to_text(problem) + " in the background: " + error.what());
  }
  return Outcome::kDone;
}

bool BackgroundTuner::must_end(State& state) {
  std::unique_lock lock(state.mutex);
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (!state.is_interrupted() && called_lately_.load(std::memory_order_relaxed)) {
    if (std::chrono::steady_clock::now() >= end) {
      return true;
    }
    called_lately_.store(false, std::memory_order_relaxed);
    state.changed.wait_for(lock, quiet_, [&] { return state.is_interrupted(); });
  }
  return state.is_interrupted();
}

BackgroundTuner::Interruption::Interruption(BackgroundTuner& tuner) : tuner_(tuner) {
  {
    const std::scoped_lock lock(tuner_.state_->mutex);
    ++tuner_.state_->interruptions;
  }
  tuner_.state_->changed.notify_all();
}

BackgroundTuner::Interruption::~Interruption() {
  const std::scoped_lock lock(tuner_.state_->mutex);
  --tuner_.state_->interruptions;
}

}  // namespace tunedgemm::internal
