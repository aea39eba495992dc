#include "runtime/process/child_process.h"

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
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;
// The time between SIGTERM and SIGKILL, in which a compiler can remove its temporary files.
constexpr std::chrono::milliseconds kTerminationGrace{100};
constexpr std::chrono::milliseconds kPollInterval{10};
// If SIGKILL does not end a process within this time, a driver blocks it.
constexpr std::chrono::seconds kKillTimeout{5};

void throw_if(int error, const std::string& what) {
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), what);
  }
}

// The settings of posix_spawn: one socket for input, output and error, a new process group, no
// blocked signals, and the default effect of the listed signals, which this process may ignore.
class SpawnSettings {
 public:
  /// The program inherits `lifeline` unless it is -1.
  [[nodiscard]] SpawnSettings(int socket, int lifeline) {
    throw_if(posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_adddup2(&actions_, socket, standard);
    }
    if (lifeline >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, lifeline, STDERR_FILENO + 1);
    }
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

// The environment that children inherit, with `variables` added or replaced.
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

}  // namespace

std::string to_text(const ChildResult& result) {
  switch (result.end) {
    case ChildResult::End::kSignalled:
      return "was killed by signal " + std::to_string(result.code) + " (" + strsignal(result.code) +
             ")";
    case ChildResult::End::kExited:
      return "exited with status " + std::to_string(result.code);
    case ChildResult::End::kTimedOut:
      break;
  }
  return "was stopped";
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const ChildLimits& limits,
                           const std::vector<std::string>& variables)
    : deadline_(Clock::now() + limits.time) {
  const std::vector<std::string> environment = environment_with(variables);
  std::array<int, 2> ends{};
  throw_if(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0 ? 0 : errno,
           "socketpair");
  socket_ = ends[0];
  std::array<int, 2> pipe_ends{-1, -1};
  if (limits.dies_with_caller && pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    pipe_ends = {-1, -1};
  }
  lifeline_ = pipe_ends[1];
  int error = ENOMEM;
  try {
    const SpawnSettings settings(ends[1], pipe_ends[0]);
    error = posix_spawn(&pid_, arguments.front().c_str(), settings.actions(), settings.attributes(),
                        pointers_to(arguments).data(), pointers_to(environment).data());
  } catch (const std::exception&) {
    // no memory
  }
  close(ends[1]);
  if (pipe_ends[0] >= 0) {
    if (error == 0) {
      kill_group_with_caller(pipe_ends[0]);
    }
    close(pipe_ends[0]);
  }
  if (error != 0) {
    close(socket_);
    close(lifeline_);
    throw_if(error, "cannot start " + arguments.front());
  }
  limit(RLIMIT_CORE, 0);
  if (limits.file_bytes > 0) {
    limit(RLIMIT_FSIZE, limits.file_bytes);
  }
  if (limits.cpu.count() > 0) {
    limit(RLIMIT_CPU, limits.cpu.count());
  }
}

ChildProcess::~ChildProcess() {
  try {
    finish(Clock::time_point::min());
  } catch (const std::exception&) {
    signal_group(SIGKILL);
  }
  close(socket_);
  close(lifeline_);
}

// The program holds the reading end of a pipe, and only this process the other one. When that is
// closed, the system signals the owner of the reading end (fcntl(2), "Managing signals"). Unlike
// PR_SET_PDEATHSIG, this reaches the whole group, and does not depend on the thread. A caller that
// is killed in the microseconds between posix_spawn and this leaves the program running.
void ChildProcess::kill_group_with_caller(int read_end) const {
  fcntl(read_end, F_SETSIG, SIGKILL);
  fcntl(read_end, F_SETOWN, -pid_);
  fcntl(read_end, F_SETFL, O_ASYNC);
}

bool ChildProcess::send(const std::string& line) noexcept {
  for (const std::string_view part : {std::string_view(line), std::string_view("\n")}) {
    for (std::string_view left = part; !left.empty();) {
      const ssize_t sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EINTR) {
        return false;
      }
      left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
  }
  return true;
}

void ChildProcess::close_input() noexcept {
  shutdown(socket_, SHUT_WR);
}

ChildProcess::Received ChildProcess::receive(std::string& line, Clock::time_point deadline) {
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return Received::kLine;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{socket_, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000))) <= 0) {
      if (Clock::now() >= deadline) {
        return Received::kNothing;
      }
      continue;
    }
    std::array<char, 4096> chunk{};
    const ssize_t bytes = recv(socket_, chunk.data(), chunk.size(), 0);
    if (bytes == 0 || (bytes < 0 && errno != EINTR) || received_.size() > kLongestLine) {
      return Received::kEnd;
    }
    received_.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
}

ChildResult ChildProcess::finish(Clock::time_point deadline) {
  if (pid_ < 0) {
    return result_;
  }
  const bool is_in_time = read_until_end(deadline);
  if (!is_in_time) {
    signal_group(SIGTERM);
    ends_within(kTerminationGrace);
  }
  signal_group(SIGKILL);
  if (ends_within(kKillTimeout)) {
    int status = 0;  // stays 0 if other code of this process has reaped the child
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    std::string output = std::move(result_.output);
    result_ = result_of(status);
    result_.output = std::move(output);
  }
  if (!is_in_time) {
    result_.end = ChildResult::End::kTimedOut;
  }
  pid_ = -1;
  return result_;
}

// Does not reap the child (WNOWAIT), so that its pid is not reused before the group is killed.
bool ChildProcess::runs() const {
  siginfo_t ended{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return errno == EINTR;
  }
  return ended.si_pid != pid_;
}

bool ChildProcess::is_stopped() const {
  siginfo_t stopped{};
  return waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         stopped.si_pid == pid_;
}

bool ChildProcess::ends_within(std::chrono::milliseconds time) const {
  const auto end = Clock::now() + time;
  while (runs()) {
    if (Clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void ChildProcess::signal_group(int signal) const {
  siginfo_t ended{};
  const bool is_reaped =
      waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 &&
      errno == ECHILD;
  if (pid_ > 0 && !is_reaped) {
    kill(-pid_, signal);
  }
}

// Returns whether the child ended before the deadline. Watches the process, not only the socket,
// because other processes may keep the socket open for longer, and the child may close it earlier.
bool ChildProcess::read_until_end(Clock::time_point deadline) {
  std::string& output = result_.output;
  bool is_open = true;
  while (true) {
    const bool is_running = runs();
    const auto wait = is_running ? kPollInterval : std::chrono::milliseconds(0);
    if (!is_open) {
      std::this_thread::sleep_for(std::min(wait, std::chrono::milliseconds(1)));
    }
    pollfd readable{socket_, POLLIN, 0};
    const bool has_output = is_open && poll(&readable, 1, static_cast<int>(wait.count())) > 0;
    if (has_output) {
      std::array<char, 4096> chunk{};
      const ssize_t bytes = recv(socket_, chunk.data(), chunk.size(), 0);
      is_open = bytes > 0 || (bytes < 0 && errno == EINTR);
      if (bytes > 0) {
        output.append(chunk.data(), std::min(static_cast<std::size_t>(bytes),
                                             ChildResult::kMostOutput - output.size()));
      }
    }
    if (!is_running && (!has_output || output.size() == ChildResult::kMostOutput)) {
      return true;
    }
    if (Clock::now() >= deadline) {
      return !runs();
    }
  }
}

// Never raises a limit that is already lower. The child's own children inherit the limits.
void ChildProcess::limit(int resource, std::int64_t most) const {
  const auto kind = static_cast<decltype(RLIMIT_CORE)>(resource);
  rlimit now{};
  if (prlimit(pid_, kind, nullptr, &now) == 0) {
    const auto wanted = static_cast<rlim_t>(most);
    const rlimit limited{std::min(now.rlim_cur, wanted), std::min(now.rlim_max, wanted)};
    prlimit(pid_, kind, &limited, nullptr);
  }
}

ChildResult run_child(const std::vector<std::string>& arguments, ChildLimits limits,
                      const std::vector<std::string>& variables) {
  limits.dies_with_caller = true;
  ChildProcess child(arguments, limits, variables);
  child.close_input();
  return child.finish();
}

void replace_process(const std::filesystem::path& path, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& variables) {
  const std::vector<std::string> environment = environment_with(variables);
  execve(path.c_str(), pointers_to(arguments).data(), pointers_to(environment).data());
}

std::filesystem::path find_program(const std::string& name) {
  namespace fs = std::filesystem;
  const auto is_program = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    return is_program(name) ? fs::path(name) : fs::path();
  }
  std::istringstream folders(program_folders());
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::path path = fs::path(folder) / name; !folder.empty() && is_program(path)) {
      return path;
    }
  }
  return {};
}

}  // namespace tunedgemm::internal
