#pragma once

// Caller: in a process started as a ChildProcess, the connection to the process that started it.
// They exchange lines over a socket, the child's standard input. A process does not outlive its
// caller.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tunedgemm::internal {

/// Thread-safe. Copies share the connection.
class Caller {
 public:
  /// Starts the reading thread. The input ends when the caller ends, for whatever reason. This
  /// process then has the time `grace` to exit, after which it is killed with its process group.
  /// Throws std::system_error if it gets no descriptor or no thread.
  explicit Caller(std::chrono::milliseconds grace);

  /// Sends a line. No effect if the caller has ended.
  void send(std::string line) const noexcept;
  /// Waits for the next line; empty at the end of the input.
  std::optional<std::string> receive() const;
  /// Whether receive() would return at once: with a line, or at the end of the input.
  bool has_spoken() const;

 private:
  struct Link;
  std::shared_ptr<Link> link_;
};

}  // namespace tunedgemm::internal
