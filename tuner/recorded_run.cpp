#include "tuner/recorded_run.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "kernel_templates/problem/fields.h"

namespace tunedgemm::internal {
namespace {

using Stage = RecordedCandidate::Stage;

constexpr std::string_view kFirstLine = "recorded-run 3";
constexpr std::array<std::pair<Stage, std::string_view>, 3> kStages{
    {{Stage::kPrepare, "prepare"}, {Stage::kCheck, "check"}, {Stage::kSample, "sample"}}};

// The shortest text that reads as the same number.
template <class Number>
std::string field(std::string_view name, Number value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return " " + std::string(name) + "=" + std::string(digits.data(), end);
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    if (letter == '\n') {
      line += "\\n";
    } else if (letter == '\\') {
      line += "\\\\";
    } else {
      line += letter;
    }
  }
  return line;
}

std::string from_one_line(std::string_view line) {
  std::string text;
  for (std::size_t position = 0; position < line.size(); ++position) {
    if (line[position] == '\\' && position + 1 < line.size()) {
      ++position;
      text += line[position] == 'n' ? '\n' : line[position];
    } else {
      text += line[position];
    }
  }
  return text;
}

double seconds_of(const RecordedCandidate& candidate, Stage stage) {
  switch (stage) {
    case Stage::kPrepare:
      return candidate.prepare_seconds;
    case Stage::kCheck:
      return candidate.check_seconds;
    case Stage::kSample:
      break;
  }
  return 0;
}

std::string to_text(const RecordedCandidate& candidate) {
  std::string text = "candidate " + candidate.candidate + "\n";
  const auto& failure = candidate.failure;
  if (!failure || failure->stage != Stage::kPrepare) {
    text += "prepared" + field("seconds", candidate.prepare_seconds) +
            field("registers", candidate.registers) +
            field("shared_bytes", candidate.shared_bytes) +
            field("spill_bytes", candidate.spill_bytes) +
            field("compile_ms", candidate.compile_ms) + "\n";
    if (!failure || failure->stage != Stage::kCheck) {
      text += "checked" + field("seconds", candidate.check_seconds) +
              field("error", candidate.error) + "\n";
    }
  }
  for (const RecordedSample& sample : candidate.samples) {
    text += "sample" + field("us", sample.us) + field("launches", sample.launches) +
            field("seconds", sample.seconds) + "\n";
  }
  if (failure) {
    const auto stage = static_cast<std::size_t>(failure->stage);
    text += "rejected at=" + std::string(kStages[stage].second) +
            field("seconds", seconds_of(candidate, failure->stage)) +
            field("reason", static_cast<int>(failure->rejection.reason)) +
            " detail=" + one_line(failure->rejection.detail) + "\n";
  }
  return text;
}

// Takes the fields of one line by name; remembers whether one was missing or malformed.
class Line {
 public:
  explicit Line(std::string_view text) : fields_(split_fields(text)) {}

  std::string_view text(std::string_view name) {
    for (const auto& [known, value] : fields_) {
      if (known == name) {
        return value;
      }
    }
    good_ = false;
    return {};
  }

  template <class Number>
  void read(std::string_view name, Number& value) {
    const std::string_view digits = text(name);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    good_ = good_ && !digits.empty() && error == std::errc() && stop == end;
  }

  bool good() const { return good_; }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> fields_;
  bool good_ = true;
};

bool read_rejection(std::string_view rest, RecordedCandidate& candidate) {
  constexpr std::string_view kDetail = " detail=";
  const std::size_t detail = rest.find(kDetail);
  if (detail == std::string_view::npos) {
    return false;
  }
  Line line(rest.substr(0, detail));
  const std::string_view at = line.text("at");
  double seconds = 0;
  int reason = 0;
  line.read("seconds", seconds);
  line.read("reason", reason);
  for (const auto& [stage, name] : kStages) {
    if (name == at) {
      candidate.failure = {stage,
                           {Reason{reason}, from_one_line(rest.substr(detail + kDetail.size()))}};
      if (stage == Stage::kPrepare) {
        candidate.prepare_seconds = seconds;
      } else if (stage == Stage::kCheck) {
        candidate.check_seconds = seconds;
      }
      return line.good();
    }
  }
  return false;
}

bool read_candidate_line(std::string_view keyword, std::string_view rest,
                         RecordedCandidate& candidate) {
  Line line(rest);
  if (keyword == "prepared") {
    line.read("seconds", candidate.prepare_seconds);
    line.read("registers", candidate.registers);
    line.read("shared_bytes", candidate.shared_bytes);
    line.read("spill_bytes", candidate.spill_bytes);
    line.read("compile_ms", candidate.compile_ms);
  } else if (keyword == "checked") {
    line.read("seconds", candidate.check_seconds);
    line.read("error", candidate.error);
  } else if (keyword == "sample") {
    RecordedSample& sample = candidate.samples.emplace_back();
    line.read("us", sample.us);
    line.read("launches", sample.launches);
    line.read("seconds", sample.seconds);
  } else {
    return keyword == "rejected" && read_rejection(rest, candidate);
  }
  return line.good();
}

bool read_line(std::string_view keyword, std::string_view rest, RecordedRun& run) {
  Line line(rest);
  if (keyword == "problem") {
    const auto problem = parse_problem(rest);
    run.problem = problem.value_or(Problem{});
    return problem.has_value();
  }
  if (keyword == "device") {
    line.read("roofline_us", run.roofline_us);
    line.read("batch", run.compile_batch);
    line.read("ahead_seconds", run.ahead_seconds);
    line.read("warm_up_seconds", run.warm_up_seconds);
    line.read("cool_down_seconds", run.cool_down_seconds);
    return line.good();
  }
  if (keyword == "clock") {
    int throttled = 0;
    line.read("mhz", run.clocks.emplace_back().mhz);
    line.read("throttled", throttled);
    run.clocks.back().throttled = throttled != 0;
    return line.good();
  }
  if (keyword == "candidate") {
    run.candidates.emplace_back().candidate = rest;
    return !rest.empty();
  }
  return !run.candidates.empty() && read_candidate_line(keyword, rest, run.candidates.back());
}

}  // namespace

std::string to_text(const RecordedRun& run) {
  std::string text = std::string(kFirstLine) + "\nproblem " + to_text(run.problem) + "\ndevice" +
                     field("roofline_us", run.roofline_us) + field("batch", run.compile_batch) +
                     field("ahead_seconds", run.ahead_seconds) +
                     field("warm_up_seconds", run.warm_up_seconds) +
                     field("cool_down_seconds", run.cool_down_seconds) + "\n";
  for (const Evaluator::Clock& clock : run.clocks) {
    text += "clock" + field("mhz", clock.mhz) + field("throttled", clock.throttled ? 1 : 0) + "\n";
  }
  for (const RecordedCandidate& candidate : run.candidates) {
    text += to_text(candidate);
  }
  return text;
}

std::variant<RecordedRun, std::string> parse_recorded_run(std::string_view text) {
  RecordedRun run;
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines.front() != kFirstLine) {
    return "line 1: a recorded run begins with \"" + std::string(kFirstLine) + "\"";
  }
  for (std::size_t number = 1; number < lines.size(); ++number) {
    const std::string_view line = lines[number];
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    const std::size_t keyword_end = std::min(line.find(' '), line.size());
    const std::string_view rest = line.substr(std::min(keyword_end + 1, line.size()));
    if (!read_line(line.substr(0, keyword_end), rest, run)) {
      return "line " + std::to_string(number + 1) +
             ": cannot be read as part of a recorded run: " + std::string(line);
    }
  }
  return run;
}

}  // namespace tunedgemm::internal
