#include "tools/tunedgemm/bench_files.h"

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tools/shared/results.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::string_view kJsonEnd = "\n ]\n}\n";

std::ofstream open(const std::filesystem::path& path) {
  std::ofstream file(path);
  if (!file) {
    throw std::runtime_error("the results cannot be written to " + path.string() + ": " +
                             std::strerror(errno) + "; name a file in a folder that is there");
  }
  return file;
}

void flush(std::ofstream& file, const std::filesystem::path& path) {
  if (!file.flush()) {
    throw std::runtime_error("the results cannot be written to " + path.string() +
                             "; is the disk full?");
  }
}

std::string cell(double known) {
  std::ostringstream text;
  text << known;
  return known == 0 ? "" : text.str();
}

Json value(double known) {
  return known == 0 ? Json(nullptr) : Json(known);
}

Json to_json(const BenchContender& contender) {
  return {{"contender", contender.name},
          {"kernel", contender.kernel.empty() ? Json(nullptr) : Json(contender.kernel)},
          {"median_us", contender.median_us},
          {"p20_us", contender.p20_us},
          {"p80_us", contender.p80_us},
          {"tflops", contender.tflops},
          {"of_roofline", value(contender.of_roofline)},
          {"clock_mhz", value(contender.clock_mhz)},
          {"max_error", contender.max_error}};
}

Json to_json(const BenchRow& row) {
  const Problem& problem = row.shape.problem;
  Json json{{"name", row.shape.name},
            {"types", types_text(problem)},
            {"layout", layout_text(problem)},
            {"epilogue", epilogue_text(problem)},
            {"m", problem.m},
            {"n", problem.n},
            {"k", problem.k},
            {"batch", problem.batch},
            {"problem", to_text(problem)},
            {"kernel", row.kernel},
            {"failure", row.failure.empty() ? Json(nullptr) : Json(row.failure)},
            {"remarks", row.remarks}};
  Json contenders = Json::array();
  for (const BenchContender& contender : row.contenders) {
    contenders.push_back(to_json(contender));
  }
  json["contenders"] = std::move(contenders);
  for (const BenchContender& contender : row.back_to_back) {
    json["back_to_back"].push_back(to_json(contender));
  }
  return json;
}

// The document as far as the rows.
std::string json_begin(const BenchRun& run) {
  Json json{{"device", run.device},
            {"compiler", run.compiler},
            {"driver", run.driver},
            {"vendor", run.baseline.empty() ? Json(nullptr) : Json(run.baseline)},
            {"began_at", run.began_at},
            {"rounds", run.rounds},
            {"cool_down_ms", run.cool_down_ms}};
  std::string text = json_text(json, 1);
  text.resize(text.rfind('\n'));  // without the closing brace
  return text + ",\n \"rows\": [";
}

}  // namespace

BenchFiles::BenchFiles(BenchRun run, std::filesystem::path csv, std::filesystem::path json)
    : run_(std::move(run)), csv_path_(std::move(csv)), json_path_(std::move(json)) {
  if (!csv_path_.empty()) {
    csv_ = open(csv_path_);
    csv_ << "device,vendor,began_at,cool_down_ms,"
            "name,types,layout,epilogue,m,n,k,batch,launches,contender,"
            "median_us,p20_us,p80_us,tflops,of_roofline,clock_mhz,max_error,kernel\n";
    flush(csv_, csv_path_);
  }
  if (!json_path_.empty()) {
    json_ = open(json_path_);
    json_ << json_begin(run_);
    json_end_ = json_.tellp();
    json_ << kJsonEnd;
    flush(json_, json_path_);
    if (json_end_ == std::ofstream::pos_type(-1)) {
      throw std::runtime_error("the results cannot be written to " + json_path_.string() +
                               ": it is no file in which one can go back; name one on a disk");
    }
  }
}

void BenchFiles::add(const BenchRow& row) {
  if (csv_.is_open()) {
    add_csv(row);
  }
  if (json_.is_open()) {
    add_json(row);
  }
}

void BenchFiles::add_csv(const BenchRow& row) {
  const Problem& problem = row.shape.problem;
  for (const BenchContender& contender : row.contenders) {
    csv_ << csv_cell(run_.device) << ',' << csv_cell(run_.baseline) << ',' << run_.began_at << ','
         << run_.cool_down_ms << ',' << csv_cell(row.shape.name) << ',' << types_text(problem)
         << ',' << layout_text(problem) << ',' << epilogue_text(problem) << ',' << problem.m << ','
         << problem.n << ',' << problem.k << ',' << problem.batch << ',' << name(problem.launches)
         << ',' << contender.name << ',' << contender.median_us << ',' << contender.p20_us << ','
         << contender.p80_us << ',' << contender.tflops << ',' << cell(contender.of_roofline) << ','
         << cell(contender.clock_mhz) << ',' << contender.max_error << ','
         << csv_cell(contender.kernel) << '\n';
  }
  if (!row.back_to_back.empty()) {
    add_csv(back_to_back(row));
  }
  flush(csv_, csv_path_);
}

// Writes over the end of the document, which is shorter than any row.
void BenchFiles::add_json(const BenchRow& row) {
  json_.seekp(json_end_);
  json_ << (json_has_rows_ ? ",\n  " : "\n  ") << json_text(to_json(row));
  json_end_ = json_.tellp();
  json_has_rows_ = true;
  json_ << kJsonEnd;
  flush(json_, json_path_);
}

}  // namespace tunedgemm::internal
