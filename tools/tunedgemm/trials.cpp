// tunedgemm trials: what came of every candidate for a problem.

#include <algorithm>
#include <iostream>
#include <memory>
#include <tuple>
#include <vector>

#include "tools/shared/context_options.h"
#include "tools/shared/json_text.h"
#include "tools/shared/record_json.h"
#include "tools/shared/shape_options.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct Options {
  ContextChoice context;
  ShapeChoice shape;
  bool failures = false;
  bool json = false;
};

// Finalists, then the screened, then the rejected; the fastest first.
bool goes_before(const TrialRecord& left, const TrialRecord& right) {
  const auto rank = [](const TrialRecord& trial) {
    return std::tuple(trial.rejection.has_value(), !trial.final_round,
                      trial.measurement ? trial.measurement->median_us : trial.predicted_us);
  };
  return rank(left) < rank(right);
}

std::string outcome_text(const TrialRecord& trial) {
  if (trial.rejection) {
    return std::string(name(trial.rejection->reason));
  }
  return trial.final_round ? "finalist" : "screened";
}

void print_table(const std::vector<TrialRecord>& trials) {
  constexpr std::size_t kDetailWidth = 80;
  Table table({{"candidate"},
               {"outcome"},
               {"measured", Align::kRight},
               {"spread", Align::kRight},
               {"predicted", Align::kRight},
               {"error", Align::kRight},
               {"registers", Align::kRight},
               {"shared", Align::kRight},
               {"spills", Align::kRight},
               {"compile", Align::kRight},
               {"detail"}});
  for (const TrialRecord& trial : trials) {
    table.add({trial.family + " " + to_text(trial.config), outcome_text(trial),
               trial.measurement ? time_text(trial.measurement->median_us) : "-",
               trial.measurement ? spread_text(*trial.measurement) : "-",
               time_text(trial.predicted_us), rounded_text(trial.max_error),
               std::to_string(trial.registers), std::to_string(trial.shared_bytes),
               std::to_string(trial.spill_bytes), time_text(1e3 * trial.compile_ms),
               trial.rejection ? first_line(trial.rejection->detail, kDetailWidth) : ""});
  }
  table.print_without_empty_columns(std::cout);
}

ExitStatus trials(const Options& options) {
  const Shape shape = to_shape(options.shape);
  ContextOptions context_options = to_context_options(options.context);
  context_options.store.access = StoreOptions::Access::kReadOnly;
  const auto context = Context::create(context_options);
  Device& device = context->device();
  std::vector<TrialRecord> trials =
      context->store().trials(shape.problem, device.identity(), device.toolchain());
  if (options.failures) {
    std::erase_if(trials, [](const TrialRecord& trial) { return !trial.rejection; });
  }
  std::stable_sort(trials.begin(), trials.end(), goes_before);
  if (options.json) {
    auto array = nlohmann::ordered_json::array();
    for (const TrialRecord& trial : trials) {
      array.push_back(to_json(trial));
    }
    std::cout << json_text(array, 2) << '\n';
  } else if (!trials.empty()) {
    print_table(trials);
  }
  if (trials.empty()) {
    std::cerr << "no candidate " << (options.failures ? "was rejected" : "was tried") << " for "
              << extents_text(shape.problem) << " " << types_text(shape.problem) << " on "
              << device.identity().name << " with " << device.toolchain().compiler << '\n';
    return ExitStatus::kFoundNothing;
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_trials(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("trials", "what came of every candidate for a problem");
  const auto options = std::make_shared<Options>();
  add_shape_arguments(*verb, options->shape);
  add_context_options(*verb, options->context);
  verb->add_flag("--failures", options->failures, "only those that were rejected");
  verb->add_flag("--json", options->json, "as a JSON array, with the whole compiler logs");
  verb->footer("error: of the permitted one; 1 is the limit.");
  verb->callback([options, &status] { status = trials(*options); });
}

}  // namespace tunedgemm::internal
