#include "tools/tunedgemm/bench_output.h"

#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

std::string cell(double value) {
  std::ostringstream text;
  text << value;
  return value == 0 ? "" : text.str();
}

Json value_or_null(double value) {
  return value == 0 ? Json(nullptr) : Json(value);
}

Json to_json(const BenchContender& contender) {
  return {{"contender", contender.name},
          {"kernel", contender.kernel.empty() ? Json(nullptr) : Json(contender.kernel)},
          {"median_us", contender.median_us},
          {"p20_us", contender.p20_us},
          {"p80_us", contender.p80_us},
          {"tflops", contender.tflops},
          {"of_roofline", value_or_null(contender.of_roofline)},
          {"clock_mhz", value_or_null(contender.clock_mhz)},
          {"max_error", contender.max_error}};
}

Json to_json(const BenchRow& row) {
  Json json = to_json(row.shape);
  json.update({{"problem", to_text(row.shape.problem)},
               {"kernel", row.kernel},
               {"failure", row.failure.empty() ? Json(nullptr) : Json(row.failure)},
               {"remarks", row.remarks}});
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

Json to_json(const BenchRun& run) {
  return {{"device", run.device},
          {"compiler", run.compiler},
          {"driver", run.driver},
          {"vendor", run.baseline.empty() ? Json(nullptr) : Json(run.baseline)},
          {"began_at", run.began_at},
          {"rounds", run.rounds},
          {"cool_down_ms", run.cool_down_ms}};
}

// One line per row, so that a diff shows changed rows.
std::string document_text(const BenchRun& run, const std::vector<std::string>& rows) {
  std::string text = json_text(to_json(run), 1);
  text.resize(text.rfind('\n'));  // without the closing brace
  text += ",\n \"rows\": [";
  std::string_view separator = "\n  ";
  for (const std::string& row : rows) {
    text.append(separator).append(row);
    separator = ",\n  ";
  }
  return text + "\n ]\n}\n";
}

std::string csv_lines(const BenchRun& run, const BenchRow& row) {
  std::ostringstream csv;
  const Problem& problem = row.shape.problem;
  for (const BenchContender& contender : row.contenders) {
    csv << csv_cell(run.device) << ',' << csv_cell(run.baseline) << ',' << run.began_at << ','
        << run.cool_down_ms << ',' << csv_cell(row.shape.name) << ',' << types_text(problem) << ','
        << layout_text(problem) << ',' << epilogue_text(problem) << ',' << problem.m << ','
        << problem.n << ',' << problem.k << ',' << problem.batch << ','
        << name(problem.launch_regime) << ',' << contender.name << ',' << contender.median_us << ','
        << contender.p20_us << ',' << contender.p80_us << ',' << contender.tflops << ','
        << cell(contender.of_roofline) << ',' << cell(contender.clock_mhz) << ','
        << contender.max_error << ',' << csv_cell(contender.kernel) << '\n';
  }
  return csv.str();
}

std::string tflops_text(const BenchContender* contender) {
  return contender == nullptr ? "-" : rounded_text(contender->tflops);
}

std::string ratio_text(const BenchContender* theirs, const BenchContender& ours) {
  return theirs == nullptr ? "-" : speedup_text(theirs->median_us, ours.median_us);
}

std::string text_or_dash(double value) {
  return value == 0 ? "-" : rounded_text(value);
}

// The table's cell "x best" for the back-to-back launches; empty if they were not measured.
std::string back_to_back_text(const BenchRow& row) {
  const BenchRow overlapping = back_to_back(row);
  const BenchContender* ours = tuned_contender(overlapping);
  return ours == nullptr ? "" : ratio_text(baseline_best(overlapping), *ours);
}

// "812 TFLOP/s, 1.03x the default, 1.01x the best".
std::string result_text(const BenchRow& row) {
  const BenchContender* ours = tuned_contender(row);
  if (ours == nullptr) {
    return "no result: " + row.failure;
  }
  std::string text = tflops_text(ours) + " TFLOP/s";
  if (const BenchContender* theirs = baseline_default(row)) {
    text += ", " + ratio_text(theirs, *ours) + " the default";
  }
  if (const BenchContender* theirs = baseline_best(row)) {
    text += ", " + ratio_text(theirs, *ours) + " the best";
  }
  return text;
}

void print_ratios(std::ostream& out, const Ratios& summary, std::string_view other) {
  if (summary.shapes > 0) {
    out << "against " << other << ": geometric mean " << speedup_text(summary.geometric_mean, 1)
        << " over " << counted(static_cast<std::size_t>(summary.shapes), "shape") << ", least "
        << speedup_text(summary.least, 1) << " at " << summary.least_shape << ", greatest "
        << speedup_text(summary.greatest, 1) << " at " << summary.greatest_shape << '\n';
  }
}

}  // namespace

BenchFiles::BenchFiles(BenchRun run, std::string csv_path, std::string json_path)
    : run_(std::move(run)), csv_path_(std::move(csv_path)), json_path_(std::move(json_path)) {
  csv_ =
      "device,vendor,began_at,cool_down_ms,name,types,layout,epilogue,m,n,k,batch,launches,"
      "contender,median_us,p20_us,p80_us,tflops,of_roofline,clock_mhz,max_error,kernel\n";
  write();
}

void BenchFiles::add(const BenchRow& row) {
  csv_ += csv_lines(run_, row) + csv_lines(run_, back_to_back(row));
  json_rows_.push_back(json_text(to_json(row)));
  write();
}

void BenchFiles::write() const {
  if (!csv_path_.empty()) {
    write_file(csv_path_, csv_, IfThere::kReplaceResults);
  }
  if (!json_path_.empty()) {
    write_file(json_path_, document_text(run_, json_rows_), IfThere::kReplaceResults);
  }
}

void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline,
                 std::size_t width) {
  constexpr std::size_t kShapeWidth = 30;
  Table table({{"shape"},
               {"types", Align::kLeft, Constant::kHeading},
               {"layout", Align::kLeft, Constant::kHeading},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {"x default", Align::kRight},
               {"x best", Align::kRight},
               {"x tuned", Align::kRight},
               {"back to back", Align::kRight},
               {baseline + " default", Align::kRight},
               {"its best", Align::kRight},
               {"of roofline", Align::kRight},
               {"MHz", Align::kRight},
               {"kernel"}});
  for (const BenchRow& row : rows) {
    const BenchContender* ours = tuned_contender(row);
    if (ours == nullptr) {
      continue;
    }
    const Problem& problem = row.shape.problem;
    table.add({shortened(shape_text(row.shape), kShapeWidth), types_text(problem),
               layout_text(problem), time_text(ours->median_us), spread_text(ours->spread),
               tflops_text(ours), ratio_text(baseline_default(row), *ours),
               ratio_text(baseline_best(row), *ours), "", back_to_back_text(row),
               tflops_text(baseline_default(row)), tflops_text(baseline_best(row)),
               text_or_dash(ours->of_roofline), text_or_dash(ours->clock_mhz), row.kernel});
    for (const BenchContender& contender : row.contenders) {
      if (&contender != ours && !contender.kernel.empty()) {  // another contender of ours
        table.add({shortened("  " + contender.name, kShapeWidth), types_text(problem),
                   layout_text(problem), time_text(contender.median_us),
                   spread_text(contender.spread), tflops_text(&contender),
                   ratio_text(baseline_default(row), contender),
                   ratio_text(baseline_best(row), contender), ratio_text(ours, contender), "", "",
                   "", text_or_dash(contender.of_roofline), text_or_dash(contender.clock_mhz),
                   contender.kernel});
      }
    }
  }
  if (table.size() > 0) {
    table.print_fitting(out, width);
  }
}

void print_summary(std::ostream& out, const std::vector<BenchRow>& rows,
                   const std::string& baseline) {
  for (const BenchRow& row : rows) {
    if (!row.failure.empty()) {
      out << "no result for " << shape_text(row.shape) << " " << types_text(row.shape.problem)
          << ": " << row.failure << '\n';
    }
  }
  print_ratios(out, ratios(rows, baseline_default), baseline + "'s default");
  print_ratios(out, ratios(rows, baseline_best), "the best of its proposals");
  std::vector<BenchRow> overlapping;
  overlapping.reserve(rows.size());
  for (const BenchRow& row : rows) {
    overlapping.push_back(back_to_back(row));
  }
  print_ratios(out, ratios(overlapping, baseline_best), "the best, launched back to back");
  for (const std::string& name : other_contenders(rows)) {
    print_ratios(out, ratios(rows, [&](const BenchRow& row) { return contender_named(row, name); }),
                 name);
  }
}

void BenchProgress::shape_begins(const NamedProblem& shape) {
  out_ << ended_ + 1 << '/' << shapes_ << "  " << shape_text(shape) << ' '
       << types_text(shape.problem) << ' ' << layout_text(shape.problem) << ": " << std::flush;
}

void BenchProgress::shape_ends(const BenchRow& row) {
  ++ended_;
  out_ << result_text(row);
  if (ended_ < shapes_) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    const double seconds_per_shape = spent.count() / static_cast<double>(ended_);
    out_ << "  (" << duration_text(seconds_per_shape * static_cast<double>(shapes_ - ended_))
         << " left)";
  }
  out_ << '\n';
  for (const std::string& remark : row.remarks) {
    out_ << "    " << remark << '\n';
  }
  out_ << std::flush;
}

}  // namespace tunedgemm::internal
