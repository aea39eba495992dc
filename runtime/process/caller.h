#pragma once

// Caller: the connection of a child process (ChildProcess) to the process that started it. The two
// exchange lines over a socket, which is the child's standard input. The child outlives its caller
// at most by a grace period.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tunedgemm::internal {

/// Thread-safe. Copies share the connection.
class Caller {
 public:
  /// Starts a thread that reads the input. The input ends when the caller closes it or ends, for
  /// any reason. The thread then waits for the time `grace` and kills this process, with its
  /// process group if it leads one. Throws std::system_error if the system provides no descriptor
  /// or no thread.
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
