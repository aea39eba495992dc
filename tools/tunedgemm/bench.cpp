// tunedgemm bench: races our winners against another library's kernels.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
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
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// The contenders of --against that are not tuned.
constexpr const char* kUntuned = "untuned";
constexpr const char* kModel = "model";
// The list of --configs that is no file.
constexpr const char* kTritonTutorial = "triton-tutorial";

struct BenchOptions {
  ContextChoice context;
  std::vector<Field> shape;
  std::string list, sizes, sweep;
  MeasuringChoice measuring;
  std::vector<std::filesystem::path> compared;
  std::vector<std::string> families;
  std::vector<std::string> configs;
  std::vector<std::string> rigors;
  int most_candidates = 0;
  int cool_down_ms = 20;
  bool back_to_back = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

std::vector<NamedProblem> shapes_to_race(const BenchOptions& options) {
  const std::vector<Field>& fields = options.shape;
  const auto extent = std::find_if(fields.begin(), fields.end(), is_extent);
  const bool is_swept = !options.sizes.empty() || !options.sweep.empty();
  if (extent != fields.end() && (is_swept || !options.list.empty())) {
    throw std::invalid_argument('"' + extent->value + "\" is the " + extent->name +
                                " of a single shape, but a list or a sweep was given as well; "
                                "remove one of them");
  }
  if (is_swept) {
    return square_shapes(fields, options.sweep.empty() ? options.sizes : kSquares);
  }
  if (extent == fields.end() && options.list.empty()) {
    throw std::invalid_argument(
        "bench needs shapes: M N K, or --sizes 256:4096:128, or --sweep squares, or --list FILE");
  }
  return shapes_of(fields, options.list);
}

// The contender of --configs is the best of these candidates.
std::vector<Candidate> candidates_of_list(const std::string& list, const Problem& problem,
                                          const DeviceLimits& limits) {
  return list == kTritonTutorial
             ? triton_tutorial_candidates()
             : nearest_candidates(read_configs(list), ranked_candidates(problem, limits));
}

std::string name_of_list(const std::string& list) {
  return list == kTritonTutorial ? list : std::filesystem::path(list).stem().string();
}

// Our contenders other than the winner, named after their options. Adds a remark for each contender
// that cannot take part.
std::vector<NamedCandidate> others(Context& context, const CanonicalProblem& problem,
                                   const BenchOptions& options, std::vector<std::string>& remarks) {
  std::vector<NamedCandidate> contenders;
  const auto add = [&](const std::string& name, const std::optional<Candidate>& best,
                       const std::string& why_not) {
    if (best) {
      contenders.push_back({name, *best});
    } else {
      remarks.push_back(name + " takes no part: " + why_not);
    }
  };
  const std::string no_kernel = "it has no kernel for this problem on this device";
  for (const std::string& family : options.families) {
    add(family,
        best_of(context, problem,
                favourites_of_family(*find_family(family), problem, context.device().limits())),
        no_kernel);
  }
  for (const std::string& list : options.configs) {
    add(name_of_list(list),
        best_of(context, problem, candidates_of_list(list, problem, context.device().limits())),
        no_kernel);
  }
  for (const std::string& text : options.rigors) {
    if (text == kModel || text == kUntuned) {
      const auto neighbours = text == kModel ? Neighbours::kIgnored : Neighbours::kUsed;
      contenders.push_back({text, untuned_choice(context, problem, neighbours)});
      continue;
    }
    const Rigor rigor = *parse_rigor(text);
    const int most = options.most_candidates;
    const bool is_limited = most != 0 && most < search_limits_of(rigor, {}).candidates;
    const std::string name = is_limited ? text + " of " + std::to_string(most) : text;
    std::string failure;
    const auto best = fresh_winner(context, problem, rigor, is_limited ? most : 0, &failure);
    add(name, best, failure);
  }
  return contenders;
}

// Empty if interrupted. If this shape fails, the row holds the reason and the run continues.
std::optional<BenchRow> bench_shape(Context& context, Baseline* baseline, const NamedProblem& shape,
                                    const BenchOptions& options) {
  BenchRow failed;
  failed.shape = shape;
  try {
    const CanonicalProblem problem = canonical(shape.problem);
    const auto winner =
        tuned_winner(context, problem, *parse_rigor(options.measuring.rigor), &failed.failure);
    if (interrupted()) {
      return std::nullopt;
    }
    if (!winner) {
      return failed;
    }
    std::vector<std::string> remarks;
    std::vector<NamedCandidate> ours{{"tuned", *winner}};
    for (NamedCandidate& other : others(context, problem, options, remarks)) {
      ours.push_back(std::move(other));
    }
    if (interrupted()) {  // an interrupted tuning may not have found its winner
      return std::nullopt;
    }
    const BenchRaceOptions race{.rounds = options.measuring.rounds,
                                .cool_down = std::chrono::milliseconds(options.cool_down_ms)};
    BenchRow row = race_kernels(context, shape, ours, baseline, race);
    if (options.back_to_back) {
      NamedProblem overlapping = shape;
      overlapping.problem.launch_regime = LaunchRegime::kBackToBack;
      row.back_to_back = race_kernels(context, overlapping, ours, baseline, race).contenders;
    }
    row.remarks.insert(row.remarks.end(), remarks.begin(), remarks.end());
    return row;
  } catch (const DeviceError& error) {
    if (error.kind() != DeviceError::Kind::kOutOfMemory) {
      throw;
    }
    failed.failure = error.what();
  } catch (const std::runtime_error& error) {
    failed.failure = error.what();
  }
  return failed;
}

// Races the shapes one by one until interrupted.
std::vector<BenchRow> bench_shapes(Context& context, Baseline* baseline,
                                   const std::vector<NamedProblem>& shapes,
                                   const BenchOptions& options, BenchFiles& files) {
  std::vector<BenchRow> rows;
  BenchProgress progress(std::cerr, shapes.size());
  for (const NamedProblem& shape : shapes) {
    progress.shape_begins(shape);
    std::optional<BenchRow> row = bench_shape(context, baseline, shape, options);
    if (!row) {
      std::cerr << "interrupted\n";
      break;
    }
    progress.shape_ends(*row);
    files.add(*row);
    rows.push_back(std::move(*row));
    if (interrupted()) {
      break;
    }
  }
  return rows;
}

ExitStatus status_of(const std::vector<BenchRow>& rows, std::size_t wanted) {
  if (rows.size() < wanted) {
    std::cerr << "Interrupted after " << rows.size() << " of " << counted(wanted, "shape")
              << ": finished results are kept.\n";
    return ExitStatus::kInterrupted;
  }
  const bool all = std::all_of(rows.begin(), rows.end(),
                               [](const BenchRow& row) { return row.failure.empty(); });
  return all ? ExitStatus::kGood : ExitStatus::kNoResult;
}

// Throws std::runtime_error for a file that cannot be drawn together with this run.
void check_compared(const Plotter& plotter, const std::vector<std::filesystem::path>& compared,
                    const std::filesystem::path& json) {
  for (const std::filesystem::path& file : compared) {
    std::error_code ignored;  // this run's file usually does not exist yet
    if (std::filesystem::equivalent(file, json, ignored)) {
      throw std::runtime_error("--compare " + file.string() +
                               " is the file that this run writes; choose another one with --json");
    }
    check_drawable(plotter, file);
  }
}

ExitStatus bench(const BenchOptions& options) {
  // Report wrong input and missing tools before measuring.
  const std::vector<NamedProblem> shapes = shapes_to_race(options);
  for (const std::string& list : options.configs) {
    if (list != kTritonTutorial) {
      read_configs(list);
    }
  }
  const MeasuringChoice& measuring = options.measuring;
  const std::optional<Plotter> plotter = find_plotter(measuring.picture);
  const std::string json = json_path(measuring.picture);
  if (plotter) {
    check_compared(*plotter, options.compared, json);
  }
  const auto context = Context::create(to_context_options(options.context));
  context->complete_probe();
  Device& device = context->device();
  std::string why_no_baseline;
  const auto baseline = open_baseline(device, &why_no_baseline);
  const BenchRun run = describe_run(device, baseline.get(), measuring.rounds, options.cool_down_ms);
  BenchFiles files(run, measuring.csv, json);
  std::cerr << run.device << ", " << compiler_text(run.compiler) << ", "
            << (baseline ? run.baseline : "no other library: " + why_no_baseline) << "; "
            << run.rounds << " interleaved rounds, each sample after " << run.cool_down_ms
            << " ms of cool-down; medians\n";
  note_interrupts();
  const std::vector<BenchRow> rows = bench_shapes(*context, baseline.get(), shapes, options, files);
  print_table(std::cout, rows, baseline == nullptr ? "" : baseline->name(), options.width);
  std::ostringstream summary;
  print_summary(summary, rows, baseline == nullptr ? "" : baseline->name());
  std::cout << wrapped(summary.str(), sentence_width(STDOUT_FILENO));
  if (plotter && std::any_of(rows.begin(), rows.end(), tuned_contender)) {
    std::vector<std::filesystem::path> drawn{json};
    drawn.insert(drawn.end(), options.compared.begin(), options.compared.end());
    plot(*plotter, drawn, measuring.picture.plot);
  }
  return status_of(rows, shapes.size());
}

}  // namespace

void add_bench(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "bench", "race our winners against cuBLASLt (on the host OpenBLAS) in interleaved rounds");
  const auto options = std::make_shared<BenchOptions>();
  add_shape_arguments(*verb, options->shape, Extents::kOptional);
  auto* sizes = verb->add_option("--sizes", options->sizes,
                                 "M = N = K: 1536,2176 or 256:4096:128; types default to f16");
  auto* sweep = verb->add_option("--sweep", options->sweep,
                                 "squares: same as --sizes " + std::string(kSquares))
                    ->check(CLI::IsMember({"squares"}));
  auto* list =
      verb->add_option("--list", options->list, "a list of shapes (CSV or JSON) instead of M N K");
  sizes->excludes(sweep)->excludes(list);
  sweep->excludes(list);
  add_context_options(*verb, options->context);
  verb->add_option("--family", options->families,
                   "add the best config of this kernel family as a contender; may be repeated")
      ->check([](const std::string& name) {
        return find_family(name) ? "" : "there is no kernel family \"" + name + "\"";
      });
  verb->add_option("--configs", options->configs,
                   "add the best config of a list: triton-tutorial has the 16 configs of Triton's "
                   "tutorial, for family mma; a file has a config a line, as in \"block_m=128 "
                   "stages=4\", and each stands for the candidate nearest to it; may be repeated")
      ->check([](const std::string& name) {
        return name == kTritonTutorial ? "" : CLI::ExistingFile(name);
      });
  verb->add_option(
          "--against", options->rigors,
          "add the winner of a fresh tuning with this rigor (quick, normal, exhaustive), or the "
          "kernel of a call without a winner: untuned, or model, which ignores the winners of "
          "similar shapes; may be repeated")
      ->check(CLI::IsMember({"quick", "normal", "exhaustive", kUntuned, kModel}));
  verb->add_option(
          "--most-candidates", options->most_candidates,
          "the most candidates that a tuning of --against may try; 0: as many as its rigor")
      ->check(why_negative)
      ->needs("--against");
  verb->add_option(
          "--cool-down-ms", options->cool_down_ms,
          "idle time before each sample, because a contender's power draw lowers the clock of the "
          "next one")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  verb->add_flag("--back-to-back", options->back_to_back,
                 "also race the same kernels launched back to back, in another column");
  add_wide_option(*verb, options->width);
  add_measuring_options(*verb, options->measuring, 11, "plot_bench.py");
  verb->add_option("--compare", options->compared,
                   "also draw an earlier run's JSON, or tools/published/a100.json; may be repeated")
      ->check(CLI::ExistingFile)
      ->needs("--plot");
  verb->footer(
      "Every contender's result is checked before it is timed. Inputs are random and cold; times "
      "are device times. An unrelated small kernel runs before each launch, as other kernels do "
      "in a program, and its own time is subtracted (--launches back_to_back: no kernel in "
      "between).\n"
      "`of roofline`: the roofline time, from the operations at the peak of the measured clock "
      "and the bytes at the memory bandwidth, divided by ours. `x tuned`: speed relative to the "
      "tuned kernel. `spread`: half the distance from the 20th to the 80th percentile, relative "
      "to the median. Ctrl-C ends the run after the current shape and keeps finished results.\n"
      "Exit status: 0 success; 1 some shapes have no result; 2 the command line is wrong; 3 no "
      "such device; 130 interrupted.");
  verb->callback([options, &status] { status = bench(*options); });
}

}  // namespace tunedgemm::internal
