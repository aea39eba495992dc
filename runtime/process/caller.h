#pragma once

// Caller: the process that has started this one as a ChildProcess, as this one sees it: lines over
// the socket that is the standard input. This process does not outlive its caller.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tunedgemm::internal {

/// Any thread may use it. Copies are of the same caller.
class Caller {
 public:
  /// Starts the thread that reads. When the input ends, as it does when the caller ends in whatever
  /// way, this process has so much time to end by itself, and is then killed with its group. Throws
  /// std::system_error if there is no descriptor or no thread for that.
  explicit Caller(std::chrono::milliseconds grace);

  /// Sends a line. If the caller has gone, nothing happens.
  void send(std::string line) const noexcept;
  /// Waits for the next line; empty at the end of the input.
  std::optional<std::string> receive() const;
  /// Whether there is a line to receive, or the end of the input.
  bool has_spoken() const;

 private:
  struct Link;
  std::shared_ptr<Link> link_;
};

}  // namespace tunedgemm::internal
