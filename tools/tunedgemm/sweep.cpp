// tunedgemm sweep: checks and times the configs of one kernel family in one race and prints a
// table. This is a tool for kernel authors; users have tune-all.
//
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --top 30
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --knob block_m=128 --knob stages=3,4
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --config "block_m=128 block_n=256 ..."

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/results.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"
#include "tuner/evaluator.h"
#include "tuner/race.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

struct SweepOptions {
  ContextChoice context;
  std::vector<Field> shape;
  std::string list;
  std::string family;
  std::vector<std::string> configs, knobs;
  std::size_t top = 100;
  double sample_ms = 3;
  int rounds = 3;
  int cool_down_ms = 0;
  std::string csv, json;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

std::vector<NamedProblem> shapes_of(const SweepOptions& options) {
  if (options.list.empty()) {
    return {shape_of_arguments(options.shape)};
  }
  if (!options.shape.empty()) {
    const Field& field = options.shape.front();
    throw std::invalid_argument(field.name + " " + field.value +
                                " cannot be combined with --list, whose lines set it");
  }
  return read_shape_list(options.list);
}

// A config and its results. Move-only: it owns the kernel that its contender samples.
struct SweptConfig {
  Instance ranked;
  std::unique_ptr<Trial> trial;  ///< null if it did not compile
  double max_error = 0;          ///< relative to the error bound
  Contender contender;

  // Summarizes the times so far; empty if the config is rejected or not timed.
  std::optional<Measurement> measurement() const {
    const bool was_timed = !contender.rejection && !contender.rounds_us.empty();
    return was_timed ? std::optional(summarize(contender.rounds_us)) : std::nullopt;
  }
};

// "stages=3,4": the allowed values of a knob. Throws std::invalid_argument.
std::pair<std::string, std::vector<std::int64_t>> parse_filter(const Family& family,
                                                               const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const auto knobs = family.knobs();
  if (sign == std::string::npos || std::none_of(knobs.begin(), knobs.end(), [&](const Knob& knob) {
        return knob.name == name;
      })) {
    throw std::invalid_argument("--knob " + text + " is not knob=value,value ... with a knob of " +
                                std::string(family.name()));
  }
  return {name, parse_number_list(text.substr(sign + 1), 0)};
}

// The family's legal candidates that pass every filter, the best predicted first.
std::vector<Instance> filtered_candidates(const Family& family, const Problem& problem,
                                          const DeviceLimits& limits,
                                          const std::vector<std::string>& filters) {
  std::vector<Instance> candidates = family.candidates(problem, limits);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Instance& left, const Instance& right) {
                     return left.predicted_us < right.predicted_us;
                   });
  for (const std::string& filter : filters) {
    const auto [knob, values] = parse_filter(family, filter);
    std::erase_if(candidates, [&, &knob = knob, &values = values](const Instance& ranked) {
      const std::int64_t value = ranked.candidate.config.at(knob);
      return std::find(values.begin(), values.end(), value) == values.end();
    });
  }
  return candidates;
}

// Throws std::invalid_argument if the config is wrong, or illegal for the problem.
Instance given_candidate(const Family& family, const Problem& problem, const DeviceLimits& limits,
                         const std::string& text) {
  const auto config = parse_config(text);
  Instantiation instance = config ? family.instantiate(problem, *config, limits)
                                  : Instantiation("it is not knob=value knob=value ...");
  if (!instance) {
    throw std::invalid_argument("--config \"" + text + "\": " + instance.why_not());
  }
  return std::move(instance).value();
}

// Compiles, checks and samples once; a failure becomes the contender's rejection.
void try_config(SweptConfig& config, Evaluator& evaluator) {
  Prepared prepared = evaluator.prepare(config.ranked);
  if (auto* rejection = std::get_if<Rejection>(&prepared)) {
    config.contender.rejection = std::move(*rejection);
    return;
  }
  config.trial = std::move(std::get<std::unique_ptr<Trial>>(prepared));
  const auto checked = config.trial->check();
  if (const auto* rejection = std::get_if<Rejection>(&checked)) {
    config.contender.rejection = *rejection;
    return;
  }
  config.max_error = std::get<double>(checked);
  const auto us = plausible_sample(*config.trial, 1, evaluator.roofline_us());
  if (const auto* rejection = std::get_if<Rejection>(&us)) {
    config.contender.rejection = *rejection;
    return;
  }
  config.contender = contender_of(*config.trial, std::get<double>(us));
}

// Works in batches if compile_ahead() blocks, so that an interrupt is noticed in time.
void try_all(std::span<SweptConfig> configs, Evaluator& evaluator) {
  const auto batch = static_cast<std::size_t>(evaluator.compile_batch());
  while (!configs.empty() && !interrupted()) {
    const auto next = configs.first(batch == 0 ? configs.size() : std::min(batch, configs.size()));
    std::vector<Instance> candidates;
    for (const SweptConfig& config : next) {
      candidates.push_back(config.ranked);
    }
    evaluator.compile_ahead(candidates);
    evaluator.warm_up();
    for (SweptConfig& config : next) {
      if (!interrupted()) {
        try_config(config, evaluator);
      }
    }
    configs = configs.subspan(next.size());
  }
}

void race_all(std::vector<SweptConfig>& configs, Evaluator& evaluator, int rounds,
              const RaceOptions& options) {
  std::vector<Contender*> contenders;
  for (SweptConfig& config : configs) {
    if (config.trial && !config.contender.rejection) {
      contenders.push_back(&config.contender);
    }
  }
  evaluator.warm_up();
  Race race(std::move(contenders), evaluator, options);
  while (!race.contenders().empty() && race.rounds() < rounds && !interrupted()) {
    race.run_round();
  }
}

// Sorts by time; rejected configs come last.
void sort_by_time(std::vector<SweptConfig>& configs) {
  const auto us = [](const SweptConfig& config) {
    const auto measurement = config.measurement();
    return measurement ? measurement->median_us : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(configs.begin(), configs.end(),
                   [&](const SweptConfig& a, const SweptConfig& b) { return us(a) < us(b); });
}

// Throws std::invalid_argument for a family of another device, a wrong filter, or a wrong or
// illegal config.
std::vector<SweptConfig> chosen_configs(const SweepOptions& options, const Problem& problem,
                                        const DeviceLimits& limits) {
  const Family& family = *find_family(options.family);
  if (family.backend() != limits.backend) {
    throw std::invalid_argument("the family " + std::string(family.name()) +
                                " does not run on this device");
  }
  std::vector<Instance> candidates;
  for (const std::string& text : options.configs) {
    candidates.push_back(given_candidate(family, problem, limits, text));
  }
  if (options.configs.empty()) {
    candidates = filtered_candidates(family, problem, limits, options.knobs);
  }
  std::vector<SweptConfig> configs;
  for (Instance& candidate : candidates) {
    if (configs.size() < options.top) {
      configs.emplace_back().ranked = std::move(candidate);
    }
  }
  return configs;
}

// Compiles, checks and times all configs unless interrupted, and sorts them by time. The configs
// must not outlive the evaluator.
void sweep_configs(std::vector<SweptConfig>& configs, Evaluator& evaluator, int rounds,
                   const RaceOptions& options) {
  try_all(configs, evaluator);
  race_all(configs, evaluator, rounds, options);
  sort_by_time(configs);
}

void print(const std::vector<SweptConfig>& configs, const Problem& problem, std::size_t width) {
  Table table({{"time", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {"rejected"},
               {"predicted", Align::kRight},
               {"registers", Align::kRight},
               {"spills", Align::kRight},
               {"compile ms", Align::kRight},
               {"error", Align::kRight},
               {"reason"},
               {"config", Align::kLeft, Constant::kColumn, TooWide::kWrap}});
  for (const SweptConfig& config : configs) {
    const auto measurement = config.measurement();
    const Binary binary = config.trial ? config.trial->binary() : Binary{};
    const auto& rejection = config.contender.rejection;
    table.add({measurement ? time_text(measurement->median_us) : "-",
               measurement ? rounded_text(flops(problem) / measurement->median_us * 1e-6) : "-",
               rejection ? std::string(name(rejection->reason)) : "",
               time_text(config.ranked.predicted_us), std::to_string(binary.registers),
               std::to_string(binary.spill_bytes), rounded_text(binary.compile_ms),
               rounded_text(config.max_error), rejection ? first_line(rejection->detail, 80) : "",
               to_text(config.ranked.candidate.config)});
  }
  table.print_fitting(std::cout, width);
}

// One config as a flat object: an entry of the JSON file, and a line of the CSV file.
Json to_json(const NamedProblem& shape, const SweptConfig& config) {
  const Problem& problem = shape.problem;
  const auto measurement = config.measurement();
  const Binary binary = config.trial ? config.trial->binary() : Binary{};
  const auto& rejection = config.contender.rejection;
  const auto time_or_null = [&](double Measurement::*time) {
    return measurement ? Json((*measurement).*time) : Json();
  };
  Json json = to_json(shape);
  json.update(
      {{"family", config.ranked.candidate.family->name()},
       {"config", to_text(config.ranked.candidate.config)},
       {"median_us", time_or_null(&Measurement::median_us)},
       {"p20_us", time_or_null(&Measurement::low_us)},
       {"p80_us", time_or_null(&Measurement::high_us)},
       {"tflops", measurement ? Json(flops(problem) / measurement->median_us * 1e-6) : Json()},
       {"predicted_us", config.ranked.predicted_us},
       {"registers", binary.registers},
       {"shared_bytes", binary.shared_bytes},
       {"spill_bytes", binary.spill_bytes},
       {"compile_ms", binary.compile_ms},
       {"max_error", config.max_error},
       {"rejection", rejection ? Json(to_text(*rejection)) : Json()}});
  return json;
}

void write_files(const SweepOptions& options, Device& device, const std::string& began_at,
                 const std::vector<Json>& rows) {
  if (!options.csv.empty()) {
    write_file(options.csv, csv_text(rows), IfThere::kReplaceResults);
  }
  if (!options.json.empty()) {
    const Json document{{"device", device.identity().name},
                        {"compiler", device.toolchain().compiler},
                        {"driver", device.toolchain().driver},
                        {"began_at", began_at},
                        {"rounds", options.rounds},
                        {"cool_down_ms", options.cool_down_ms},
                        {"rows", rows}};
    write_file(options.json, json_text(document, 1) + "\n", IfThere::kReplaceResults);
  }
}

// Returns a row for each config.
std::vector<Json> sweep_shape(Context& context, const NamedProblem& shape,
                              const SweepOptions& options) {
  Device& device = context.device();
  const Device::Current current(device);
  const CanonicalProblem problem = canonical(shape.problem);
  std::vector<SweptConfig> configs = chosen_configs(options, problem, device.limits());
  DeviceEvaluator evaluator(device, context.store(), problem);
  std::cout << wrapped(shape_text(shape) + "  " + types_text(problem) + "  " +
                           layout_text(problem) + ": " + counted(configs.size(), "config") +
                           " of " + options.family + ", roofline " +
                           time_text(evaluator.roofline_us()),
                       sentence_width(STDOUT_FILENO))
            << std::endl;
  sweep_configs(configs, evaluator, options.rounds,
                {.sample_us = 1e3 * options.sample_ms,
                 .cool_down_seconds = 1e-3 * options.cool_down_ms,
                 .most_repeated_rounds = (options.rounds + 1) / 2,
                 .seed = 1});
  print(configs, problem, options.width);
  std::vector<Json> rows;
  rows.reserve(configs.size());
  for (const SweptConfig& config : configs) {
    rows.push_back(to_json(shape, config));
  }
  return rows;
}

ExitStatus sweep(const SweepOptions& options) {
  const std::vector<NamedProblem> shapes = shapes_of(options);
  const auto context = Context::create(to_context_options(options.context));
  context->complete_probe();
  Device& device = context->device();
  const std::string began_at = utc_now();
  std::cerr << device.identity().name << ", " << compiler_text(device.toolchain().compiler) << "; "
            << options.rounds << " rounds, each sample after " << options.cool_down_ms
            << " ms of cool-down; medians\n";
  note_interrupts();
  std::vector<Json> rows;
  bool all_timed = true;
  for (const NamedProblem& shape : shapes) {
    const std::vector<Json> shape_rows = sweep_shape(*context, shape, options);
    rows.insert(rows.end(), shape_rows.begin(), shape_rows.end());
    all_timed = all_timed && std::any_of(shape_rows.begin(), shape_rows.end(), [](const Json& row) {
                  return row["median_us"].is_number();
                });
    write_files(options, device, began_at, rows);
    if (interrupted()) {
      std::cerr << "interrupted\n";
      return ExitStatus::kInterrupted;
    }
  }
  return all_timed ? ExitStatus::kGood : ExitStatus::kNoResult;
}

}  // namespace

void add_sweep(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("sweep", "check and time the configs of one kernel family");
  const auto options = std::make_shared<SweepOptions>();
  add_shape_arguments(*verb, options->shape, Extents::kOptional);
  verb->add_option("--list", options->list, "a list of shapes (CSV or JSON) instead of M N K");
  add_context_options(*verb, options->context);
  verb->add_option("--family", options->family, "the kernel family")
      ->required()
      ->check([](const std::string& name) {
        return find_family(name) ? "" : "there is no kernel family \"" + name + "\"";
      });
  auto* config = verb->add_option("--config", options->configs,
                                  "only this config, \"knob=value ...\"; may be repeated");
  verb->add_option("--knob", options->knobs,
                   "only configs with these values of a knob: stages=3,4; may be repeated")
      ->excludes(config);
  verb->add_option("--top", options->top, "the most configs to try, in order of predicted time")
      ->capture_default_str();
  verb->add_option("--rounds", options->rounds, "timed rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--sample-ms", options->sample_ms, "length of a sample")
      ->check(why_not_finite)
      ->check(CLI::Range(0.001, 10000.0))
      ->capture_default_str();
  verb->add_option("--cool-down-ms", options->cool_down_ms,
                   "pause before each sample; without it, large problems run at the device's power "
                   "limit, which narrows the differences between configs")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  add_wide_option(*verb, options->width);
  verb->add_option("--csv", options->csv, "write a line for each config of each shape");
  verb->add_option("--json", options->json, "write the same as a JSON document");
  verb->footer(
      "A sweep neither reads winners from the cache nor stores any. Ctrl-C ends it after the "
      "current sample and keeps finished results.");
  verb->callback([options, &status] { status = sweep(*options); });
}

}  // namespace tunedgemm::internal
