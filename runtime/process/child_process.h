#pragma once

// ChildProcess: a running program. The library starts every program this way.
//
// The program's standard input, output and error are one end of a socket pair; this process has the
// other end. The program leads a new process group, which its children join. The program dumps no
// core and blocks no signal; SIGTERM and similar signals have their default effect. The destructor
// kills the process group. If this process is killed first, a program of this library exits at the
// end of its input (Caller), and the system kills the group of a program that run_child() started.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tunedgemm::internal {

struct ChildResult {
  static constexpr std::size_t kMostOutput = 64 << 10;

  enum class End { kExited, kSignalled, kTimedOut };
  End end = End::kExited;
  int code = 0;        ///< the exit status, or the signal's number
  std::string output;  ///< at most kMostOutput bytes
};

/// "was killed by signal 11 (Segmentation fault)", "exited with status 3", "was stopped".
std::string to_text(const ChildResult& result);

struct ChildLimits {
  std::chrono::milliseconds time{};
  std::int64_t file_bytes = std::int64_t{16} << 20;  ///< of each written file; 0: no limit
  std::chrono::seconds cpu{};                        ///< of each process; 0: no limit
  /// Whether the system kills the group when this process ends, however it ends. Otherwise the
  /// program must notice the end of its input.
  bool dies_with_caller = false;
};

/// Used by one thread at a time.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts `arguments[0]`, a path, in environment_of_children() with the `variables`
  /// ("NAME=value") set. `limits.time` begins now. Throws std::system_error.
  [[nodiscard]] ChildProcess(const std::vector<std::string>& arguments, const ChildLimits& limits,
                             const std::vector<std::string>& variables = {});
  /// Kills the group.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends the line and a newline. False if the program has ended or does not read.
  bool send(const std::string& line) noexcept;
  /// Ends the program's input.
  void close_input() noexcept;

  enum class Received { kLine, kNothing, kEnd };
  /// kLine: `line` is the next line, without its newline. kNothing: no line before the deadline.
  /// kEnd: the program has closed its end of the socket, or its line exceeds 1 MiB.
  Received receive(std::string& line, Clock::time_point deadline);

  /// Whether the program has ended, as far as it is known without waiting.
  bool has_ended() const { return pid_ < 0 || !runs(); }
  /// Whether a signal such as SIGSTOP has stopped the program, so that it may never continue.
  bool is_stopped() const;

  /// How long to wait in finish() after Received::kEnd: a crash closes the socket shortly before
  /// the process ends.
  static constexpr std::chrono::seconds kExitTimeout{2};

  /// Reads the program's output until the program has ended. At the deadline the program's group
  /// gets SIGTERM, and SIGKILL 100 ms later. If the program ends earlier, the rest of its group
  /// gets SIGKILL. Stops waiting 5 s after SIGKILL, because a driver may block the process.
  ChildResult finish() { return finish(deadline_); }
  ChildResult finish(Clock::time_point deadline);

 private:
  bool runs() const;
  bool ends_within(std::chrono::milliseconds time) const;
  void signal_group(int signal) const;
  bool read_until_end(Clock::time_point deadline);
  void limit(int resource, std::int64_t most) const;
  void kill_group_with_caller(int read_end) const;

  Clock::time_point deadline_;
  pid_t pid_ = -1;  ///< -1 after finish()
  int socket_ = -1;
  int lifeline_ = -1;     ///< the end of a pipe whose closing kills the group; -1: none
  std::string received_;  ///< input that receive() has not returned yet
  ChildResult result_;
};

/// Runs a program with an empty input and waits for its end, at most for `limits.time`. Its group
/// dies with this process.
ChildResult run_child(const std::vector<std::string>& arguments, ChildLimits limits,
                      const std::vector<std::string>& variables = {});

/// Continues as the program `path` with these arguments, in environment_of_children() with the
/// `variables` set. Returns only if that fails; errno says why.
void replace_process(const std::filesystem::path& path, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& variables);

/// The path of a program: `name` if it contains a slash, else the first match in $PATH. Empty if
/// there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace tunedgemm::internal
