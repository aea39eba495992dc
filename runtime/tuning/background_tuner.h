#pragma once

// BackgroundTuner: the thread of a context that tunes what its calls have missed, while nobody
// calls the context.
//
// Any number of threads may use it; note_call() is part of the hot path. The thread is started by
// the first problem, and what goes wrong on it reaches nobody but the log.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

class BackgroundTuner {
 public:
  enum class Outcome {
    kDone,   ///< the problem need not come again
    kAgain,  ///< it was interrupted, or another process is at it
  };
  /// Asked between candidates: waits while the context is called, and says whether to end.
  using MustEnd = std::function<bool()>;
  /// Tunes one problem; called on the thread. May throw: a lost device (DeviceError kFailed) ends
  /// all tuning, anything else this problem's.
  using Tune = std::function<Outcome(const Problem& problem, const MustEnd& must_end)>;

  /// Nobody calls the context if nobody has for so long: longer than the gaps within a burst of
  /// calls, shorter than those between the requests to a service that is not busy.
  static constexpr std::chrono::milliseconds kQuiet{100};

  explicit BackgroundTuner(Tune tune, std::chrono::milliseconds quiet = kQuiet);
  /// stop()
  ~BackgroundTuner();
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  /// Tunes the problem some time, unless it was added before. Nothing happens after stop().
  void add(const Problem& canonical);
  /// Ends all tuning for good; waits for the candidate that is at work.
  void stop() noexcept;

  /// The context is called now.
  void note_call() noexcept {
    if (!called_lately_.load(std::memory_order_relaxed)) [[unlikely]] {
      called_lately_.store(true, std::memory_order_relaxed);
    }
  }

  /// While it lives, a caller wants to tune at once: the thread ends what it does and waits.
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
  Outcome tune(State& state, const Problem& problem);
  bool must_end(State& state);

  Tune tune_;
  std::chrono::milliseconds quiet_;
  std::atomic<bool> called_lately_{true};
  std::unique_ptr<State> state_;
};

}  // namespace tunedgemm::internal
