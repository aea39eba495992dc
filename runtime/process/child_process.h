#pragma once

// ChildProcess: the one way in which this library starts a program.
//
// The program's standard input, output and error are one end of a socket; this process reads and
// writes the other. It leads a process group of its own, to which its children belong, dumps no
// core, and finds signals as a shell leaves them. The group does not survive the object. A program
// of ours notices the end of this process by the end of its input (Caller); another program has a
// limit of CPU time for that case.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tunedgemm::internal {

struct ChildResult {
  enum class End { kExited, kSignalled, kTimedOut };
  End end = End::kExited;
  int code = 0;        ///< the exit status, or the signal's number
  std::string output;  ///< at most 64 KiB
};

/// "was ended by signal 11 (Segmentation fault)", "ended with status 3", "was stopped".
std::string to_text(const ChildResult& result);

struct ChildLimits {
  std::chrono::milliseconds time{};
  std::int64_t file_bytes = std::int64_t{64} << 20;  ///< of each file that it writes; 0: no limit
  std::chrono::seconds cpu{};                        ///< of each process; 0: no limit
};

/// Used by one thread at a time.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts `arguments[0]`, a path. Its environment is this process's, in which the `variables`
  /// ("NAME=value") are set. `limits.time` begins now. Throws std::system_error.
  [[nodiscard]] ChildProcess(const std::vector<std::string>& arguments, const ChildLimits& limits,
                             const std::vector<std::string>& variables = {});
  /// Kills the group.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends a line, to which the newline is added. False if the program has gone or does not read.
  bool send(const std::string& line) noexcept;
  /// The program finds its input at the end.
  void close_input() noexcept;

  enum class Received { kLine, kNothing, kEnd };
  /// The next line, without its newline; kNothing until the deadline, and kEnd when the program has
  /// closed its end or sends a line without end.
  Received receive(std::string& line, Clock::time_point deadline);

  /// Reads what the program says until it has ended, or until the time is over: then the group is
  /// asked to end and, a moment later, killed. What is left of the group is killed in any case. A
  /// process that does not die then, held by a driver, is left alone after some seconds.
  ChildResult finish() { return finish(deadline_); }
  ChildResult finish(Clock::time_point deadline);

 private:
  bool runs() const;
  bool ends_within(std::chrono::milliseconds time) const;
  void signal_group(int signal) const;
  bool read_until_end(Clock::time_point deadline);
  void limit(int resource, std::int64_t most) const;

  Clock::time_point deadline_;
  pid_t pid_ = -1;  ///< -1 when it has been waited for
  int socket_ = -1;
  std::string received_;  ///< no line has been made of it yet
  ChildResult result_;
};

/// Runs a program with an empty input to its end.
ChildResult run_child(const std::vector<std::string>& arguments, const ChildLimits& limits,
                      const std::vector<std::string>& variables = {});

/// The path of a program, searched for as a shell does; empty if there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace tunedgemm::internal
