#include "runtime/host/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 64 << 10;
// Between a request to end, which lets a compiler remove its temporary files, and the order.
constexpr std::chrono::milliseconds kUntilKilled{100};
constexpr std::chrono::milliseconds kBetweenLooks{10};
constexpr std::size_t kLongestLine = 1 << 20;
// What SIGKILL does not end within this is held by a driver.
constexpr std::chrono::seconds kUntilDead{5};

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

// What posix_spawn is told: the input and the output (-1: none), a new process group, and signals
// as a program finds them that a shell starts, whatever this process ignores or blocks.
class SpawnSettings {
 public:
  [[nodiscard]] SpawnSettings(int input, int output) {
    throw_if(posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    connect(input, STDIN_FILENO, O_RDONLY);
    connect(output, STDOUT_FILENO, O_WRONLY);
    connect(output, STDERR_FILENO, O_WRONLY);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int ignored : {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGCHLD, SIGXCPU, SIGXFSZ}) {
      sigaddset(&signals, ignored);
    }
    posix_spawnattr_setsigdefault(&attributes_, &signals);
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
  void connect(int from, int to, int mode) {
    if (from < 0) {
      posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", mode, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, from, to);
    }
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // posix_spawn does not write to it
  }
  pointers.push_back(nullptr);
  return pointers;
}

// What children get, with these variables in place of those of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = environment_of_children();
  std::erase_if(all, [&](const std::string& inherited) {
    const std::string name = inherited.substr(0, inherited.find('=') + 1);
    return std::any_of(variables.begin(), variables.end(), [&](const std::string& variable) {
      return !name.empty() && variable.starts_with(name);
    });
  });
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

pid_t start(const std::vector<std::string>& arguments, const std::vector<std::string>& variables,
            int input, int output) {
  const SpawnSettings settings(input, output);
  const std::vector<std::string> environment = environment_with(variables);
  pid_t child = 0;
  throw_if(posix_spawn(&child, arguments.front().c_str(), settings.actions(), settings.attributes(),
                       pointers_to(arguments).data(), pointers_to(environment).data()),
           "cannot start " + arguments.front());
  return child;
}

// What a child starts inherits its limits. A limit that is lower already stays.
void limit(pid_t child, decltype(RLIMIT_FSIZE) resource, std::int64_t most) {
  rlimit now{};
  if (prlimit(child, resource, nullptr, &now) == 0) {
    const auto wanted = static_cast<rlim_t>(most);
    const rlimit limited{std::min(now.rlim_cur, wanted), std::min(now.rlim_max, wanted)};
    prlimit(child, resource, &limited, nullptr);
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

// Kills the group when this process dies, however it does. Nothing in this process could: so a
// shell waits until it can read the end of a pipe to which only this process can write. Where there
// is none to be had, an orphan lives on until it ends by itself.
class DeathWatch {
 public:
  [[nodiscard]] explicit DeathWatch(pid_t group) {
    try {
      alive_.emplace();
      watcher_ =
          start({"/bin/sh", "-c", "read -r line; kill -9 -\"$1\"", "sh", std::to_string(group)}, {},
                alive_->reading(), -1);
    } catch (const std::system_error&) {
      watcher_ = -1;
    }
  }
  ~DeathWatch() {
    if (watcher_ > 0) {
      kill(watcher_, SIGKILL);
      wait_for(watcher_);
    }
  }
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;

 private:
  std::optional<Pipe> alive_;
  pid_t watcher_ = -1;
};

// A child whose end is seen before it is waited for, so that the number of its group is its own.
class Child {
 public:
  enum class State { kRuns, kEnded, kCollectedElsewhere };

  explicit Child(pid_t pid) : pid_(pid) {}

  State state() const {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
      return errno == EINTR ? State::kRuns : State::kCollectedElsewhere;
    }
    return ended.si_pid == pid_ ? State::kEnded : State::kRuns;
  }

  bool runs() const { return state() == State::kRuns; }

  void signal_group(int signal) const {
    if (state() != State::kCollectedElsewhere) {
      kill(-pid_, signal);
    }
  }

 private:
  pid_t pid_;
};

// What the child says until it has ended, of which the first part is kept. Whether it ended in time:
// somebody else may have the pipe open for longer, and the child may close it before.
bool read_until_end(const Child& child, int pipe, Clock::time_point deadline, std::string& output) {
  bool is_open = true;
  while (true) {
    const bool runs = child.runs();
    pollfd readable{pipe, POLLIN, 0};
    const int wait_ms = runs ? static_cast<int>(kBetweenLooks.count()) : 0;
    if (!is_open) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(wait_ms, 1)));
    }
    const bool has_output = is_open && poll(&readable, 1, wait_ms) > 0;
    if (has_output) {
      std::array<char, 4096> chunk{};
      const ssize_t bytes = read(pipe, chunk.data(), chunk.size());
      is_open = bytes > 0 || (bytes < 0 && errno == EINTR);
      if (bytes > 0) {
        output.append(chunk.data(),
                      std::min(static_cast<std::size_t>(bytes), kMostOutput - output.size()));
      }
    }
    if (!runs && (!has_output || output.size() == kMostOutput)) {
      return true;
    }
    if (Clock::now() >= deadline) {
      return !child.runs();
    }
  }
}

ChildResult result_of(int status) {
  ChildResult result;
  if (WIFSIGNALED(status)) {
    result.end = ChildResult::End::kSignalled;
    result.code = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  return result;
}

bool ends_within(const Child& child, std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  while (child.runs()) {
    if (Clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, const ChildLimits& limits,
                      const std::vector<std::string>& variables) {
  const Clock::time_point deadline = Clock::now() + limits.time;
  ChildResult result;
  Pipe pipe;
  const pid_t pid = start(arguments, variables, -1, pipe.writing());
  const Child child(pid);
  pipe.close_writing();
  limit(pid, RLIMIT_FSIZE, limits.file_bytes);
  limit(pid, RLIMIT_CORE, 0);
  bool in_time = false;
  try {
    const DeathWatch watch(pid);
    in_time = read_until_end(child, pipe.reading(), deadline, result.output);
    if (!in_time) {
      child.signal_group(SIGTERM);
      ends_within(child, kUntilKilled);
    }
  } catch (...) {  // no descriptor or no memory for the above
    child.signal_group(SIGKILL);
    wait_for(pid);
    throw;
  }
  child.signal_group(SIGKILL);
  const int status = wait_for(pid);
  if (!in_time) {
    result.end = ChildResult::End::kTimedOut;
    return result;
  }
  ChildResult ended = result_of(status);
  ended.output = std::move(result.output);
  return ended;
}

class TalkingChild::Running {
 public:
  [[nodiscard]] Running(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& variables) {
    std::array<int, 2> ends{};
    throw_if(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0 ? 0 : errno,
             "socketpair");
    socket_ = ends[0];
    try {
      pid_ = start(arguments, variables, ends[1], -1);
    } catch (...) {
      close(ends[0]);
      close(ends[1]);
      throw;
    }
    close(ends[1]);
    limit(pid_, RLIMIT_CORE, 0);
    watch_.emplace(pid_);
  }
  ~Running() { close(socket_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  int socket() const { return socket_; }
  pid_t pid() const { return pid_; }

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
  std::optional<DeathWatch> watch_;
};

TalkingChild::TalkingChild(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& variables)
    : running_(std::make_unique<Running>(arguments, variables)) {}

TalkingChild::~TalkingChild() {
  end(std::chrono::seconds(1));
}

bool TalkingChild::say(const std::string& line) noexcept {
  if (!running_) {
    return false;
  }
  for (const std::string_view part : {std::string_view(line), std::string_view("\n")}) {
    for (std::string_view left = part; !left.empty();) {
      const ssize_t sent =
          send(running_->socket(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EINTR) {
        return false;
      }
      left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
  }
  return true;
}

TalkingChild::Heard TalkingChild::hear(std::string& line, Clock::time_point deadline) {
  while (running_) {
    if (const std::size_t end = heard_.find('\n'); end != std::string::npos) {
      line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return Heard::kLine;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{running_->socket(), POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (ready <= 0) {
      if (Clock::now() >= deadline) {
        return Heard::kSilence;
      }
      continue;
    }
    std::array<char, 4096> chunk{};
    const ssize_t bytes = recv(running_->socket(), chunk.data(), chunk.size(), 0);
    if (bytes == 0 || (bytes < 0 && errno != EINTR) || heard_.size() > kLongestLine) {
      break;
    }
    heard_.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  return Heard::kEnd;
}

ChildResult TalkingChild::end(std::chrono::milliseconds notice) {
  if (!running_) {
    return result_;
  }
  const Child child(running_->pid());
  shutdown(running_->socket(), SHUT_WR);
  const bool in_time = ends_within(child, notice);
  child.signal_group(SIGKILL);
  if (ends_within(child, kUntilDead)) {
    result_ = result_of(wait_for(running_->pid()));
  }
  if (!in_time) {
    result_ = {.end = ChildResult::End::kTimedOut, .code = 0, .output = {}};
  }
  running_.reset();
  return result_;
}

}  // namespace tunedgemm::internal
