#include "tools/tune_all/estimate.h"

#include <algorithm>

#include "tuner/search_limits.h"

namespace tunedgemm {

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
    PlannedShape planned{.shape = shape};
    planned.tuned = context.find_tuned(problem, options.shape).has_value();
    planned.legal = static_cast<int>(ranked_candidates(problem, context.device().limits()).size());
    if (!planned.tuned) {
      planned.tried = std::min(planned.legal, search_limits.candidates);
      planned.seconds =
          std::min(planned.tried * result.seconds_per_candidate, search_limits.seconds);
    }
    result.seconds += planned.seconds;
    result.shapes.push_back(std::move(planned));
  }
  if (options.total_seconds > 0) {
    result.seconds = std::min(result.seconds, options.total_seconds);
  }
  return result;
}

}  // namespace tunedgemm
