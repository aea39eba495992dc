#include "runtime/context/watch.h"

#include <system_error>
#include <utility>

#include "kernel_templates/base/log.h"

namespace tunedgemm::internal {

Watch::Watch(Look look, std::chrono::milliseconds interval)
    : look_(std::move(look)), interval_(interval) {}

Watch::~Watch() {
  stop();
}

void Watch::start() {
  const std::scoped_lock lock(mutex_);
  if (is_stopped_ || is_wanted_) {
    return;
  }
  if (!thread_.joinable()) {
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error& error) {
      log_info(
          std::string(
              "winners of other processes, or calls, are not noticed, for want of a thread: ") +
          error.what());
      return;
    }
  }
  is_wanted_ = true;
  changed_.notify_all();
}

void Watch::stop() noexcept {
  const std::scoped_lock stopping(stop_mutex_);
  std::jthread ended;  // its destructor stops and joins the thread
  const std::scoped_lock lock(mutex_);
  is_stopped_ = true;
  ended.swap(thread_);
}

void Watch::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return is_wanted_; })) {
    changed_.wait_for(lock, stop, interval_, [] { return false; });
    if (stop.stop_requested()) {
      return;
    }
    is_wanted_ = false;
    lock.unlock();
    const bool looks_again = look_();
    lock.lock();
    is_wanted_ = is_wanted_ || looks_again;
  }
}

}  // namespace tunedgemm::internal
