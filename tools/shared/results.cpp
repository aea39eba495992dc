#include "tools/shared/results.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

Json finite_or_null(double us) {
  return std::isfinite(us) ? Json(us) : Json(nullptr);
}

Json time_or_null(double us) {
  return us > 0 ? Json(us) : Json(nullptr);
}

Json to_json(const Config& config) {
  Json json = Json::object();
  for (const auto& [knob, value] : config.knobs()) {
    json[knob] = value;
  }
  return json;
}

}  // namespace

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string csv_text(const std::vector<Json>& rows) {
  std::string text;
  for (const Json& row : rows) {
    std::string names, cells;
    for (const auto& [name, value] : row.items()) {
      names += name + ",";
      if (!value.is_null()) {
        cells += csv_cell(value.is_string() ? value.get<std::string>() : json_text(value));
      }
      cells += ",";
    }
    names.back() = cells.back() = '\n';
    text += (text.empty() ? names : "") + cells;
  }
  return text;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of("\",\r\n") == text.npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char character : text) {
    quoted += character == '"' ? "\"\"" : std::string(1, character);
  }
  return quoted + '"';
}

namespace {

std::string_view beginning(std::string_view text) {
  const bool is_json = text.starts_with('{') || text.starts_with('[');
  return text.substr(0, text.find(is_json ? ':' : '\n'));
}

bool may_replace(const std::string& path, std::string_view text, IfThere if_there) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) ||
      std::filesystem::file_size(path, ignored) == 0) {
    return true;
  }
  const std::string_view expected = beginning(text);
  std::string found(expected.size() + 1, '\0');
  std::ifstream(path, std::ios::binary).read(found.data(), std::ssize(found));
  return if_there == IfThere::kReplaceResults && beginning(found) == expected;
}

}  // namespace

void write_file(const std::string& path, const std::string& text, IfThere if_there) {
  if (!may_replace(path, text, if_there)) {
    throw std::runtime_error(path + " is there already" +
                             (if_there == IfThere::kRefuse ? "" : " and has other contents") +
                             ": remove it or choose another name");
  }
  std::ofstream file(path);
  file << text;
  if (!file.flush()) {
    throw std::runtime_error("the results cannot be written to " + path + ": " +
                             std::strerror(errno));
  }
}

Json to_json(const NamedProblem& shape) {
  const Problem& problem = shape.problem;
  return {{"name", shape.name},
          {"types", types_text(problem)},
          {"layout", layout_text(problem)},
          {"epilogue", epilogue_text(problem)},
          {"m", problem.m},
          {"n", problem.n},
          {"k", problem.k},
          {"batch", problem.batch}};
}

Json to_json(const Record& record) {
  const Problem& problem = record.problem;
  const double median_us = record.measurement.median_us;
  const Interval interval = interval_of(record.measurement);
  return {{"device", record.device.name},
          {"compiler", record.toolchain.compiler},
          {"driver", record.toolchain.driver},
          {"m", problem.m},
          {"n", problem.n},
          {"k", problem.k},
          {"batch", problem.batch},
          {"types", types_text(problem)},
          {"layout", layout_text(problem)},
          {"epilogue", epilogue_text(problem)},
          {"problem", to_text(problem)},
          {"family", record.family},
          {"config", to_json(record.config)},
          {"median_us", median_us},
          {"low_us", record.measurement.low_us},
          {"high_us", record.measurement.high_us},
          {"interval_low_us", finite_or_null(interval.low)},
          {"interval_high_us", finite_or_null(interval.high)},
          {"gflops", median_us > 0 ? Json(flops(problem) / median_us / 1e3) : Json(nullptr)},
          {"default_us", time_or_null(record.default_us)},
          {"naive_us", time_or_null(record.naive_us)},
          {"runner_up_us", time_or_null(record.runner_up_us)},
          {"vendor_us", time_or_null(record.vendor_us)},
          {"vendor", record.vendor},
          {"ties", record.ties},
          {"rigor", name(record.rigor)},
          {"complete", record.complete},
          {"candidates_tried", record.candidates_tried},
          {"candidates_legal", record.candidates_legal},
          {"spent_seconds", record.spent_seconds},
          {"max_error", record.max_error},
          {"remark", record.remark},
          {"tuned_at", record.tuned_at}};
}

Json to_json(const WinnerWithState& winner) {
  Json json{{"name", winner.name}};
  json.update(to_json(winner.record));
  return json;
}

Json to_json(const TrialRecord& trial) {
  Json json{{"status", status_text(trial)},
            {"family", trial.family},
            {"config", to_json(trial.config)},
            {"predicted_us", time_or_null(trial.predicted_us)},
            {"median_us", trial.measurement ? Json(trial.measurement->median_us) : Json(nullptr)},
            {"final_round", trial.final_round},
            {"max_error", trial.max_error},
            {"registers", trial.registers},
            {"shared_bytes", trial.shared_bytes},
            {"spill_bytes", trial.spill_bytes},
            {"compile_ms", trial.compile_ms}};
  json["reason"] = trial.rejection ? Json(name(trial.rejection->reason)) : Json(nullptr);
  json["detail"] = trial.rejection ? Json(trial.rejection->detail) : Json(nullptr);
  return json;
}

}  // namespace tunedgemm::internal
