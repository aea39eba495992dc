#include "runtime/tuning/worker_conversation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/text.h"
#include "runtime/device.h"

namespace tunedgemm::internal {
namespace {

using Clock = std::chrono::steady_clock;

// The greatest double below 2^64.
constexpr double kGreatestSeed = 18446744073709549568.0;
constexpr std::size_t kMostQuotedCharacters = 80;
constexpr std::string_view kCandidate = "candidate", kNext = "next";

// A space and the number, in the same format in every locale.
std::string field(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return ' ' + std::string(digits.data(), end);
}

template <class Enum>
std::string number_of(Enum enumerator) {
  return field(static_cast<int>(enumerator));
}

}  // namespace

std::vector<std::string> to_arguments(const WorkerPlace& place) {
  return {place.backend,
          std::to_string(place.ordinal),
          std::to_string(place.host_threads),
          std::to_string(place.compile_threads),
          place.cache,
          place.shared_binaries};
}

std::optional<WorkerPlace> to_worker_place(std::span<const char* const> arguments) {
  if (arguments.size() != to_arguments({}).size()) {
    return std::nullopt;
  }
  return WorkerPlace{.backend = arguments[0],
                     .ordinal = std::atoi(arguments[1]),
                     .host_threads = std::atoi(arguments[2]),
                     .compile_threads = std::atoi(arguments[3]),
                     .cache = arguments[4],
                     .shared_binaries = arguments[5]};
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
    line += character == '\n' || character == '\\' ? "\\" : "";
    line += character == '\n' ? 'n' : character;
  }
  return line;
}

std::string to_lines(const CanonicalProblem& problem, const TuneOptions& options) {
  std::string before;
  for (const Candidate& candidate : options.candidates) {
    before += std::string(kCandidate) + ' ' + to_text(candidate) + '\n';
  }
  if (options.next) {
    before += std::string(kNext) + ' ' + in_one_line(to_text(*options.next)) + '\n';
  }
  return before + "tune" + number_of(options.rigor) + field(options.budget.seconds) +
         field(options.budget.candidates) + field(static_cast<double>(options.seed)) +
         field(options.in_background ? 1 : 0) + field(options.force ? 1 : 0) +
         field(options.candidate_seconds) + ' ' + in_one_line(to_text(problem));
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
  // A seed above 2^53 is rounded, because a line holds doubles. That is harmless, because any seed
  // will do.
  options.seed = static_cast<std::uint64_t>(std::clamp(request.number(), 0.0, kGreatestSeed));
  options.in_background = request.integer() != 0;
  options.force = request.integer() != 0;
  options.candidate_seconds = request.number();
  const std::optional<Problem> problem = parse_problem(request.rest());
  if (!rigor || !problem) {
    return std::nullopt;
  }
  options.rigor = *rigor;
  return WorkerRequest{canonical(*problem), std::move(options)};
}

std::optional<std::string> candidate_text(std::string_view line) {
  LineReader fields(line);
  return fields.word() == kCandidate ? std::optional(fields.rest()) : std::nullopt;
}

std::optional<CanonicalProblem> next_problem(std::string_view line) {
  LineReader fields(line);
  const auto problem = fields.word() == kNext ? parse_problem(fields.rest()) : std::nullopt;
  return problem ? std::optional(canonical(*problem)) : std::nullopt;
}

std::string log_line(LogLevel level, std::string_view sentence) {
  return "log" + number_of(level) + ' ' + in_one_line(sentence);
}

std::string to_line(const Progress& progress) {
  return "progress" + number_of(progress.phase) + field(progress.done) + field(progress.total) +
         field(progress.best_us);
}

std::string running_line(const Candidate* candidate, double seconds) {
  return "running" + field(seconds) + ' ' + (candidate == nullptr ? "" : to_text(*candidate));
}

std::string done_line(const TuneResult& result) {
  return "done" + number_of(result.kind) + field(result.tuning.cancelled ? 1 : 0) +
         field(result.is_leased_elsewhere ? 1 : 0) + field(result.is_unsaved ? 1 : 0) + ' ' +
         in_one_line(result.tuning.failure);
}

std::string failed_line(DeviceError::Kind kind, std::string_view sentence) {
  return "failed" + number_of(kind) + ' ' + in_one_line(sentence);
}

WorkerConversation::Next WorkerConversation::take(std::string_view text) {
  LineReader line(text);
  const std::string_view word = line.word();
  if (word == "failed") {
    return take_failure(line) ? Next::kLost : lost(text);
  }
  const bool is_understood =
      (word == "log" && take_log(line)) || (word == "progress" && take_progress(line)) ||
      (word == "running" && take_running(line)) || (word == "done" && take_result(line));
  if (!is_understood) {
    return lost(text);
  }
  has_spoken_ = true;
  return word == "done" ? Next::kDone : Next::kListen;
}

bool WorkerConversation::take_log(LineReader& fields) {
  const auto level = fields.enumerator(LogLevel::kWarning);
  if (level) {
    (*level == LogLevel::kWarning ? log_warning : log_info)(fields.rest());
  }
  return level.has_value();
}

bool WorkerConversation::take_progress(LineReader& fields) {
  const auto phase = fields.enumerator(Phase::kDone);
  if (!phase) {
    return false;
  }
  Progress progress;
  progress.phase = *phase;
  progress.done = fields.integer();
  progress.total = fields.integer();
  progress.best_us = fields.number();
  if (options_.on_progress) {
    options_.on_progress(progress);
  }
  return true;
}

bool WorkerConversation::take_running(LineReader& fields) {
  seconds_ = std::clamp(fields.number(), 0.0, kLongestLimitSeconds);
  at_work_ = fields.rest();
  hung_at_ = at_work_.empty()
                 ? Clock::time_point::max()
                 : Clock::now() +
                       std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds_));
  return true;
}

bool WorkerConversation::take_result(LineReader& fields) {
  const auto kind = fields.enumerator(TuneResult::Kind::kFailed);
  if (!kind) {
    return false;
  }
  result_.kind = *kind;
  result_.tuning.cancelled = fields.integer() != 0;
  result_.is_leased_elsewhere = fields.integer() != 0;
  result_.is_unsaved = fields.integer() != 0;
  result_.tuning.failure = fields.rest();
  return true;
}

bool WorkerConversation::take_failure(LineReader& fields) {
  const auto kind = fields.enumerator(DeviceError::Kind::kLost);
  failure_ = fields.rest();
  if (!kind || failure_.empty()) {
    return false;
  }
  has_spoken_ = true;
  if (*kind != DeviceError::Kind::kLost) {
    throw DeviceError(*kind, failure_);
  }
  return true;
}

WorkerConversation::Next WorkerConversation::lost(std::string_view line) {
  failure_ = "it sent \"" + printable(line.substr(0, kMostQuotedCharacters), Lines::kOne) +
             "\", which is not understood; use tune-all of the library's own version";
  return Next::kLost;
}

}  // namespace tunedgemm::internal
