#include "tools/tune_all/estimate.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <unordered_set>

#include "tools/shared/program.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// The maximum number of candidates tried for the problem. Counting the legal candidates takes
// milliseconds, so they are counted only if all of them are tried.
double most_candidates(const Problem& problem, const Context& context, const TuneOptions& options) {
  const bool tries_all = options.rigor == Rigor::kExhaustive && options.budget.candidates == 0;
  return tries_all
             ? static_cast<double>(ranked_candidates(problem, context.device().limits()).size())
             : search_limits_of(options.rigor, options.budget).candidates;
}

}  // namespace

Estimate estimate(std::span<Context* const> contexts, const std::vector<NamedProblem>& shapes,
                  const SessionOptions& options) {
  Context& context = *contexts.front();
  Estimate result;
  double spent = 0;
  double tried = 0;
  // Reads all winners at once, so that shapes without a winner need no look-up. That of the others
  // says whether the winner can be used and suffices.
  std::unordered_set<std::string> with_winner;
  for (const Record& record : context.store().winners()) {
    if (record.device == context.device().identity()) {
      spent += record.spent_seconds;
      tried += record.candidates_tried;
      with_winner.insert(fingerprint(record.problem));
    }
  }
  result.measured = tried > 0;
  const double assumed = context.device().backend().usual_seconds_per_candidate();
  result.seconds_per_candidate = result.measured ? spent / tried : assumed;

  const SearchLimits search_limits = search_limits_of(options.shape.rigor, options.shape.budget);
  const Backend& backend = context.device().backend();
  for (const NamedProblem& shape : shapes) {
    if (interrupted()) {
      break;
    }
    const CanonicalProblem problem = canonical(shape.problem);
    PlannedShape planned;
    planned.shape = shape;
    planned.tuned = !options.shape.force && with_winner.count(fingerprint(problem)) > 0 &&
                    context.find_tuned(problem, options.shape).has_value();
    if (!planned.tuned) {
      planned.why_too_small = why_too_small(
          search_limits, {.seconds_per_candidate = result.seconds_per_candidate,
                          .launch_us = backend.roofline_us(problem, context.device().limits()),
                          .cool_down_seconds = backend.cool_down_seconds()});
      planned.seconds =
          std::min(most_candidates(problem, context, options.shape) * result.seconds_per_candidate,
                   search_limits.seconds);
    }
    result.seconds += planned.seconds / static_cast<double>(contexts.size());
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

void print_estimate(std::ostream& out, const Estimate& estimate, std::size_t shapes,
                    std::span<Context* const> contexts, std::size_t width) {
  Table table({{"m x n x k"},
               {"types", Align::kLeft, Constant::kHeading},
               {"epilogue", Align::kLeft, Constant::kHeading},
               {"estimate", Align::kRight},
               {"name"}});
  std::ptrdiff_t cached = 0;
  for (const PlannedShape& planned : estimate.shapes) {
    const Problem& problem = planned.shape.problem;
    cached += planned.tuned ? 1 : 0;
    table.add({shape_text(problem), types_text(problem), epilogue_text(problem),
               planned.tuned ? "in the cache" : duration_text(planned.seconds),
               planned.shape.name});
  }
  table.print_fitting(out, width);
  std::ostringstream text;
  text << counted(estimate.shapes.size(), "shape") << " on " << devices_text(contexts) << ": "
       << cached << " in the cache, "
       << static_cast<std::ptrdiff_t>(estimate.shapes.size()) - cached << " to tune in about "
       << duration_text(estimate.seconds) << " (" << rounded_text(estimate.seconds_per_candidate)
       << " s per candidate, "
       << (estimate.measured ? "as measured on this device earlier"
                             : "assumed: nothing has been tuned on this device")
       << ").\n";
  if (estimate.shapes.size() < shapes) {
    text << "Interrupted: the estimate lacks the last "
         << counted(shapes - estimate.shapes.size(), "shape") << " of the list.\n";
  }
  text << "Nothing was tuned: this was a dry run.\n";
  out << wrapped(text.str(), sentence_width(STDOUT_FILENO));
}

void print_json(std::ostream& out, const Estimate& estimate, const Context& context) {
  Json shapes = Json::array();
  for (const PlannedShape& planned : estimate.shapes) {
    Json shape = to_json(planned.shape);
    shape["in_cache"] = planned.tuned;
    shape["seconds"] = planned.seconds;
    shapes.push_back(std::move(shape));
  }
  const Json json{{"device", context.device().identity().name},
                  {"seconds", estimate.seconds},
                  {"seconds_per_candidate", estimate.seconds_per_candidate},
                  {"seconds_are_measured", estimate.measured},
                  {"shapes", std::move(shapes)}};
  out << json_text(json, 2) << '\n';
}

}  // namespace tunedgemm::internal
