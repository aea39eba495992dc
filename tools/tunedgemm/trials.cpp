// tunedgemm trials: lists the outcome of every candidate for a problem.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <tuple>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct TrialsOptions {
  ContextChoice context;
  std::vector<Field> shape;
  bool json = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
  TableChoice table;
};

// Finalists come first, then screened, then rejected candidates. Each group is sorted by measured
// time, or by predicted time where nothing was measured.
bool precedes(const TrialRecord& left, const TrialRecord& right) {
  const auto rank = [](const TrialRecord& trial) {
    return std::tuple(trial.rejection.has_value(), !trial.final_round,
                      trial.measurement ? trial.measurement->median_us : trial.predicted_us);
  };
  return rank(left) < rank(right);
}

void print_table(const std::vector<TrialRecord>& trials, const TrialsOptions& options) {
  constexpr std::size_t kDetailWidth = 80;
  Table table({{"status"},
               {"reason"},
               {"measured", Align::kRight},
               {"spread", Align::kRight},
               {"predicted", Align::kRight},
               {"error", Align::kRight},
               {"registers", Align::kRight},
               {"shared", Align::kRight},
               {"spills", Align::kRight},
               {"compile", Align::kRight},
               {"detail"},
               {"candidate", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
  for (const TrialRecord& trial : trials) {
    table.add({std::string(status_text(trial)),
               trial.rejection ? std::string(name(trial.rejection->reason)) : "",
               trial.measurement ? time_text(trial.measurement->median_us) : "-",
               trial.measurement ? spread_text(*trial.measurement) : "-",
               time_text(trial.predicted_us), rounded_text(trial.max_error),
               std::to_string(trial.registers), std::to_string(trial.shared_bytes),
               std::to_string(trial.spill_bytes), time_text(1e3 * trial.compile_ms),
               trial.rejection ? first_line(trial.rejection->detail, kDetailWidth) : "",
               trial.family + " " + to_text(trial.config)});
  }
  table.print_chosen(std::cout, options.width, options.table);
}

ExitStatus trials(const TrialsOptions& options) {
  const NamedProblem shape = shape_of_arguments(options.shape, options.context.cache);
  const auto context = open_for_reading(options.context);
  Device& device = context->device();
  std::vector<TrialRecord> trials =
      context->store().trials({canonical(shape.problem), device.identity(), device.toolchain()});
  std::stable_sort(trials.begin(), trials.end(), precedes);
  if (options.json) {
    std::cout << json_text(to_json(trials), 2) << '\n';
  } else if (!trials.empty()) {
    print_table(trials, options);
  }
  if (trials.empty()) {
    std::cerr << "no candidate was tried for " << extents_text(shape.problem) << " "
              << types_text(shape.problem) << " on " << device.identity().name << " with "
              << compiler_text(device.toolchain().compiler) << '\n';
    return ExitStatus::kNoResult;
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_trials(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("trials", "list the outcome of every candidate for a problem");
  const auto options = std::make_shared<TrialsOptions>();
  add_shape_arguments(*verb, options->shape);
  add_context_options(*verb, options->context);
  add_table_options(*verb, options->table, options->json);
  add_wide_option(*verb, options->width);
  verb->footer("error: relative to the error bound; 1 is the limit.");
  verb->callback([options, &status] { status = trials(*options); });
}

}  // namespace tunedgemm::internal
