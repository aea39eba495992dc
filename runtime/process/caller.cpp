#include "runtime/process/caller.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

namespace tunedgemm::internal {
namespace {

[[noreturn]] void end_with_group() {
  if (getpgrp() == getpid()) {
    kill(0, SIGKILL);
  }
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

struct Caller::Link {
  // Close-on-exec: programs started by this process must not inherit the socket.
  int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  std::mutex sending, mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  bool has_ended = false;

  void read_lines() {
    std::array<char, 4096> chunk{};
    std::string line;
    while (true) {
      const ssize_t bytes = read(socket, chunk.data(), chunk.size());
      if (bytes == 0 || (bytes < 0 && errno != EINTR)) {
        break;
      }
      for (ssize_t at = 0; at < bytes; ++at) {
        const char next = chunk[static_cast<std::size_t>(at)];
        if (next != '\n') {
          line += next;
          continue;
        }
        const std::scoped_lock lock(mutex);
        lines.push_back(std::move(line));
        line.clear();
        changed.notify_all();
      }
    }
    const std::scoped_lock lock(mutex);
    has_ended = true;
    changed.notify_all();
  }
};

Caller::Caller(std::chrono::milliseconds grace) : link_(std::make_shared<Link>()) {
  if (link_->socket < 0) {
    throw std::system_error(errno, std::generic_category(), "no standard input");
  }
  std::thread([link = link_, grace] {
    link->read_lines();
    std::this_thread::sleep_for(grace);
    end_with_group();
  }).detach();
}

void Caller::send(std::string line) const noexcept {
  line += '\n';
  const std::scoped_lock lock(link_->sending);
  for (std::string_view left = line; !left.empty();) {
    const ssize_t sent = ::send(link_->socket, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return;  // the reading thread handles the end
    }
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

std::optional<std::string> Caller::receive() const {
  std::unique_lock lock(link_->mutex);
  link_->changed.wait(lock, [this] { return !link_->lines.empty() || link_->has_ended; });
  if (link_->lines.empty()) {
    return std::nullopt;
  }
  std::string line = std::move(link_->lines.front());
  link_->lines.pop_front();
  return line;
}

bool Caller::has_spoken() const {
  const std::scoped_lock lock(link_->mutex);
  return !link_->lines.empty() || link_->has_ended;
}

}  // namespace tunedgemm::internal
