#include "tools/tunedgemm/bench_output.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>

#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

Json value_or_null(double value) {
  return value == 0 ? Json(nullptr) : Json(value);
}

Json to_json(const BenchContender& contender) {
  const auto if_built = [&](std::int64_t number) {
    return contender.compile_ms > 0 ? Json(number) : Json(nullptr);
  };
  return {{"contender", contender.name},
          {"kernel", contender.kernel.empty() ? Json(nullptr) : Json(contender.kernel)},
          {"median_us", value_or_null(contender.median_us)},
          {"p20_us", value_or_null(contender.p20_us)},
          {"p80_us", value_or_null(contender.p80_us)},
          {"tflops", value_or_null(contender.tflops)},
          {"of_roofline", value_or_null(contender.of_roofline)},
          {"clock_mhz", value_or_null(contender.clock_mhz)},
          {"max_error", contender.max_error},
          {"predicted_us", value_or_null(contender.predicted_us)},
          {"registers", if_built(contender.registers)},
          {"shared_bytes", if_built(contender.shared_bytes)},
          {"spill_bytes", if_built(contender.spill_bytes)},
          {"compile_ms", value_or_null(contender.compile_ms)},
          {"rejection", contender.rejection ? Json(to_text(*contender.rejection)) : Json(nullptr)}};
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

Json csv_line(const BenchRun& run, const NamedProblem& shape, const BenchContender& contender) {
  Json line = to_json(run);
  line.update(to_json(shape));
  line["launches"] = name(shape.problem.launch_regime);
  line.update(to_json(contender));
  return line;
}

std::string tflops_text(const BenchContender* contender, double scale = 1) {
  return contender == nullptr ? "-" : rounded_text(scale * contender->tflops);
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
  std::string text =
      ours->tflops < 1 ? tflops_text(ours, 1e3) + " GFLOP/s" : tflops_text(ours) + " TFLOP/s";
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

// A bar on a logarithmic scale; the fastest kernel has the longest.
std::string bar_text(double tflops, double least, double most) {
  constexpr double kLength = 32;
  const double part = most > least ? std::log(tflops / least) / std::log(most / least) : 1;
  return std::string(static_cast<std::size_t>(1 + std::lround((kLength - 1) * part)), '#');
}

}  // namespace

Json to_json(const BenchRow& row) {
  Json json = to_json(row.shape);
  json.update({{"problem", to_text(row.shape.problem)},
               {"kernel", row.kernel},
               {"failure", row.failure.empty() ? Json(nullptr) : Json(row.failure)},
               {"remarks", row.remarks},
               {"contenders", Json::array()}});
  for (const BenchContender& contender : row.contenders) {
    json["contenders"].push_back(to_json(contender));
  }
  for (const BenchContender& contender : row.back_to_back) {
    json["back_to_back"].push_back(to_json(contender));
  }
  return json;
}

BenchFiles::BenchFiles(BenchRun run, std::string csv_path, std::string json_path)
    : run_(std::move(run)), csv_path_(std::move(csv_path)), json_path_(std::move(json_path)) {
  write();
}

void BenchFiles::add(const BenchRow& row) {
  for (const BenchRow& regime : {row, back_to_back(row)}) {
    for (const BenchContender& contender : regime.contenders) {
      lines_.push_back(csv_line(run_, regime.shape, contender));
    }
  }
  json_rows_.push_back(json_text(to_json(row)));
  write();
}

void BenchFiles::write() const {
  if (!csv_path_.empty()) {
    std::string text = csv_text(lines_.empty() ? std::vector{csv_line(run_, {}, {})} : lines_);
    text.resize(lines_.empty() ? text.find('\n') + 1 : text.size());  // the columns' names alone
    write_file(csv_path_, text, IfThere::kReplaceResults);
  }
  if (!json_path_.empty()) {
    write_file(json_path_, document_text(run_, json_rows_), IfThere::kReplaceResults);
  }
}

void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline,
                 std::size_t width) {
  constexpr std::size_t kShapeWidth = 30;
  const bool are_slow = std::ranges::all_of(rows, [](const BenchRow& row) {
    const BenchContender* ours = tuned_contender(row);
    return ours == nullptr || ours->tflops < 1;
  });
  const double scale = are_slow ? 1e3 : 1;
  Table table({{"shape"},
               {"types", Align::kLeft, Constant::kHeading},
               {"layout", Align::kLeft, Constant::kHeading},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {are_slow ? "GFLOP/s" : "TFLOP/s", Align::kRight},
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
    for (const BenchContender& contender : row.contenders) {
      if (contender.kernel.empty()) {
        continue;  // the baseline's have columns
      }
      const bool is_tuned = &contender == ours;
      table.add(
          {shortened(is_tuned ? shape_text(row.shape) : "  " + contender.name, kShapeWidth),
           types_text(problem), layout_text(problem), time_text(contender.median_us),
           spread_text(contender.spread), tflops_text(&contender, scale),
           ratio_text(baseline_default(row), contender), ratio_text(baseline_best(row), contender),
           is_tuned ? "" : ratio_text(ours, contender), is_tuned ? back_to_back_text(row) : "",
           is_tuned ? tflops_text(baseline_default(row), scale) : "",
           is_tuned ? tflops_text(baseline_best(row), scale) : "",
           text_or_dash(contender.of_roofline), text_or_dash(contender.clock_mhz),
           contender.kernel});
    }
  }
  if (table.size() > 0) {
    table.print_fitting(out, width);
  }
}

void print_contenders(std::ostream& out, const BenchRow& row, Contenders contenders,
                      std::size_t width) {
  const bool are_steps = contenders == Contenders::kSteps;
  double least = 0, most = 0;
  for (const BenchContender& contender : row.contenders) {
    least = least == 0 ? contender.tflops : std::min(least, contender.tflops);
    most = std::max(most, contender.tflops);
  }
  Table table(
      {{"step"},
       {"time", Align::kRight},
       {"spread", Align::kRight},
       {"GFLOP/s", Align::kRight},
       {"rejected"},
       {"vs previous", Align::kRight},
       {"vs first", Align::kRight},
       {"GFLOP/s, logarithmic"},
       {"predicted", Align::kRight},
       {"of roofline", Align::kRight},
       {"error", Align::kRight},
       {"registers", Align::kRight},
       {"spills", Align::kRight},
       {"compile ms", Align::kRight},
       {"reason"},
       {"kernel", Align::kLeft, Constant::kColumn, are_steps ? TooWide::kOmit : TooWide::kWrap}});
  const BenchContender* before = nullptr;
  for (const BenchContender& contender : row.contenders) {
    const bool has_time = contender.median_us > 0;
    const auto speedup_over = [&](const BenchContender* other) {
      return before == nullptr ? "" : speedup_text(other->median_us, contender.median_us);
    };
    const auto& rejection = contender.rejection;
    table.add({are_steps ? contender.name : "", has_time ? time_text(contender.median_us) : "-",
               has_time ? spread_text(contender.spread) : "-",
               has_time ? rounded_text(1000 * contender.tflops) : "-",
               rejection ? std::string(name(rejection->reason)) : "",
               are_steps ? speedup_over(before) : "", speedup_over(&row.contenders.front()),
               are_steps ? bar_text(contender.tflops, least, most) : "",
               contender.predicted_us > 0 ? time_text(contender.predicted_us) : "",
               contender.of_roofline > 0 ? rounded_text(contender.of_roofline) : "",
               rounded_text(contender.max_error),
               contender.registers > 0 ? std::to_string(contender.registers) : "",
               contender.spill_bytes > 0 ? std::to_string(contender.spill_bytes) : "",
               contender.compile_ms > 0 ? rounded_text(contender.compile_ms) : "",
               rejection ? first_line(rejection->detail, 80) : "", contender.kernel});
    before = &contender;
  }
  const Problem& problem = row.shape.problem;
  const std::size_t most_width = sentence_width(STDOUT_FILENO);
  out << wrapped(shape_text(row.shape) + "  " + types_text(problem) + "  " + layout_text(problem),
                 most_width)
      << '\n';
  table.print_fitting(out, width);
  for (const std::string& remark : row.remarks) {
    out << wrapped(remark, most_width) << '\n';
  }
  out << '\n';
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
