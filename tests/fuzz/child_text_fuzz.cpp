// Parses arbitrary text in place of text from other processes: the lines of a tuning worker, which
// a candidate may have corrupted; the lines of its caller; the log of a compiler; and the GPCs of a
// GPU from a cache.

#include <chrono>
#include <string>
#include <string_view>

#include "kernel_templates/base/log.h"
#include "kernel_templates/device_limits.h"
#include "runtime/cuda/gpcs.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"
#include "runtime/tuning/worker_conversation.h"
#include "runtime/worker/worker_process.h"
#include "tests/fuzz/input.h"

using namespace tunedgemm::internal;

namespace {

void converse(std::string_view text) {
  using Next = WorkerConversation::Next;
  TuneOptions options;
  options.on_progress = [](const Progress& progress) {
    must_hold(progress.phase >= Phase::kRank && progress.phase <= Phase::kDone);
  };
  WorkerConversation conversation(options);
  Next next = Next::kListen;
  while (!text.empty() && next != Next::kDone && next != Next::kLost) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    next = conversation.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto left = conversation.hung_at() - std::chrono::steady_clock::now();
    must_hold(conversation.at_work().empty() || left <= std::chrono::seconds(1'000'000));
    must_hold(next != Next::kLost || !conversation.failure().empty());
    static_cast<void>(parse_candidate(conversation.at_work()));
  }
  if (next == Next::kDone) {
    const auto origin = conversation.result().kind;
    must_hold(conversation.has_spoken() && origin >= TuneResult::Kind::kTuned &&
              origin <= TuneResult::Kind::kFailed);
  }
}

void request(const std::string& line) {
  const auto asked = parse_request(line);
  if (!asked) {
    return;
  }
  const auto again = parse_request(to_lines(asked->problem, asked->options));
  must_hold(again && again->problem == asked->problem);
  const TuneOptions &first = asked->options, &second = again->options;
  must_hold(first.rigor == second.rigor && first.budget.seconds == second.budget.seconds &&
            first.budget.candidates == second.budget.candidates && first.seed == second.seed &&
            first.in_background == second.in_background &&
            first.candidate_seconds == second.candidate_seconds);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_quiet = [] {
    send_log_to([](LogLevel, std::string_view) {});
    return true;
  }();
  must_hold(is_quiet);
  Input input(data, size);
  const std::size_t kind = input.below(8);
  const std::string text(input.rest());
  if (kind == 0) {
    must_hold(LineReader(in_one_line(text)).rest() == text);
  } else if (kind == 1) {
    static_cast<void>(cuda::parse_compiler_log(text));
  } else if (kind == 2) {
    DeviceLimits limits;
    limits.sm_count = static_cast<int>(input.below(9));
    const auto gpcs = cuda::parse_gpcs(text, limits);
    must_hold(gpcs.empty() || cuda::parse_gpcs(cuda::to_text(gpcs), limits) == gpcs);
  } else if (kind == 3) {
    request(text);
  } else {
    try {
      converse(text);
    } catch (const DeviceError& error) {
      must_hold(error.kind() != DeviceError::Kind::kLost);
    }
  }
  return 0;
}
