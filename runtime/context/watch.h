#pragma once

// Watch: a thread that looks for something at an interval: for winners that other processes have
// stored, while plans wait for them, and at the calls, while $TUNEDGEMM_TOP wants to know of them.
//
// Thread-safe.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tunedgemm::internal {

class Watch {
 public:
  /// Called on the thread. Returns whether to look again. Must not throw.
  using Look = std::function<bool()>;

  static constexpr std::chrono::milliseconds kInterval{1000};

  explicit Watch(Look look, std::chrono::milliseconds interval = kInterval);
  /// Calls stop().
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Starts the thread, which looks once per interval as long as `look` wants it. No effect after
  /// stop(), or if the system refuses a thread.
  void start();
  /// Ends the thread for good; waits for a look in progress.
  void stop() noexcept;

 private:
  void run(const std::stop_token& stop);

  const Look look_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_wanted_ = false;
  bool is_stopped_ = false;
  std::mutex stop_mutex_;  ///< makes concurrent callers of stop() wait until the thread has ended
  std::jthread thread_;    ///< started by the first start()
};

}  // namespace tunedgemm::internal
