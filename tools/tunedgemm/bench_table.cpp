#include "tools/tunedgemm/bench_table.h"

#include <ostream>
#include <string_view>

#include "tools/shared/table.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

std::string tflops_text(const BenchContender* contender) {
  return contender == nullptr ? "-" : rounded_text(contender->tflops);
}

std::string ratio_text(const BenchContender* theirs, const BenchContender& ours) {
  return theirs == nullptr ? "-" : speedup_text(theirs->median_us, ours.median_us);
}

std::string known_text(double value) {
  return value == 0 ? "-" : rounded_text(value);
}

// "x best" where the same kernels follow each other; empty where they were not asked to.
std::string back_to_back_text(const BenchRow& row) {
  const BenchRow overlapping = back_to_back(row);
  const BenchContender* ours = tuned_contender(overlapping);
  return ours == nullptr ? "" : ratio_text(baseline_best(overlapping), *ours);
}

enum class Ends { kLeast, kBoth };

void print_ratios(std::ostream& out, const Ratios& found, std::string_view other, Ends ends) {
  if (found.shapes > 0) {
    out << "against " << other << ": geometric mean " << speedup_text(found.geometric_mean, 1)
        << " over " << counted(static_cast<std::size_t>(found.shapes), "shape") << ", least "
        << speedup_text(found.least, 1) << " at " << found.least_shape;
    if (ends == Ends::kBoth) {
      out << ", greatest " << speedup_text(found.greatest, 1) << " at " << found.greatest_shape;
    }
    out << '\n';
  }
}

}  // namespace

void print_table(std::ostream& out, const std::vector<BenchRow>& rows,
                 const std::string& baseline) {
  Table table({{"shape"},
               {"types"},
               {"layout"},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {baseline + " default", Align::kRight},
               {"its best", Align::kRight},
               {"x default", Align::kRight},
               {"x best", Align::kRight},
               {"back to back", Align::kRight},
               {"x tuned", Align::kRight},
               {"of roofline", Align::kRight},
               {"MHz", Align::kRight},
               {"kernel"}});
  for (const BenchRow& row : rows) {
    const BenchContender* ours = tuned_contender(row);
    if (ours == nullptr) {
      continue;
    }
    table.add({shape_text(row.shape), types_text(row.shape.problem), layout_text(row.shape.problem),
               time_text(ours->median_us), spread_text(ours->spread), tflops_text(ours),
               tflops_text(baseline_default(row)), tflops_text(baseline_best(row)),
               ratio_text(baseline_default(row), *ours), ratio_text(baseline_best(row), *ours),
               back_to_back_text(row), "", known_text(ours->of_roofline),
               known_text(ours->clock_mhz), row.kernel});
    for (const BenchContender& contender : row.contenders) {
      if (&contender != ours && !contender.kernel.empty()) {  // another family of ours
        table.add(
            {"", contender.name, "", time_text(contender.median_us), spread_text(contender.spread),
             tflops_text(&contender), "", "", ratio_text(baseline_default(row), contender),
             ratio_text(baseline_best(row), contender), "", ratio_text(ours, contender),
             known_text(contender.of_roofline), known_text(contender.clock_mhz), contender.kernel});
      }
    }
  }
  if (table.size() > 0) {
    table.print_without_empty_columns(out);
  }
  for (const BenchRow& row : rows) {
    if (!row.failure.empty()) {
      out << "no result for " << shape_text(row.shape) << " " << types_text(row.shape.problem)
          << ": " << row.failure << '\n';
    }
  }
}

void print_means(std::ostream& out, const std::vector<BenchRow>& rows,
                 const std::string& baseline) {
  print_ratios(out, ratios(rows, baseline_default), baseline + "'s default", Ends::kLeast);
  print_ratios(out, ratios(rows, baseline_best), "the best of its proposals", Ends::kLeast);
  std::vector<BenchRow> overlapping;
  overlapping.reserve(rows.size());
  for (const BenchRow& row : rows) {
    overlapping.push_back(back_to_back(row));
  }
  print_ratios(out, ratios(overlapping, baseline_best), "the same, all launched back to back",
               Ends::kLeast);
  for (const std::string& name : other_contenders(rows)) {
    print_ratios(out, ratios(rows, [&](const BenchRow& row) { return contender_named(row, name); }),
                 name, Ends::kBoth);
  }
}

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

void BenchProgress::shape_begins(const Shape& shape) {
  out_ << ended_ + 1 << '/' << shapes_ << "  " << shape_text(shape) << ' '
       << types_text(shape.problem) << ' ' << layout_text(shape.problem) << ": " << std::flush;
}

void BenchProgress::shape_ends(const BenchRow& row) {
  ++ended_;
  out_ << result_text(row);
  if (ended_ < shapes_) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    const double seconds_a_shape = spent.count() / static_cast<double>(ended_);
    out_ << "  (" << duration_text(seconds_a_shape * static_cast<double>(shapes_ - ended_))
         << " left)";
  }
  out_ << '\n';
  for (const std::string& remark : row.remarks) {
    out_ << "    " << remark << '\n';
  }
  out_ << std::flush;
}

}  // namespace tunedgemm::internal
