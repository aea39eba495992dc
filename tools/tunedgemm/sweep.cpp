// tunedgemm sweep: the configs of one kernel family, all checked and timed in one race, as a table.
// The instrument of those who write kernels; users have tune-all.
//
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --top 30
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --knob block_m=128 --knob stages=3,4
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --config "block_m=128 block_n=256 ..."

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/record.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/results.h"
#include "tools/shared/shape.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/sweep_configs.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct Options {
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
};

std::vector<Shape> shapes_of(const Options& options) {
  if (options.list.empty()) {
    return {shape_of_arguments(options.shape)};
  }
  if (!options.shape.empty()) {
    const Field& field = options.shape.front();
    throw std::invalid_argument(field.name + " " + field.value +
                                " does not go with --list, whose lines say it themselves");
  }
  return read_shape_list(options.list);
}

void print(const std::vector<SweptConfig>& configs, const Problem& problem) {
  Table table({{"time", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {"predicted", Align::kRight},
               {"registers", Align::kRight},
               {"spills", Align::kRight},
               {"compile ms", Align::kRight},
               {"error", Align::kRight},
               {"config"},
               {"rejected"}});
  for (const SweptConfig& config : configs) {
    const auto measurement = config.measurement();
    const Binary binary = config.trial ? config.trial->binary() : Binary{};
    table.add(
        {measurement ? time_text(measurement->median_us) : "-",
         measurement ? rounded_text(flops(problem) / measurement->median_us * 1e-6) : "-",
         time_text(config.ranked.predicted_us), std::to_string(binary.registers),
         std::to_string(binary.spill_bytes), rounded_text(binary.compile_ms),
         rounded_text(config.max_error), to_text(config.ranked.candidate.config),
         config.contender.rejection ? first_line(to_text(*config.contender.rejection), 80) : ""});
  }
  table.print_without_empty_columns(std::cout);
}

// One config as a flat object: an entry of the JSON file, and a line of the CSV file.
Json to_json(const Shape& shape, const SweptConfig& config) {
  const Problem& problem = shape.problem;
  const auto measurement = config.measurement();
  const Binary binary = config.trial ? config.trial->binary() : Binary{};
  const auto& rejection = config.contender.rejection;
  const auto known = [](bool is_known, double value) { return is_known ? Json(value) : Json(); };
  return {{"name", shape.name},
          {"types", types_text(problem)},
          {"layout", layout_text(problem)},
          {"epilogue", epilogue_text(problem)},
          {"m", problem.m},
          {"n", problem.n},
          {"k", problem.k},
          {"batch", problem.batch},
          {"family", config.ranked.candidate.family->name()},
          {"config", to_text(config.ranked.candidate.config)},
          {"median_us", known(measurement.has_value(), measurement ? measurement->median_us : 0)},
          {"p20_us", known(measurement.has_value(), measurement ? measurement->low_us : 0)},
          {"p80_us", known(measurement.has_value(), measurement ? measurement->high_us : 0)},
          {"tflops", known(measurement.has_value(),
                           measurement ? flops(problem) / measurement->median_us * 1e-6 : 0)},
          {"predicted_us", config.ranked.predicted_us},
          {"registers", binary.registers},
          {"shared_bytes", binary.shared_bytes},
          {"spill_bytes", binary.spill_bytes},
          {"compile_ms", binary.compile_ms},
          {"max_error", config.max_error},
          {"rejection", rejection ? Json(to_text(*rejection)) : Json()}};
}

void write_files(const Options& options, Device& device, const std::string& began_at,
                 const std::vector<Json>& rows) {
  if (!options.csv.empty()) {
    write_file(options.csv, csv_text(rows));
  }
  if (!options.json.empty()) {
    const Json document{{"device", device.identity().name},
                        {"compiler", device.toolchain().compiler},
                        {"driver", device.toolchain().driver},
                        {"began_at", began_at},
                        {"rounds", options.rounds},
                        {"cool_down_ms", options.cool_down_ms},
                        {"rows", rows}};
    write_file(options.json, json_text(document, 1) + "\n");
  }
}

// A row for each config.
std::vector<Json> sweep_shape(Context& context, const Shape& shape, const Options& options) {
  Device& device = context.device();
  const Device::Current current(device);
  const Problem problem = canonical(shape.problem).problem;
  std::vector<SweptConfig> configs =
      chosen_configs({find_family(options.family), options.configs, options.knobs, options.top},
                     problem, device.limits());
  DeviceEvaluator evaluator(device, context.store(), problem);
  std::cout << shape_text(shape) << "  " << types_text(problem) << "  " << layout_text(problem)
            << ": " << counted(configs.size(), "config") << " of " << options.family
            << ", roofline " << time_text(evaluator.roofline_us()) << std::endl;
  sweep_configs(configs, evaluator, options.rounds,
                {.sample_us = 1e3 * options.sample_ms,
                 .cool_down_seconds = 1e-3 * options.cool_down_ms,
                 .most_repeated_rounds = (options.rounds + 1) / 2,
                 .seed = 1});
  print(configs, problem);
  std::vector<Json> rows;
  for (const SweptConfig& config : configs) {
    rows.push_back(to_json(shape, config));
  }
  return rows;
}

ExitStatus sweep(const Options& options) {
  const std::vector<Shape> shapes = shapes_of(options);
  const auto context = Context::create(to_context_options(options.context));
  context->complete_probe();
  Device& device = context->device();
  const std::string began_at = utc_now();
  std::cerr << device.identity().name << ", " << device.toolchain().compiler << "; "
            << options.rounds << " rounds, each sample after " << options.cool_down_ms
            << " ms of cool-down; medians\n";
  note_interrupts();
  std::vector<Json> rows;
  bool all_timed = true;
  for (const Shape& shape : shapes) {
    const std::vector<Json> found = sweep_shape(*context, shape, options);
    rows.insert(rows.end(), found.begin(), found.end());
    all_timed = all_timed && std::any_of(found.begin(), found.end(), [](const Json& row) {
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
  auto* verb =
      app.add_subcommand("sweep", "the configs of one kernel family, all checked and timed");
  const auto options = std::make_shared<Options>();
  add_shape_arguments(*verb, options->shape, Extents::kOptional);
  verb->add_option("--list", options->list, "a list of shapes (CSV or JSON) instead of M N K");
  add_context_options(*verb, options->context);
  verb->add_option("--family", options->family, "the kernel family")
      ->required()
      ->check([](const std::string& name) {
        return find_family(name) ? "" : "there is no kernel family \"" + name + "\"";
      });
  auto* config = verb->add_option("--config", options->configs,
                                  "only this one, \"knob=value ...\"; may be repeated");
  verb->add_option("--knob", options->knobs,
                   "only configs with these values of a knob: stages=3,4; may be repeated")
      ->excludes(config);
  verb->add_option("--top", options->top, "how many at most, the best predicted first")
      ->capture_default_str();
  verb->add_option("--rounds", options->rounds, "timed rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--sample-ms", options->sample_ms, "how long a sample takes")
      ->check(CLI::Range(0.001, 10000.0))
      ->capture_default_str();
  verb->add_option("--cool-down-ms", options->cool_down_ms,
                   "pause before each sample; without one, large problems run at the device's "
                   "power limit, where all configs come closer")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  verb->add_option("--csv", options->csv, "a line for each config of each shape");
  verb->add_option("--json", options->json, "the same as one document");
  verb->footer(
      "The cache keeps what it has: a sweep neither reads winners nor stores any. Ctrl-C ends it\n"
      "after the sample at work and keeps what is done.");
  verb->callback([options, &status] { status = sweep(*options); });
}

}  // namespace tunedgemm::internal
