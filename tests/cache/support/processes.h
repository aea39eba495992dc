#pragma once

// Several processes that each run a function of the test, connected by one pipe.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// Forked children of the test, which must not have a store open. The destructor kills them and
/// waits for them.
class Processes {
 public:
  /// Sends a line to the parent.
  using Say = std::function<void(const std::string& line)>;
  /// Starts `count` processes. Once all have started, each calls `body` with its own number, 0 to
  /// `count` - 1. `body` returns its failure, or an empty string.
  [[nodiscard]] Processes(int count,
                          const std::function<std::string(int number, const Say& say)>& body);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Waits for at least one line, which wait() will still return.
  void wait_for_a_line();
  /// Sends SIGKILL to the process with this number.
  void kill(int number);
  /// Waits until all processes have ended. Returns the lines that they sent with `say`.
  std::vector<std::string> wait();
  /// After wait(): the failures that `body` returned, and a line for each process that ended
  /// abnormally for another reason than SIGKILL.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  bool read_some();

  std::vector<pid_t> children_;
  int lines_ = -1;    // the reading end of the pipe that all children write to
  std::string text_;  // the text read from the pipe
  std::vector<std::string> complaints_;
};

}  // namespace tunedgemm::internal
