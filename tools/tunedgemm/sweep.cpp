// tunedgemm sweep: checks and times the configs of one kernel family in one race and prints a
// table. This is a tool for kernel authors; users have tune-all.
//
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --top 30
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --knob block_m=128 --knob stages=3,4
//   tunedgemm sweep 4096 4096 4096 --types f16 --family mma --config "block_m=128 block_n=256 ..."

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/family.h"
#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/bench_output.h"
#include "tools/tunedgemm/bench_race.h"
#include "tools/tunedgemm/verbs.h"

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
  const auto candidate = parse_candidate(text);
  const auto config = candidate ? std::optional(candidate->config) : parse_config(text);
  Instantiation instance = config ? family.instantiate(problem, *config, limits)
                                  : Instantiation("it is not knob=value knob=value ...");
  if (!instance) {
    throw std::invalid_argument("--config \"" + text + "\": " + instance.why_not());
  }
  return std::move(instance).value();
}

// Throws std::invalid_argument for a family of another device, a wrong filter, or a wrong or
// illegal config.
std::vector<Instance> chosen_configs(const SweepOptions& options, const Problem& problem,
                                     const DeviceLimits& limits) {
  const Family& family = *find_family(options.family);
  if (family.backend() != limits.backend) {
    throw std::invalid_argument("the family " + std::string(family.name()) +
                                " does not run on this device");
  }
  std::vector<Instance> configs;
  for (const std::string& text : options.configs) {
    configs.push_back(given_candidate(family, problem, limits, text));
  }
  if (options.configs.empty()) {
    configs = filtered_candidates(family, problem, limits, options.knobs);
  }
  if (configs.size() > options.top) {
    configs.erase(configs.begin() + static_cast<std::ptrdiff_t>(options.top), configs.end());
  }
  return configs;
}

// Races the configs unless interrupted. The row has the reason if none has a time.
BenchRow sweep_shape(Context& context, const NamedProblem& shape, const SweepOptions& options) {
  const std::vector<Instance> configs =
      chosen_configs(options, canonical(shape.problem), context.device().limits());
  std::cerr << shape_text(shape) << ": " << counted(configs.size(), "config") << " of "
            << options.family << '\n';
  BenchRow row = race_configs(context, shape, configs,
                              {.rounds = options.rounds,
                               .cool_down = std::chrono::milliseconds(options.cool_down_ms),
                               .sample_us = 1e3 * options.sample_ms,
                               .cancelled = interrupted});
  if (row.contenders.empty() || row.contenders.front().median_us == 0) {
    row.failure = "no config has a time";
  }
  return row;
}

ExitStatus sweep(const SweepOptions& options) {
  const std::vector<NamedProblem> shapes = shapes_of(options.shape, options.list);
  const auto context = Context::create(to_context_options(options.context));
  context->complete_probe();
  const BenchRun run =
      describe_run(context->device(), nullptr, options.rounds, options.cool_down_ms);
  BenchFiles files(run, options.csv, options.json);
  std::cerr << run.device << ", " << compiler_text(run.compiler) << "; " << run.rounds
            << " rounds, each sample after " << run.cool_down_ms << " ms of cool-down; medians\n";
  note_interrupts();
  bool all_timed = true;
  for (const NamedProblem& shape : shapes) {
    const BenchRow row = sweep_shape(*context, shape, options);
    files.add(row);
    print_contenders(std::cout, row, Contenders::kFastestFirst, options.width);
    all_timed = all_timed && row.failure.empty();
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
  auto* config =
      verb->add_option("--config", options->configs,
                       "only this config, \"knob=value ...\", optionally after the family's "
                       "name; may be repeated");
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
  verb->add_option("--csv", options->csv, "write every config's figures to this file, row by row");
  verb->add_option("--json", options->json, "write all figures to this file, as bench does");
  verb->footer(
      "A sweep neither reads winners from the cache nor stores any. Ctrl-C ends it after the "
      "current sample and keeps finished results.");
  verb->callback([options, &status] { status = sweep(*options); });
}

}  // namespace tunedgemm::internal
