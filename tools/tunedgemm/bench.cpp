// tunedgemm bench: our winners beside another library's, in one run.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tools/shared/options.h"
#include "tools/shared/program.h"
#include "tools/shared/shape.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/bench_output.h"
#include "tools/tunedgemm/bench_race.h"
#include "tools/tunedgemm/best_of.h"
#include "tools/tunedgemm/measuring_options.h"
#include "tools/tunedgemm/verbs.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// Contenders of --against that are not tuned.
constexpr const char* kUntuned = "untuned";
constexpr const char* kModel = "model";

struct Options {
  ContextChoice context;
  std::vector<Field> shape;
  std::string list, sizes, sweep;
  MeasuringChoice measuring;
  std::vector<std::filesystem::path> compared;
  std::vector<std::string> families;
  std::string configs;
  std::vector<std::string> rigors;
  int most_candidates = 0;
  int cool_down_ms = 20;
  bool back_to_back = false;
};

std::vector<Shape> shapes_of(const Options& options) {
  const std::vector<Field>& fields = options.shape;
  const auto is_extent = [](const Field& field) {
    return field.name == "m" || field.name == "n" || field.name == "k";
  };
  const auto extent = std::find_if(fields.begin(), fields.end(), is_extent);
  const bool is_swept = !options.sizes.empty() || !options.sweep.empty();
  if (extent != fields.end() && (is_swept || !options.list.empty())) {
    throw std::invalid_argument('"' + extent->value + "\" is the " + extent->name +
                                " of a single shape, and a list or a sweep was given too; leave "
                                "out one of them");
  }
  if (!options.list.empty()) {
    if (!fields.empty()) {
      throw std::invalid_argument("--" + fields.front().name + " " + fields.front().value +
                                  " does not go with --list, whose lines say it themselves");
    }
    return read_shape_list(options.list);
  }
  if (is_swept) {
    return square_shapes(fields, options.sweep.empty() ? options.sizes : kSquares);
  }
  if (extent == fields.end()) {
    throw std::invalid_argument(
        "bench needs shapes: M N K, or --sizes 256:4096:128, or --sweep squares, or --list FILE");
  }
  return {shape_of_arguments(options.shape)};
}

// Our other contenders, by the names under which they were asked for; and a remark for each that
// cannot take part.
std::vector<NamedCandidate> others(Context& context, const Problem& problem, const Options& options,
                                   std::vector<std::string>& remarks) {
  std::vector<NamedCandidate> found;
  const auto add = [&](const std::string& name, const std::optional<Candidate>& best) {
    if (best) {
      found.push_back({name, *best});
    } else {
      remarks.push_back(name + " takes no part: it has no kernel for this problem on this device");
    }
  };
  for (const std::string& family : options.families) {
    add(family,
        best_of(context, problem,
                favourites_of_family(*find_family(family), problem, context.device().limits())));
  }
  if (!options.configs.empty()) {
    add(options.configs, best_of(context, problem, named_candidates(options.configs)));
  }
  for (const std::string& text : options.rigors) {
    if (text == kModel || text == kUntuned) {
      const auto neighbours = text == kModel ? Neighbours::kIgnored : Neighbours::kAsked;
      found.push_back({text, untuned_choice(context, problem, neighbours)});
      continue;
    }
    const Rigor rigor = *parse_rigor(text);
    const int most = options.most_candidates;
    const bool is_limited = most != 0 && most < search_limits_of(rigor, {}).candidates;
    const std::string name = is_limited ? text + " of " + std::to_string(most) : text;
    std::string failure;
    if (const auto best = fresh_winner(context, problem, rigor, is_limited ? most : 0, &failure)) {
      found.push_back({name, *best});
    } else {
      remarks.push_back(name + " takes no part: ");
      remarks.back() += failure;
    }
  }
  return found;
}

// Empty if it was interrupted. What fails for this shape only is a row that says so.
std::optional<BenchRow> bench_shape(Context& context, Baseline* baseline, const Shape& shape,
                                    const Options& options) {
  BenchRow failed;
  failed.shape = shape;
  try {
    const Problem problem = canonical(shape.problem).problem;
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
    if (interrupted()) {  // what a tuning had found until then is not what it would have found
      return std::nullopt;
    }
    const BenchRaceOptions race{.rounds = options.measuring.rounds,
                                .cool_down = std::chrono::milliseconds(options.cool_down_ms)};
    BenchRow row = race_kernels(context, shape, ours, baseline, race);
    if (options.back_to_back) {
      Shape overlapping = shape;
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

// The shapes one by one, until one is interrupted.
std::vector<BenchRow> bench_shapes(Context& context, Baseline* baseline,
                                   const std::vector<Shape>& shapes, const Options& options,
                                   BenchFiles& files) {
  std::vector<BenchRow> rows;
  BenchProgress progress(std::cerr, shapes.size());
  for (const Shape& shape : shapes) {
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
              << ": what is done is kept.\n";
    return ExitStatus::kInterrupted;
  }
  const bool all = std::all_of(rows.begin(), rows.end(),
                               [](const BenchRow& row) { return row.failure.empty(); });
  return all ? ExitStatus::kGood : ExitStatus::kNoResult;
}

// Throws std::runtime_error with a sentence for a file that cannot be drawn beside this run.
void check_compared(const Plotter& plotter, const std::vector<std::filesystem::path>& compared,
                    const std::filesystem::path& json) {
  for (const std::filesystem::path& file : compared) {
    std::error_code ignored;  // mostly this run's file is not there yet
    if (std::filesystem::equivalent(file, json, ignored)) {
      throw std::runtime_error("--compare " + file.string() +
                               " is the file that this run writes; name another one by --json");
    }
    check_drawable(plotter, file);
  }
}

ExitStatus bench(const Options& options) {
  // Wrong input and missing tools are told before anything is measured.
  const std::vector<Shape> shapes = shapes_of(options);
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
  std::cerr << run.device << ", " << run.compiler << ", "
            << (baseline ? run.baseline : "no other library: " + why_no_baseline) << "; "
            << run.rounds << " interleaved rounds, each sample after " << run.cool_down_ms
            << " ms of cool-down; medians\n";
  note_interrupts();
  const std::vector<BenchRow> rows = bench_shapes(*context, baseline.get(), shapes, options, files);
  print_table(std::cout, rows, baseline == nullptr ? "" : baseline->name());
  print_means(std::cout, rows, baseline == nullptr ? "" : baseline->name());
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
      "bench", "our winners beside cuBLASLt (on the host OpenBLAS), interleaved in one run");
  const auto options = std::make_shared<Options>();
  add_shape_arguments(*verb, options->shape, Extents::kOptional);
  auto* sizes = verb->add_option("--sizes", options->sizes,
                                 "M = N = K: 1536,2176 or 256:4096:128; f16 unless --types says "
                                 "otherwise");
  auto* sweep = verb->add_option("--sweep", options->sweep,
                                 "squares: the same as --sizes " + std::string(kSquares))
                    ->check(CLI::IsMember({"squares"}));
  auto* list =
      verb->add_option("--list", options->list, "a list of shapes (CSV or JSON) instead of M N K");
  sizes->excludes(sweep)->excludes(list);
  sweep->excludes(list);
  add_context_options(*verb, options->context);
  verb->add_option(
          "--family", options->families,
          "also the best of this kernel family, as a contender of its own; may be repeated")
      ->check([](const std::string& name) {
        return find_family(name) ? "" : "there is no kernel family \"" + name + "\"";
      });
  verb->add_option("--configs", options->configs,
                   "also the best of a list of configs: triton-tutorial has that tutorial's 16, as "
                   "configs of mma")
      ->check(CLI::IsMember({"triton-tutorial"}));
  verb->add_option(
          "--against", options->rigors,
          "also what a tuning of its own with this rigor finds (quick, normal, exhaustive); "
          "or what a call runs that finds no winner: untuned, and model without the "
          "winners of near shapes; may be repeated with others")
      ->check(CLI::IsMember({"quick", "normal", "exhaustive", kUntuned, kModel}));
  verb->add_option(
          "--most-candidates", options->most_candidates,
          "how many the tunings of --against try at most, if their rigor gives more; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->needs("--against");
  verb->add_option(
          "--cool-down-ms", options->cool_down_ms,
          "how long the device cools down before each sample: a contender that draws much power "
          "lowers the clock of the one after it")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  verb->add_flag("--back-to-back", options->back_to_back,
                 "also the same kernels launched one right after the other, as a second column");
  add_measuring_options(*verb, options->measuring, 11, "plot_bench.py");
  verb->add_option("--compare", options->compared,
                   "draws an earlier run's JSON too, or tools/published/a100.json; may be repeated")
      ->check(CLI::ExistingFile)
      ->needs("--plot");
  verb->footer(
      "Every contender's result is checked before it is timed; inputs are random and cold; the "
      "times\n"
      "are those of the device alone. Before each launch runs a small kernel of nobody's, as "
      "other\n"
      "kernels do in a program, and its own time is taken off (--launches back_to_back: nothing\n"
      "runs between). `of roofline`: the least time for the operations at the "
      "peak\n"
      "of the clock seen and for the bytes at the memory's bandwidth, over ours. `x tuned`: how\n"
      "many times as fast as the tuned kernel. `spread`: half the distance from the 20th to the\n"
      "80th percentile. Ctrl-C ends the\n"
      "run after the shape at work and keeps what is done.\n"
      "Exit status: 0 good; 1 some shapes have no result; 2 the command line is wrong; 3 no such\n"
      "device; 130 interrupted.");
  verb->callback([options, &status] { status = bench(*options); });
}

}  // namespace tunedgemm::internal
