#include "tools/tune_all/estimate.h"

#include <algorithm>
#include <ostream>

#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {

Estimate estimate(Context& context, const std::vector<Shape>& shapes,
                  const SessionOptions& options) {
  Estimate result;
  double spent = 0;
  double tried = 0;
  for (const Record& record : context.store().winners()) {
    if (record.device == context.device().identity()) {
      spent += record.spent_seconds;
      tried += record.candidates_tried;
    }
  }
  result.measured = tried > 0;
  const double assumed = context.device().backend().usual_seconds_per_candidate();
  result.seconds_per_candidate = result.measured ? spent / tried : assumed;

  const SearchLimits search_limits = search_limits_of(options.shape.rigor, options.shape.budget);
  for (const Shape& shape : shapes) {
    const Problem problem = canonical(shape.problem).problem;
    PlannedShape planned;
    planned.shape = shape;
    planned.tuned = context.find_tuned(problem, options.shape).has_value();
    const std::vector<Instance> ranked = ranked_candidates(problem, context.device().limits());
    planned.legal = static_cast<int>(ranked.size());
    if (!planned.tuned) {
      planned.why_too_small = why_too_small(
          search_limits, {.seconds_per_candidate = result.seconds_per_candidate,
                          .launch_us = ranked.front().predicted_us,
                          .cool_down_seconds = context.device().backend().cool_down_seconds()});
      planned.tried = std::min(planned.legal, search_limits.candidates);
      planned.seconds =
          std::min(planned.tried * result.seconds_per_candidate, search_limits.seconds);
    }
    result.seconds += planned.seconds;
    result.shapes.push_back(std::move(planned));
  }
  return result;
}

std::vector<std::string> budget_warnings(const Estimate& estimate, const SessionOptions& options) {
  std::vector<std::string> warnings;
  const auto is_too_small = [](const PlannedShape& shape) { return !shape.why_too_small.empty(); };
  const auto first = std::find_if(estimate.shapes.begin(), estimate.shapes.end(), is_too_small);
  if (first != estimate.shapes.end()) {
    const auto count = std::count_if(first, estimate.shapes.end(), is_too_small);
    warnings.push_back(std::to_string(count) + " of " + counted(estimate.shapes.size(), "shape") +
                       ": " + first->why_too_small);
  }
  if (options.total_seconds > 0 && estimate.seconds > options.total_seconds) {
    warnings.push_back("all shapes take about " + duration_text(estimate.seconds) +
                       ", more than the " + duration_text(options.total_seconds) +
                       " of --total-seconds: the last ones may not be tried");
  }
  return warnings;
}

void print_estimate(std::ostream& out, const Estimate& estimate, Context& context) {
  Table table({{"name"},
               {"m x n x k"},
               {"types"},
               {"layout"},
               {"epilogue"},
               {"legal", Align::kRight},
               {"tried at most", Align::kRight},
               {"estimate", Align::kRight}});
  std::ptrdiff_t known = 0;
  for (const PlannedShape& planned : estimate.shapes) {
    const Problem& problem = planned.shape.problem;
    known += planned.tuned ? 1 : 0;
    table.add({planned.shape.name, extents_text(problem), types_text(problem), layout_text(problem),
               epilogue_text(problem), std::to_string(planned.legal), std::to_string(planned.tried),
               planned.tuned ? "in the cache" : duration_text(planned.seconds)});
  }
  table.print_without_empty_columns(out);
  out << counted(estimate.shapes.size(), "shape") << " on " << context.device().identity().name
      << ": " << known << " in the cache, "
      << static_cast<std::ptrdiff_t>(estimate.shapes.size()) - known << " to tune in about "
      << duration_text(estimate.seconds) << " (" << rounded_text(estimate.seconds_per_candidate)
      << " s a candidate, "
      << (estimate.measured ? "as measured on this device before"
                            : "assumed: nothing was tuned on this device yet")
      << ").\nNothing was tuned: this was a dry run.\n";
}

}  // namespace tunedgemm::internal
