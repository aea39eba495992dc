#include "runtime/worker/worker_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "runtime/context/context.h"
#include "runtime/process/caller.h"
#include "runtime/tuning/worker_conversation.h"

namespace tunedgemm::internal {
namespace {

// The time to finish a write to the store after the caller has ended.
constexpr std::chrono::seconds kGrace{1};

// Prevents other code from using the socket, which now belongs to Caller.
bool redirect_standard_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
         dup2(null, STDERR_FILENO) >= 0;
}

void connect(const Caller& caller, TuneOptions& options) {
  options.on_progress = [&](const Progress& progress) { caller.send(to_line(progress)); };
  options.cancelled = [&] { return caller.has_spoken(); };
  options.on_candidate = [&](const Candidate* candidate, double seconds) {
    caller.send(running_line(candidate, seconds));
  };
}

// Flushes the store, and sets result.is_unsaved if the winner is not in the file.
TuneResult flushed(Context& context, TuneResult result) {
  context.store().flush();
  result.is_unsaved = result.record && context.store().unsaved_winners() > 0;
  if (result.is_unsaved) {
    const StoreHealth health = context.store().health();
    result.tuning.failure = health.warnings.empty() ? "" : health.warnings.back();
  }
  return result;
}

// The contents of the lines before a request.
struct Preface {
  std::vector<std::string> candidates;
  std::optional<CanonicalProblem> next;
};

// Empty if the line is not a valid request, or a text is no candidate.
std::optional<WorkerRequest> request_of(std::string_view line, const Preface& preface) {
  std::optional<WorkerRequest> request = parse_request(line);
  for (const std::string& text : preface.candidates) {
    const std::optional<Candidate> candidate = parse_candidate(text);
    if (!request || !candidate) {
      return std::nullopt;
    }
    request->options.candidates.push_back(*candidate);
  }
  if (request) {
    request->options.next = preface.next;
  }
  return request;
}

TuneResult run_request(const Caller& caller, Context& context, std::string_view line,
                       const Preface& preface) {
  TuneResult result;
  std::optional<WorkerRequest> request = request_of(line, preface);
  if (!request) {
    result.tuning.failure = "the worker does not understand \"" + std::string(line) +
                            "\"; use tune-all of the library's own version";
    return result;
  }
  connect(caller, request->options);
  try {
    result = context.tune(request->problem, request->options);
  } catch (const DeviceError&) {
    throw;
  } catch (const std::exception& error) {
    result.tuning.failure = error.what();
  }
  return flushed(context, std::move(result));
}

void tune(const Caller& caller, Context& context, std::string_view line, const Preface& preface) {
  try {
    caller.send(done_line(run_request(caller, context, line, preface)));
  } catch (const DeviceError& error) {
    context.store().flush();
    caller.send(failed_line(error.kind(), error.what()));
    if (error.kind() == DeviceError::Kind::kLost) {
      std::_Exit(EXIT_FAILURE);  // destroying the context would wait for the device
    }
  }
}

}  // namespace

int run_worker(std::span<const char* const> arguments,
               const std::vector<std::string>& compile_command) {
  const Caller caller(kGrace);
  const std::optional<WorkerPlace> place = to_worker_place(arguments);
  if (!place || !redirect_standard_streams()) {
    return EXIT_FAILURE;
  }
  send_log_to([caller](LogLevel level, std::string_view sentence) {
    caller.send(log_line(level, sentence));
  });
  ContextOptions options;
  options.backend = find_backend(place->backend);
  options.device.ordinal = place->ordinal;
  options.device.host_threads = place->host_threads;
  options.device.compile_threads = place->compile_threads;
  options.store.path = place->cache;
  options.shared_binaries = place->shared_binaries;
  options.device.compile_command = compile_command;
  std::unique_ptr<Context> context;
  try {
    context = Context::create(options);
  } catch (const DeviceError& error) {
    caller.send(failed_line(DeviceError::Kind::kUnavailable,
                            std::string("the worker cannot open the device: ") + error.what()));
    return EXIT_FAILURE;
  }
  Preface preface;
  while (const auto line = caller.receive()) {
    if (*line == kCancelLine) {
      continue;  // it arrived too late
    }
    if (auto candidate = candidate_text(*line)) {
      preface.candidates.push_back(std::move(*candidate));
    } else if (const auto next = next_problem(*line)) {
      preface.next = next;
    } else {
      tune(caller, *context, *line, std::exchange(preface, {}));
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace tunedgemm::internal
