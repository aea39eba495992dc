#include "tools/tunedgemm/bench_table.h"

#include <ostream>
#include <string_view>

#include "tools/shared/table.h"
#include "tools/shared/text.h"

namespace tunedgemm {
namespace {

std::string tflops_text(const BenchArm* arm) {
  return arm == nullptr ? "-" : rounded_text(arm->tflops);
}

std::string ratio_text(const BenchArm* theirs, const BenchArm& ours) {
  return theirs == nullptr ? "-" : speedup_text(theirs->median_us, ours.median_us);
}

std::string known_text(double value) {
  return value == 0 ? "-" : rounded_text(value);
}

void print_ratios(std::ostream& out, const Ratios& found, std::string_view other) {
  if (found.shapes > 0) {
    out << "against " << other << ": geometric mean " << speedup_text(found.geometric_mean, 1)
        << " over " << counted(static_cast<std::size_t>(found.shapes), "shape") << ", least "
        << speedup_text(found.least, 1) << " at " << found.least_shape << '\n';
  }
}

}  // namespace

void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& vendor) {
  Table table({{"shape"},
               {"types"},
               {"layout"},
               {"time", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {vendor + " default", Align::kRight},
               {"its best", Align::kRight},
               {"x default", Align::kRight},
               {"x best", Align::kRight},
               {"of limit", Align::kRight},
               {"MHz", Align::kRight},
               {"kernel"}});
  for (const BenchRow& row : rows) {
    const BenchArm* ours = tuned_arm(row);
    if (ours == nullptr) {
      continue;
    }
    table.add({shape_text(row.shape), types_text(row.shape.problem), layout_text(row.shape.problem),
               time_text(ours->median_us), tflops_text(ours), tflops_text(default_arm(row)),
               tflops_text(best_arm(row)), ratio_text(default_arm(row), *ours),
               ratio_text(best_arm(row), *ours), known_text(ours->of_limit),
               known_text(ours->clock_mhz), row.kernel});
    for (const BenchArm& arm : row.arms) {
      if (&arm != ours && !arm.kernel.empty()) {  // another family of ours
        table.add({"", arm.name, "", time_text(arm.median_us), tflops_text(&arm), "", "",
                   ratio_text(default_arm(row), arm), ratio_text(best_arm(row), arm),
                   known_text(arm.of_limit), known_text(arm.clock_mhz), arm.kernel});
      }
    }
  }
  if (table.size() > 0) {
    table.print(out);
  }
  for (const BenchRow& row : rows) {
    if (!row.failure.empty()) {
      out << "no result for " << shape_text(row.shape) << " " << types_text(row.shape.problem)
          << ": " << row.failure << '\n';
    }
  }
}

void print_means(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& vendor) {
  print_ratios(out, ratios(rows, default_arm), vendor + "'s default");
  print_ratios(out, ratios(rows, best_arm), "the best of its proposals");
  for (const std::string& name : other_arms(rows)) {
    print_ratios(out, ratios(rows, [&](const BenchRow& row) { return arm_named(row, name); }),
                 name);
  }
}

std::string result_text(const BenchRow& row) {
  const BenchArm* ours = tuned_arm(row);
  if (ours == nullptr) {
    return "no result: " + row.failure;
  }
  std::string text = tflops_text(ours) + " TFLOP/s";
  if (const BenchArm* theirs = default_arm(row)) {
    text += ", " + ratio_text(theirs, *ours) + " the default";
  }
  if (const BenchArm* theirs = best_arm(row)) {
    text += ", " + ratio_text(theirs, *ours) + " the best";
  }
  return text;
}

}  // namespace tunedgemm
