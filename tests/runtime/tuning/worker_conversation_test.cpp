// The caller's handling of a worker's lines, valid and invalid.

#include "runtime/tuning/worker_conversation.h"

#include <chrono>
#include <locale>
#include <string>
#include <vector>

#include "kernel_templates/base/text.h"
#include "runtime/device.h"
#include "runtime/worker/worker_process.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using Next = WorkerConversation::Next;
using std::chrono::seconds;

class Comma : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// Sets the locale of the whole program during its lifetime.
class ProgramLocale {
 public:
  explicit ProgramLocale(const std::locale& locale) : before_(std::locale::global(locale)) {}
  ~ProgramLocale() { std::locale::global(before_); }
  ProgramLocale(const ProgramLocale&) = delete;
  ProgramLocale& operator=(const ProgramLocale&) = delete;

 private:
  std::locale before_;
};

seconds until_hung(const WorkerConversation& conversation) {
  return std::chrono::round<seconds>(conversation.hung_at() - std::chrono::steady_clock::now());
}

}  // namespace

TEST_CASE("A worker's lines become progress and a result") {
  TuneOptions options;
  std::vector<Progress> moves;
  options.on_progress = [&](const Progress& progress) { moves.push_back(progress); };
  const Candidate candidate{find_family("naive_mnk"), {}};
  WorkerConversation conversation(options);
  CHECK_FALSE(conversation.has_spoken());
  CHECK(conversation.take(log_line(LogLevel::kInfo, "it is about to begin")) == Next::kListen);
  CHECK(conversation.has_spoken());
  CHECK(conversation.take(to_line(Progress{Phase::kFinals, 3, 8, 12.5})) == Next::kListen);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].phase == Phase::kFinals);
  CHECK(moves[0].done == 3);
  CHECK(moves[0].total == 8);
  CHECK(moves[0].best_us == 12.5);
  CHECK(conversation.take(running_line(&candidate, 40)) == Next::kListen);
  CHECK(conversation.at_work() == to_text(candidate));
  CHECK(until_hung(conversation) == seconds(40));
  // Another thread may write to the log while a candidate hangs.
  CHECK(conversation.take(log_line(LogLevel::kInfo, "another thread speaks")) == Next::kListen);
  CHECK(until_hung(conversation) <= seconds(40));
  CHECK(conversation.take(running_line(nullptr, 0)) == Next::kListen);
  CHECK(conversation.at_work().empty());
  CHECK(until_hung(conversation) > std::chrono::hours(1000));
  TuneResult sent;
  sent.tuning.cancelled = true;
  sent.tuning.failure = "two\nlines";
  CHECK(conversation.take(done_line(sent)) == Next::kDone);
  CHECK(conversation.result().kind == TuneResult::Kind::kFailed);
  CHECK(conversation.result().tuning.cancelled);
  CHECK_FALSE(conversation.result().is_unsaved);
  CHECK(conversation.result().tuning.failure == "two\nlines");
}

TEST_CASE("A line outside the protocol loses the worker and is reported") {
  const TuneOptions options;
  for (const std::string line :
       {"", "garbage", "\x1b[2J", "Done 0 0 0 0 ", "progress 6 1 2 3", "progress -1 1 2 3",
        "log 2 x", "done 4 0 0 0 ", "done -1 0 0 0 ", "failed 9 x", "failed 2 "}) {
    WorkerConversation conversation(options);
    CAPTURE(line);
    CHECK(conversation.take(line) == Next::kLost);
    CHECK_FALSE(conversation.has_spoken());
    CHECK_THAT(conversation.failure(), ContainsSubstring("is not understood"));
    CHECK(conversation.failure().find('\x1b') == std::string::npos);
  }
  WorkerConversation conversation(options);
  CHECK(conversation.take(std::string(1 << 20, 'x')) == Next::kLost);
  CHECK(conversation.failure().size() < 300);
}

TEST_CASE("No number of a worker makes its caller wait forever") {
  const TuneOptions options;
  WorkerConversation conversation(options);
  for (const std::string number :
       {"nan", "-nan", "inf", "-inf", "1e999", "-1e308", "-1", "x", ""}) {
    CAPTURE(number);
    CHECK(conversation.take("running " + number + " blocked") == Next::kListen);
    CHECK(until_hung(conversation) <= seconds(0));
  }
  CHECK(conversation.take("running 1e308 blocked") == Next::kListen);
  CHECK(until_hung(conversation) <= seconds(1'000'000));
  for (const std::string number : {"nan", "1e300", "-1e300", "99999999999999"}) {
    std::string line = "progress 1";
    for (int field = 0; field < 3; ++field) {
      line.append(" ").append(number);
    }
    CHECK(conversation.take(line) == Next::kListen);
  }
}

TEST_CASE("A worker reports why a tuning failed and whether it continues") {
  using Kind = DeviceError::Kind;
  const TuneOptions options;
  for (const Kind kind : {Kind::kOutOfMemory, Kind::kUnavailable}) {
    WorkerConversation conversation(options);
    try {
      conversation.take(failed_line(kind, "three\nGiB"));
      FAIL("nothing was thrown");
    } catch (const DeviceError& error) {
      CHECK(error.kind() == kind);
      CHECK(std::string(error.what()) == "three\nGiB");
    }
  }
  WorkerConversation conversation(options);
  CHECK(conversation.take(failed_line(Kind::kLost, "the device is lost")) == Next::kLost);
  CHECK(conversation.failure() == "the device is lost");
}

TEST_CASE("Lines between processes preserve their text") {
  for (const std::string text : {"", "one", "a b c", "two\nlines\\n \\", "\n\n"}) {
    const std::string line = in_one_line(text);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(LineReader(line).rest() == text);
  }
  LineReader line("word 1.5 -3  nan? rest of it");
  CHECK(line.word() == "word");
  CHECK(line.number() == 1.5);
  CHECK(line.integer() == -3);
  CHECK(line.word().empty());
  CHECK(line.word() == "nan?");
  CHECK(line.rest() == "rest of it");
  for (const char* const number : {"nan", "inf", "1e999", "x"}) {
    CHECK(LineReader(number).integer() == 0);
  }
  CHECK(LineReader("2147483648").integer() == 2147483647);
  CHECK(LineReader("-1e300").integer() == -2147483647 - 1);
}

TEST_CASE("Workers understand callers of any locale") {
  const CanonicalProblem problem =
      canonical(make_problem(40, 1024, 16, DataType::kF32, DataType::kF32, DataType::kF32));
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = 1234.5, .candidates = 1234};
  options.candidate_seconds = 4;
  const std::string line = to_lines(problem, options);
  {
    const ProgramLocale locale(std::locale(std::locale(), new Comma));
    CHECK(to_lines(problem, options) == line);
  }
  LineReader reader(line);
  CHECK(reader.word() == "tune");
  CHECK(reader.integer() == static_cast<int>(options.rigor));
  CHECK(reader.number() == 1234.5);
  CHECK(reader.integer() == 1234);
}

TEST_CASE("A request has the same meaning for the worker in any locale of its caller") {
  const ProgramLocale locale(std::locale(std::locale::classic(), new Comma));
  const CanonicalProblem problem =
      canonical(make_problem(1234567, 40, 16, DataType::kF32, DataType::kF32, DataType::kF32));
  TuneOptions options;
  options.rigor = Rigor::kExhaustive;
  options.budget = {.seconds = 1234.5, .candidates = 5678};
  options.seed = 1'000'000;
  options.in_background = GENERATE(false, true);
  options.force = !options.in_background;
  options.candidate_seconds = 0.1;
  const auto request = parse_request(to_lines(problem, options));
  REQUIRE(request);
  CHECK(request->problem == problem);
  CHECK(request->options.rigor == Rigor::kExhaustive);
  CHECK(request->options.budget.seconds == 1234.5);
  CHECK(request->options.budget.candidates == 5678);
  CHECK(request->options.seed == 1'000'000);
  CHECK(request->options.in_background == options.in_background);
  CHECK(request->options.force == options.force);
  CHECK(request->options.candidate_seconds == 0.1);
}

TEST_CASE("Each candidate of a request is a line of its own before it") {
  const CanonicalProblem problem =
      canonical(make_problem(40, 24, 16, DataType::kF32, DataType::kF32, DataType::kF32));
  TuneOptions options;
  options.candidates = {{find_family("naive_mnk"), {}}, {find_family("transposed_b"), {}}};
  const std::string lines = to_lines(problem, options);
  const auto parts = split(lines, '\n');
  REQUIRE(parts.size() == 3);
  for (std::size_t index = 0; index < 2; ++index) {
    CHECK(candidate_text(parts[index]) == to_text(options.candidates[index]));
    CHECK_FALSE(parse_request(parts[index]));
  }
  CHECK_FALSE(candidate_text(parts[2]));
  CHECK(parse_request(parts[2])->problem == problem);
}

TEST_CASE("The next problem is a line of its own before the request") {
  const CanonicalProblem problem =
      canonical(make_problem(40, 24, 16, DataType::kF32, DataType::kF32, DataType::kF32));
  TuneOptions options;
  options.next =
      canonical(make_problem(41, 24, 16, DataType::kF32, DataType::kF32, DataType::kF32));
  const std::string lines = to_lines(problem, options);
  const auto parts = split(lines, '\n');
  REQUIRE(parts.size() == 2);
  CHECK(next_problem(parts[0]) == options.next);
  CHECK_FALSE(parse_request(parts[0]));
  CHECK_FALSE(next_problem(parts[1]));
  CHECK(parse_request(parts[1])->problem == problem);
  CHECK_FALSE(next_problem("next 1x1"));
}

TEST_CASE("An invalid request is refused") {
  const std::string problem =
      in_one_line(to_text(make_problem(3, 4, 5, DataType::kF32, DataType::kF32, DataType::kF32)));
  CHECK(parse_request("tune 3 1 1 1 0 0 1 " + problem));
  for (const std::string& line :
       {std::string(), std::string("tune"), "tune 9 1 1 1 0 0 1 " + problem,
        "tune -1 1 1 1 0 0 1 " + problem, "TUNE 3 1 1 1 0 0 1 " + problem,
        std::string("tune 3 1 1 1 0 0 1 m=1")}) {
    CAPTURE(line);
    CHECK_FALSE(parse_request(line));
  }
}

}  // namespace tunedgemm::internal
