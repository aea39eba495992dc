#include "runtime/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "runtime/context/context.h"
#include "runtime/start_thread.h"

namespace tunedgemm::internal {
namespace {

// Without a request: between two of a list pass milliseconds.
constexpr int kIdleMilliseconds = 10'000;
constexpr std::chrono::seconds kHeartbeat{2};

// The greatest double below 2^64.
constexpr double kGreatestSeed = 18446744073709549568.0;

enum Argument { kBackend, kOrdinal, kHostThreads, kCache, kArguments };

// The other process, at the other end of the socket. The log may speak from any thread.
class Caller {
 public:
  explicit Caller(int socket) : socket_(socket) {}

  void say(std::string line) noexcept {
    line += '\n';
    const std::scoped_lock lock(mutex_);
    for (std::string_view left = line; !left.empty();) {
      const ssize_t sent = send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) {
        return;  // its end is noticed where it is listened to
      }
      left.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    }
  }

  // Empty at the end of the input, or when nothing came in this time (-1: however long it takes).
  std::optional<std::string> hear(int milliseconds) {
    pollfd readable{socket_, POLLIN, 0};
    std::string line;
    while (poll(&readable, 1, milliseconds) > 0 || errno == EINTR) {
      char next = 0;
      const ssize_t bytes = recv(socket_, &next, 1, 0);
      if (bytes == 0 || (bytes < 0 && errno != EINTR)) {
        return std::nullopt;
      }
      if (bytes > 0 && next == '\n') {
        return line;
      }
      line.append(static_cast<std::size_t>(bytes > 0), next);
    }
    return std::nullopt;
  }

 private:
  int socket_;
  std::mutex mutex_;
};

// Says that the process runs for as long as this lives, also while the tuning compiles for minutes.
class Heartbeat {
 public:
  explicit Heartbeat(Caller& caller)
      : thread_(start_thread([this, &caller] {
          std::unique_lock lock(mutex_);
          while (!end_.wait_for(lock, kHeartbeat, [this] { return has_ended_; })) {
            caller.say("alive");
          }
        })) {}
  ~Heartbeat() {
    {
      const std::scoped_lock lock(mutex_);
      has_ended_ = true;
    }
    end_.notify_one();
    if (thread_) {
      thread_->join();
    }
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable end_;
  bool has_ended_ = false;
  std::optional<std::thread> thread_;
};

// As every locale writes and reads it, whatever the program's own is.
std::string field(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return ' ' + std::string(digits.data(), end);
}

void tell_result(Caller& caller, Context& context, const TuneResult& result) {
  context.store().flush();
  const StoreHealth health = context.store().health();
  const bool is_unsaved = result.record && health.unsaved_winners > 0;
  const std::string trouble = health.warnings.empty() ? "" : health.warnings.back();
  caller.say("done" + field(static_cast<int>(result.origin)) +
             field(result.tuning.cancelled ? 1 : 0) + field(result.is_leased_elsewhere ? 1 : 0) +
             field(is_unsaved ? 1 : 0) + ' ' +
             in_one_line(is_unsaved ? trouble : result.tuning.failure));
}

void listen_to(Caller& caller, TuneOptions& options) {
  options.crash_cost = CrashCost::kWorker;
  options.on_progress = [&caller](const Progress& progress) {
    caller.say("progress" + field(static_cast<int>(progress.phase)) + field(progress.done) +
               field(progress.total) + field(progress.best_us));
  };
  options.cancelled = [&caller] {
    caller.say("may-go-on");
    return caller.hear(-1) != "yes";
  };
  options.on_candidate = [&caller](const Candidate* candidate, double seconds) {
    caller.say(candidate == nullptr ? "back"
                                    : "running" + field(seconds) + ' ' + to_text(*candidate));
  };
}

// Whether the device can still be used.
bool tune(Caller& caller, Context& context, std::string_view line) {
  std::optional<WorkerRequest> request = parse_request(line);
  caller.say("began");
  const Heartbeat heartbeat(caller);
  TuneResult result;
  try {
    if (request) {
      listen_to(caller, request->options);
      result = context.tune(request->problem, request->options);
    } else {
      result.tuning.failure = "the worker does not understand \"" + std::string(line) +
                              "\"; use tune-all of the library's own version";
    }
  } catch (const DeviceError& error) {
    switch (error.kind()) {
      case DeviceError::Kind::kFailed:
        context.store().flush();
        caller.say("device-failed " + in_one_line(error.what()));
        return false;
      case DeviceError::Kind::kOutOfMemory:
        caller.say("no-memory " + in_one_line(error.what()));
        return true;
      case DeviceError::Kind::kUnavailable:
        caller.say("unavailable " + in_one_line(error.what()));
        return true;
    }
  } catch (const std::exception& error) {
    result.tuning.failure = error.what();
  }
  tell_result(caller, context, result);
  return true;
}

}  // namespace

std::vector<std::string> to_arguments(const WorkerPlace& place) {
  return {place.backend, std::to_string(place.ordinal), std::to_string(place.host_threads),
          place.cache};
}

int work_as_told(std::span<const char* const> arguments,
                 const std::vector<std::string>& compile_command) {
  // A socket of its own, which no program that is started here gets.
  const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (arguments.size() != kArguments || socket < 0 || nothing < 0 ||
      dup2(nothing, STDIN_FILENO) < 0) {
    return EXIT_FAILURE;
  }
  // What is told may outlive this function: the logger is of the whole process.
  const auto caller = std::make_shared<Caller>(socket);
  caller->say(std::string(kGreeting));
  send_log_to([caller](LogLevel level, std::string_view sentence) {
    caller->say((level == LogLevel::kWarning ? "warning " : "info ") + in_one_line(sentence));
  });
  ContextOptions options;
  options.backend = find_backend(arguments[kBackend]);
  options.ordinal = std::atoi(arguments[kOrdinal]);
  options.host_threads = std::atoi(arguments[kHostThreads]);
  options.store.path = arguments[kCache];
  options.compile_command = compile_command;
  std::unique_ptr<Context> context;
  try {
    context = Context::create(options);
  } catch (const DeviceError& error) {
    caller->say("no-device" + field(static_cast<int>(error.kind())) + ' ' +
                in_one_line(error.what()));
    return EXIT_FAILURE;
  }
  caller->say("ready");
  while (const auto request = caller->hear(kIdleMilliseconds)) {
    if (!tune(*caller, *context, *request)) {
      // The device would be waited for.
      std::_Exit(EXIT_FAILURE);
    }
  }
  return EXIT_SUCCESS;
}

std::string_view LineReader::word() {
  const std::size_t end = std::min(left_.find(' '), left_.size());
  const std::string_view word = left_.substr(0, end);
  left_.remove_prefix(std::min(end + 1, left_.size()));
  return word;
}

double LineReader::number() {
  const std::string_view digits = word();
  double value = 0;
  const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec;
  return error == std::errc() && std::isfinite(value) ? value : 0;
}

int LineReader::integer() {
  using Limits = std::numeric_limits<int>;
  return static_cast<int>(std::clamp<double>(number(), Limits::min(), Limits::max()));
}

std::string LineReader::rest() const {
  std::string text;
  for (std::size_t at = 0; at < left_.size(); ++at) {
    const bool is_escape = left_[at] == '\\' && at + 1 < left_.size();
    at += is_escape ? 1 : 0;
    text += is_escape && left_[at] == 'n' ? '\n' : left_[at];
  }
  return text;
}

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char character : text) {
    if (character == '\n') {
      line += "\\n";
    } else if (character == '\\') {
      line += "\\\\";
    } else {
      line += character;
    }
  }
  return line;
}

std::string to_line(const Problem& problem, const TuneOptions& options) {
  return "tune" + field(static_cast<int>(options.rigor)) + field(options.budget.seconds) +
         field(options.budget.candidates) + field(static_cast<double>(options.seed)) +
         field(options.must_be_whole ? 1 : 0) + field(options.candidate_seconds) + ' ' +
         in_one_line(to_text(problem));
}

std::optional<WorkerRequest> parse_request(std::string_view line) {
  LineReader request(line);
  if (request.word() != "tune") {
    return std::nullopt;
  }
  const auto rigor = request.enumerator(Rigor::kExhaustive);
  TuneOptions options;
  options.budget.seconds = request.number();
  options.budget.candidates = request.integer();
  // Above 2^53 not all of it comes through: it only has to be another one for another problem.
  options.seed = static_cast<std::uint64_t>(std::clamp(request.number(), 0.0, kGreatestSeed));
  options.must_be_whole = request.integer() != 0;
  options.candidate_seconds = request.number();
  const std::optional<Problem> problem = parse_problem(request.rest());
  if (!rigor || !parse_rigor(name(*rigor)) || !problem) {
    return std::nullopt;
  }
  options.rigor = *rigor;
  return WorkerRequest{*problem, std::move(options)};
}

}  // namespace tunedgemm::internal
