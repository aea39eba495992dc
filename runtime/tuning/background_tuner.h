#pragma once

// BackgroundTuner: a thread of the context that tunes the problems of cache misses while the
// context is idle.
//
// Thread-safe; note_call() is part of the hot path. Adding the first problem starts the thread.
// Errors on the thread are only logged.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

class BackgroundTuner {
 public:
  enum class Outcome {
    kDone,   ///< do not retry the problem
    kAgain,  ///< retry: the tuning was interrupted, or another process is tuning the problem
  };
  /// Called between candidates and rounds. Waits up to a few seconds while the context is busy.
  /// Returns whether the tuning must end.
  using MustEnd = std::function<bool()>;
  /// Tunes one problem; called on the thread. May throw: DeviceError(kLost) ends background tuning,
  /// and any other exception ends only the tuning of this problem.
  using Tune = std::function<Outcome(const CanonicalProblem& problem, const MustEnd& must_end)>;

  /// The context is idle after this long without a call: longer than the gaps within a burst of
  /// calls, shorter than the gaps between requests to a lightly loaded service.
  static constexpr std::chrono::milliseconds kQuiet{100};

  explicit BackgroundTuner(Tune tune, std::chrono::milliseconds quiet = kQuiet);
  /// Calls stop().
  ~BackgroundTuner();
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  /// Queues the problem, unless it was added before. No effect after stop().
  void add(const CanonicalProblem& problem);
  /// Ends background tuning for good. Waits until the running candidate has ended.
  void stop() noexcept;

  /// Notes that the context is being called.
  void note_call() noexcept {
    if (!called_lately_.load(std::memory_order_relaxed)) [[unlikely]] {
      called_lately_.store(true, std::memory_order_relaxed);
    }
  }

  /// A guard for a tuning in the foreground: while it lives, the thread stops its own tuning and
  /// waits.
  class [[nodiscard]] Interruption {
   public:
    explicit Interruption(BackgroundTuner& tuner);
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

   private:
    BackgroundTuner& tuner_;
  };

 private:
  struct State;

  void run(State& state);
  Outcome tune(State& state, const CanonicalProblem& problem);
  bool must_end(State& state);

  Tune tune_;
  std::chrono::milliseconds quiet_;
  std::atomic<bool> called_lately_{true};
  std::unique_ptr<State> state_;
};

}  // namespace tunedgemm::internal
