#pragma once

// Several processes that run a function of the test each, with one file between them.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// Forked children of the test, which must have no store open itself. Killed and waited for when
/// destroyed.
class Processes {
 public:
  /// Starts `count` processes that wait for each other and then run `body` with their number. What
  /// `body` returns is what went wrong, if anything; `say` sends a line to the parent.
  using Say = std::function<void(const std::string& line)>;
  [[nodiscard]] Processes(int count,
                          const std::function<std::string(int number, const Say& say)>& body);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Waits for the first lines; wait() returns them too.
  void wait_for_a_line();
  /// Kills one with SIGKILL.
  void kill(int number);
  /// Waits until all have ended. The lines that they have sent, without those about what went
  /// wrong.
  std::vector<std::string> wait();
  /// After wait(): what went wrong in those that were not killed.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  bool read_some();

  std::vector<pid_t> children_;
  int lines_ = -1;    // the reading end of the pipe that all children write to
  std::string text_;  // what was read from it
  std::vector<std::string> complaints_;
};

}  // namespace tunedgemm::internal
