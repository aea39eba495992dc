#pragma once

// Runs a program without a shell, reads what it says, and leaves nothing of it behind.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tunedgemm::internal {

struct ChildResult {
  enum class End { kExited, kSignalled, kTimedOut };
  End end = End::kExited;
  int code = 0;        ///< the exit status, or the signal's number
  std::string output;  ///< standard output and standard error, at most 64 KiB
};

struct ChildLimits {
  std::chrono::milliseconds time;
  /// Of each file that the program and its children write.
  std::int64_t file_bytes = std::int64_t{64} << 20;
};

/// Starts `arguments[0]` (a path) with the arguments, its standard input empty. Its environment is
/// this process's, in which the `variables` ("NAME=value") are set. Returns when the program has
/// ended or its time is over. It is the leader of a process group, which does not survive it: what
/// is left of the group is killed when the program ends, when its time is over, and when this
/// process dies. Throws std::system_error if it cannot be started.
ChildResult run_child(const std::vector<std::string>& arguments, const ChildLimits& limits,
                      const std::vector<std::string>& variables = {});

/// A program that runs beside this one and talks with it in lines. Its standard input is a socket,
/// on which it answers as well; its standard output and standard error lead nowhere. It leads a
/// process group as that of run_child, which survives neither this object nor this process. Used by
/// one thread at a time.
class TalkingChild {
 public:
  /// Starts `arguments[0]` (a path), with `variables` as run_child has them. Throws
  /// std::system_error if it cannot be started.
  [[nodiscard]] explicit TalkingChild(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& variables = {});
  /// Ends it, with a second's notice.
  ~TalkingChild();
  TalkingChild(const TalkingChild&) = delete;
  TalkingChild& operator=(const TalkingChild&) = delete;

  /// Sends a line, to which the newline is added. False if the program has gone, or has left so
  /// many lines unread that there is no room for this one: nobody waits for it.
  bool say(const std::string& line) noexcept;

  enum class Heard { kLine, kSilence, kEnd };
  /// The next line, without its newline; kSilence if none came before the deadline, and kEnd when
  /// the program has gone or talks nonsense.
  Heard hear(std::string& line, std::chrono::steady_clock::time_point deadline);

  /// Ends it: it finds its input at the end and, if it has not gone by itself after `notice`, is
  /// killed with its group (kTimedOut). One that does not even die then, as while a driver holds it,
  /// is left alone after some seconds.
  ChildResult end(std::chrono::milliseconds notice);

 private:
  class Running;
  std::unique_ptr<Running> running_;  ///< null when it has ended
  std::string heard_;                 ///< of which no line was made yet
  ChildResult result_;
};

}  // namespace tunedgemm::internal
