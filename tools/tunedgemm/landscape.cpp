// tunedgemm landscape: what the tuner saw for one problem: how time depends on each knob.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/shared/context_options.h"
#include "tools/shared/json_text.h"
#include "tools/shared/record_json.h"
#include "tools/shared/shape_options.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/picture_options.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct Options {
  ContextChoice context;
  ShapeChoice shape;
  PictureChoice picture;
};

// What is known of one value of a knob.
struct ValueOutcome {
  int timed = 0, rejected = 0;
  double best_us = 0;  ///< of what was timed and not rejected; 0: nothing was
};

// Family and knob, then the value.
using Landscape = std::map<std::pair<std::string, std::string>, std::map<int, ValueOutcome>>;

// 0 stands for no time yet.
void keep_least(double& least_us, double us) {
  least_us = least_us > 0 ? std::min(least_us, us) : us;
}

Landscape landscape_of(const std::vector<TrialRecord>& trials) {
  Landscape landscape;
  for (const TrialRecord& trial : trials) {
    for (const auto& [knob, value] : trial.config.knobs()) {
      ValueOutcome& outcome = landscape[{trial.family, knob}][value];
      if (trial.rejection) {
        ++outcome.rejected;
      } else if (trial.measurement) {
        ++outcome.timed;
        keep_least(outcome.best_us, trial.measurement->median_us);
      }
    }
  }
  return landscape;
}

double best_of(const std::vector<TrialRecord>& trials) {
  double best_us = 0;
  for (const TrialRecord& trial : trials) {
    if (trial.measurement && !trial.rejection) {
      keep_least(best_us, trial.measurement->median_us);
    }
  }
  return best_us;
}

void print_knobs(const std::vector<TrialRecord>& trials) {
  const double best_us = best_of(trials);
  Table table({{"family"},
               {"knob"},
               {"value", Align::kRight},
               {"timed", Align::kRight},
               {"rejected", Align::kRight},
               {"best", Align::kRight},
               {"of the best", Align::kRight}});
  for (const auto& [knob, values] : landscape_of(trials)) {
    if (values.size() < 2) {
      continue;  // nothing depends on it
    }
    bool is_first = true;
    for (const auto& [value, outcome] : values) {
      const bool is_known = outcome.best_us > 0;
      table.add({is_first ? knob.first : "", is_first ? knob.second : "", std::to_string(value),
                 std::to_string(outcome.timed), std::to_string(outcome.rejected),
                 is_known ? time_text(outcome.best_us) : "-",
                 is_known ? speedup_text(best_us, outcome.best_us) : "-"});
      is_first = false;
    }
  }
  table.print(std::cout);
}

void print_rejections(const std::vector<TrialRecord>& trials) {
  std::map<std::string, int> reasons;
  for (const TrialRecord& trial : trials) {
    if (trial.rejection) {
      ++reasons[std::string(name(trial.rejection->reason))];
    }
  }
  for (const auto& [reason, count] : reasons) {
    std::cout << "rejected: " << count << " " << reason << '\n';
  }
}

nlohmann::ordered_json document_of(const Problem& problem, Device& device,
                                   const std::vector<TrialRecord>& trials,
                                   const std::optional<Hit>& hit) {
  nlohmann::ordered_json document{{"problem", to_text(problem)},
                                  {"m", problem.m},
                                  {"n", problem.n},
                                  {"k", problem.k},
                                  {"types", types_text(problem)},
                                  {"layout", layout_text(problem)},
                                  {"device", device.identity().name},
                                  {"compiler", device.toolchain().compiler}};
  document["winner"] = nullptr;
  document["ties"] = nlohmann::ordered_json::array();
  if (hit) {
    const Record& record = hit->record;
    document["winner"] = record.family + " " + to_text(record.config);
    document["ties"] = record.ties;
    document["tuned_at"] = record.tuned_at;
  }
  document["trials"] = nlohmann::ordered_json::array();
  for (const TrialRecord& trial : trials) {
    auto json = to_json(trial);
    json["text"] = trial.family + " " + to_text(trial.config);
    document["trials"].push_back(std::move(json));
  }
  return document;
}

ExitStatus landscape(const Options& options) {
  const std::optional<Plotter> plotter = find_plotter(options.picture);
  const std::string json = json_path(options.picture);
  const Problem problem = canonical(to_shape(options.shape).problem).problem;
  ContextOptions context_options = to_context_options(options.context);
  context_options.store.access = StoreOptions::Access::kReadOnly;
  const auto context = Context::create(context_options);
  Device& device = context->device();
  const auto trials = context->store().trials(problem, device.identity(), device.toolchain());
  if (trials.empty()) {
    std::cerr << "no candidate was tried for " << extents_text(problem) << " "
              << types_text(problem) << " on " << device.identity().name << " with "
              << device.toolchain().compiler << ": tune it first, tune-all does\n";
    return ExitStatus::kFoundNothing;
  }
  const auto hit =
      context->store().find(problem, device.identity(), device.toolchain(), device.limits());
  std::cout << extents_text(problem) << " " << types_text(problem) << " on "
            << device.identity().name << ", " << counted(trials.size(), "candidate");
  if (hit) {
    std::cout << "\nwinner: " << hit->record.family << " " << to_text(hit->record.config) << ", "
              << time_text(hit->record.measurement.median_us) << ", with "
              << counted(hit->record.ties.size(), "tie");
  }
  std::cout << "\n\n";
  print_knobs(trials);
  print_rejections(trials);
  if (!json.empty()) {
    std::ofstream file(json);
    file << json_text(document_of(problem, device, trials, hit), 1) << '\n';
    if (!file.flush()) {
      throw std::runtime_error("cannot write " + json);
    }
  }
  if (plotter) {
    const std::string& prefix = options.picture.plot;
    plot(*plotter, {json}, prefix);
    std::cout << "Drawn in " << prefix << ".png and " << prefix << ".svg\n";
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_landscape(CLI::App& app, ExitStatus& status) {
  auto* verb =
      app.add_subcommand("landscape", "what the tuner saw for a problem: time against each knob");
  const auto options = std::make_shared<Options>();
  add_shape_arguments(*verb, options->shape);
  add_context_options(*verb, options->context);
  add_picture_options(*verb, options->picture, "plot_landscape.py");
  verb->footer(
      "of the best: how fast the best candidate with this value is, compared to the best of all.");
  verb->callback([options, &status] { status = landscape(*options); });
}

}  // namespace tunedgemm::internal
