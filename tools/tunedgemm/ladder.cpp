// tunedgemm ladder: races every kernel family on one problem, from the simplest to the tuned winner
// and another library, and shows the speedup of each step.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/bench_output.h"
#include "tools/tunedgemm/bench_race.h"
#include "tools/tunedgemm/best_of.h"
#include "tools/tunedgemm/measuring_options.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct LadderOptions {
  ContextChoice context;
  std::vector<Field> shape;
  MeasuringChoice measuring;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

std::vector<NamedProblem> shapes_of(const std::vector<Field>& fields, const DeviceLimits& limits) {
  if (has_field(fields, "m") || has_field(fields, "n") || has_field(fields, "k")) {
    return {shape_of_arguments(fields)};
  }
  const auto shape_with = [&](const char* m, const char* n, const char* k) {
    std::vector<Field> all = fields;
    all.insert(all.end(), {{"m", m}, {"n", n}, {"k", k}});
    return shape_of_arguments(std::move(all));
  };
  // The small shape is from the tutorial on which the first steps are based. The large shape
  // separates the last steps.
  const char* large = limits.is_gpu() ? "4096" : "1024";
  return {shape_with("512", "512", "256"), shape_with(large, large, large)};
}

// The best candidate of each family, and the winner.
std::vector<NamedCandidate> rungs_of(Context& context, const CanonicalProblem& problem,
                                     const LadderOptions& options) {
  std::vector<NamedCandidate> rungs;
  for (const Family* family : families(context.device().limits().backend)) {
    std::cerr << "  " << family->name() << " ...\n";
    if (const auto best = best_of(
            context, problem, favourites_of_family(*family, problem, context.device().limits()))) {
      rungs.push_back({std::string(family->name()), *best});
    }
    if (interrupted()) {
      return rungs;
    }
  }
  std::cerr << "  tuning ...\n";
  std::string failure;
  if (const auto winner =
          tuned_winner(context, problem, *parse_rigor(options.measuring.rigor), &failure)) {
    rungs.push_back({"tuned", *winner});
  } else if (!interrupted()) {
    throw std::runtime_error(failure);
  }
  return rungs;
}

// Replaces the baseline's proposals by the fastest of them, as one step.
void keep_best_of_baseline(BenchRow& row, const std::string& baseline) {
  const BenchContender* best = baseline_best(row);
  if (best == nullptr) {
    return;
  }
  BenchContender step = *best;
  step.name = baseline;
  std::erase_if(row.contenders,
                [](const BenchContender& contender) { return contender.kernel.empty(); });
  row.contenders.push_back(std::move(step));
}

ExitStatus ladder(const LadderOptions& options) {
  const MeasuringChoice& measuring = options.measuring;
  const std::optional<Plotter> plotter = find_plotter(measuring.picture);
  const std::string json = json_path(measuring.picture);
  const auto context = Context::create(to_context_options(options.context));
  context->complete_probe();
  Device& device = context->device();
  const auto shapes = shapes_of(options.shape, device.limits());
  std::string why_no_baseline;
  const auto baseline = open_baseline(device, &why_no_baseline);
  const BenchRaceOptions racing{.rounds = measuring.rounds};
  const BenchRun run = describe_run(device, baseline.get(), racing.rounds,
                                    static_cast<int>(racing.cool_down.count()));
  BenchFiles files(run, measuring.csv, json);
  std::cerr << run.device << ", " << compiler_text(run.compiler) << ", "
            << (baseline ? run.baseline : "no other library: " + why_no_baseline) << '\n';
  note_interrupts();
  for (const NamedProblem& shape : shapes) {
    std::cerr << shape_text(shape) << '\n';
    const CanonicalProblem problem = canonical(shape.problem);
    BenchRow row;
    try {
      const std::vector<NamedCandidate> rungs = rungs_of(*context, problem, options);
      if (interrupted()) {
        std::cerr << "interrupted\n";
        return ExitStatus::kInterrupted;
      }
      row = race_kernels(*context, shape, rungs, baseline.get(), racing);
    } catch (const DeviceError&) {
      throw;
    } catch (const std::runtime_error& error) {
      std::cerr << "no result for " << shape_text(shape) << ": " << error.what() << '\n';
      return ExitStatus::kNoResult;
    }
    if (baseline) {
      keep_best_of_baseline(row, baseline->name());
    }
    files.add(row);
    print_contenders(std::cout, row, Contenders::kSteps, options.width);
  }
  if (plotter) {
    const std::string& prefix = measuring.picture.plot;
    plot(*plotter, {json}, prefix);
    std::cout << "Drawn in " << prefix << ".png and " << prefix << ".svg\n";
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_ladder(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "ladder", "race every kernel on one problem, from the naive loop to the tuned winner");
  const auto options = std::make_shared<LadderOptions>();
  add_shape_arguments(*verb, options->shape, Extents::kOptional);
  add_context_options(*verb, options->context);
  add_wide_option(*verb, options->width);
  add_measuring_options(*verb, options->measuring, 5, "plot_ladder.py");
  verb->footer(
      "Default shapes: 512 x 512 x 256, and 4096^3 on a GPU or 1024^3 on the host, in f32. Every "
      "step is checked against a double-precision reference; it is the best of its family's most "
      "promising candidates. The last step is cuBLASLt's fastest proposal, or OpenBLAS.");
  verb->callback([options, &status] { status = ladder(*options); });
}

}  // namespace tunedgemm::internal
