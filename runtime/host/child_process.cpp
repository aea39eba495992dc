#include "runtime/host/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace tunedgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 64 << 10;

void throw_if(int error, const std::string& what) {
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), what);
  }
}

class Pipe {
 public:
  [[nodiscard]] Pipe() { throw_if(pipe2(ends_.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe2"); }
  ~Pipe() {
    close_writing();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) {
      close(ends_[1]);
      ends_[1] = -1;
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// What posix_spawn is told: where the output goes, and to start a new process group.
class SpawnSettings {
 public:
  [[nodiscard]] explicit SpawnSettings(int output) {
    throw_if(posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

pid_t start(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn does not write to it
  }
  pointers.push_back(nullptr);
  const SpawnSettings settings(output);
  pid_t child = 0;
  throw_if(posix_spawn(&child, pointers[0], settings.actions(), settings.attributes(),
                       pointers.data(), environ),
           "cannot start " + arguments[0]);
  return child;
}

// Until everybody who could write has closed the pipe. False if the time is over before.
bool read_all(int pipe, Clock::time_point deadline, std::string& output) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return false;
    }
    pollfd readable{pipe, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(left));
    if (ready <= 0) {
      continue;  // interrupted, or the deadline is here
    }
    std::array<char, 4096> chunk{};
    const ssize_t bytes = read(pipe, chunk.data(), chunk.size());
    if (bytes == 0 || (bytes < 0 && errno != EINTR)) {
      return true;
    }
    if (bytes > 0 && output.size() < kMostOutput) {
      output.append(chunk.data(), static_cast<std::size_t>(bytes));
    }
  }
}

// The wait status; 0 where the program that we are part of collects children itself.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return 0;
    }
  }
  return status;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds limit) {
  Pipe pipe;
  const pid_t child = start(arguments, pipe.writing());
  pipe.close_writing();

  ChildResult result;
  const bool ended = read_all(pipe.reading(), Clock::now() + limit, result.output);
  if (!ended) {
    kill(-child, SIGKILL);
  }
  const int status = wait_for(child);
  if (!ended) {
    result.end = ChildResult::End::kTimedOut;
  } else if (WIFSIGNALED(status)) {
    result.end = ChildResult::End::kSignalled;
    result.code = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace tunedgemm
