#include "tools/tune_all/report.h"

#include <algorithm>
#include <ostream>

#include "tools/shared/json_text.h"
#include "tools/shared/record_json.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kFailureWidth = 60;

std::string_view state_text(const Outcome& outcome) {
  switch (outcome.origin) {
    case TuneResult::Origin::kTuned:
      return outcome.record->complete ? "tuned" : "tuned in part";
    case TuneResult::Origin::kCached:
      return "cached";
    case TuneResult::Origin::kElsewhere:
      return "tuned elsewhere";
    case TuneResult::Origin::kFailed:
      break;
  }
  return "no winner";
}

std::vector<std::string> row(const Outcome& outcome) {
  const Problem& problem = outcome.shape.problem;
  std::vector<std::string> cells{outcome.shape.name, extents_text(problem), types_text(problem),
                                 layout_text(problem), epilogue_text(problem)};
  if (!outcome.record) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
  } else {
    const Record& record = *outcome.record;
    const double us = record.measurement.median_us;
    cells.insert(cells.end(),
                 {time_text(us), spread_text(record.measurement), gflops_text(flops(problem), us),
                  speedup_text(record.naive_us, us), speedup_text(record.default_us, us)});
  }
  cells.emplace_back(state_text(outcome));
  cells.push_back(outcome.record ? outcome.record->family + " " + to_text(outcome.record->config)
                                 : first_line(outcome.failure, kFailureWidth));
  cells.push_back(outcome.record ? outcome.record->remark : "");
  return cells;
}

auto count(const Session& session, TuneResult::Origin origin) {
  return std::count_if(session.outcomes.begin(), session.outcomes.end(),
                       [&](const Outcome& outcome) { return outcome.origin == origin; });
}

}  // namespace

void print_table(std::ostream& out, const Session& session) {
  Table table({{"name"},
               {"m x n x k"},
               {"types"},
               {"layout"},
               {"epilogue"},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"vs naive", Align::kRight},
               {"vs default", Align::kRight},
               {"state"},
               {"winner"},
               {"remark"}});
  for (const Outcome& outcome : session.outcomes) {
    table.add(row(outcome));
  }
  table.print_without_empty_columns(out);
}

void print_summary(std::ostream& out, const Session& session, Context& context) {
  const auto tuned = count(session, TuneResult::Origin::kTuned);
  const auto elsewhere = count(session, TuneResult::Origin::kElsewhere);
  const auto cached = count(session, TuneResult::Origin::kCached);
  const auto failed = count(session, TuneResult::Origin::kFailed);
  for (const Outcome& outcome : session.outcomes) {
    if (!outcome.record) {
      out << "no winner for " << shape_text(outcome.shape) << " "
          << types_text(outcome.shape.problem) << ": " << outcome.failure << '\n';
    }
  }
  out << counted(session.outcomes.size(), "shape") << " on " << context.device().identity().name
      << ": " << tuned << " tuned in " << duration_text(session.seconds) << ", " << cached
      << " already in the cache";
  if (elsewhere > 0) {
    out << ", " << elsewhere << " tuned meanwhile by another process";
  }
  out << ", " << failed << " without a winner.\n";
  if (tuned == 0 && failed == 0) {
    out << "Nothing was tuned: the cache had the winner of every shape.\n";
  }
  const auto remarked =
      std::count_if(session.outcomes.begin(), session.outcomes.end(), [](const Outcome& outcome) {
        return outcome.record.has_value() && !outcome.record->remark.empty();
      });
  if (remarked > 0) {
    out << counted(static_cast<std::size_t>(remarked), "shape")
        << " with a remark: more time (--budget-seconds, --rigor) or an idle machine decides.\n";
  }
  if (session.interrupted) {
    out << "Interrupted: what is done is kept, and the same command goes on from there.\n";
  }
  out << "Cache: " << context.store().health().path.string() << '\n';
}

void print_json(std::ostream& out, const Session& session) {
  auto array = nlohmann::ordered_json::array();
  for (const Outcome& outcome : session.outcomes) {
    nlohmann::ordered_json entry{{"name", outcome.shape.name},
                                 {"problem", to_text(outcome.shape.problem)},
                                 {"state", state_text(outcome)}};
    entry["record"] = outcome.record ? to_json(*outcome.record) : nlohmann::ordered_json(nullptr);
    entry["failure"] = outcome.failure;
    array.push_back(std::move(entry));
  }
  out << json_text(array, 2) << '\n';
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
