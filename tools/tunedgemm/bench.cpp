// tunedgemm bench: our winners beside the vendor's library, in one run.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "tools/shared/context_options.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/shape_options.h"
#include "tools/shared/table.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/race.h"
#include "tools/tunedgemm/verbs.h"
#include "tuner/statistics.h"

namespace tunedgemm {
namespace {

struct Options {
  ContextChoice context;
  ShapeChoice shape;
  std::string list;
  std::string rigor = "normal";
  std::string csv;
  int rounds = 11;
};

struct Row {
  Shape shape;
  Race race;
  Measurement tuned, vendor_default,
      vendor_best;  ///< of the vendor's: no samples if it took no part
};

Measurement measurement_of(const Race& race, const std::string& name) {
  for (const Racer& racer : race.racers) {
    if (racer.name == name) {
      return summarize(racer.rounds_us);
    }
  }
  return {};
}

Measurement best_of_vendor(const Race& race) {
  Measurement best;
  for (const Racer& racer : race.racers) {
    if (racer.name != "tuned") {
      const Measurement measured = summarize(racer.rounds_us);
      best = best.samples_us.empty() || measured.median_us < best.median_us ? measured : best;
    }
  }
  return best;
}

double tflops(const Row& row, const Measurement& measurement) {
  return flops(row.shape.problem) / measurement.median_us * 1e-6;
}

std::string ratio_text(const Measurement& other, const Measurement& ours) {
  return other.samples_us.empty() ? "-" : speedup_text(other.median_us, ours.median_us);
}

Row bench_shape(Context& context, CublasLt* vendor, const Shape& shape, const Options& options) {
  const Problem problem = canonical(shape.problem).problem;
  TuneOptions tuning;
  tuning.rigor = *parse_rigor(options.rigor);
  const TuneResult tuned = context.tune(problem, tuning);
  if (!tuned.record) {
    throw std::runtime_error(shape_text(shape) + ": " + tuned.tuning.failure);
  }
  const Candidate winner{find_family(tuned.record->family), tuned.record->config};
  Row row{.shape = shape,
          .race = race(context, problem, winner, vendor, options.rounds, 1),
          .tuned = {},
          .vendor_default = {},
          .vendor_best = {}};
  row.tuned = measurement_of(row.race, "tuned");
  row.vendor_default = measurement_of(row.race, "cublaslt 0");
  row.vendor_best = best_of_vendor(row.race);
  return row;
}

void print_table(const std::vector<Row>& rows) {
  Table table({{"shape"},
               {"types"},
               {"layout"},
               {"time", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {"cuBLASLt default", Align::kRight},
               {"best of 8", Align::kRight},
               {"x default", Align::kRight},
               {"x best", Align::kRight},
               {"of limit", Align::kRight},
               {"kernel"}});
  double log_default = 0;
  double log_best = 0;
  int compared = 0;
  for (const Row& row : rows) {
    const auto vendor_tflops = [&](const Measurement& vendor) {
      return vendor.samples_us.empty() ? "-" : rounded_text(tflops(row, vendor));
    };
    table.add({shape_text(row.shape), types_text(row.shape.problem), layout_text(row.shape.problem),
               time_text(row.tuned.median_us), rounded_text(tflops(row, row.tuned)),
               vendor_tflops(row.vendor_default), vendor_tflops(row.vendor_best),
               ratio_text(row.vendor_default, row.tuned), ratio_text(row.vendor_best, row.tuned),
               rounded_text(row.race.floor_us / row.tuned.median_us), row.race.kernel});
    if (!row.vendor_best.samples_us.empty()) {
      log_default += std::log(
          (row.vendor_default.samples_us.empty() ? row.vendor_best : row.vendor_default).median_us /
          row.tuned.median_us);
      log_best += std::log(row.vendor_best.median_us / row.tuned.median_us);
      ++compared;
    }
  }
  table.print(std::cout);
  if (compared > 1) {
    std::cout << "geometric mean over " << compared
              << " shapes: " << rounded_text(std::exp(log_default / compared))
              << "x the vendor's default, " << rounded_text(std::exp(log_best / compared))
              << "x its best of 8\n";
  }
}

void write_csv(const std::vector<Row>& rows, const std::string& path, const std::string& device) {
  std::ofstream out(path);
  out << "device,types,layout,m,n,k,batch,arm,median_us,low_us,high_us,tflops,max_error,kernel\n";
  for (const Row& row : rows) {
    const Problem& problem = row.shape.problem;
    for (const Racer& racer : row.race.racers) {
      const Measurement measured = summarize(racer.rounds_us);
      out << device << ',' << types_text(problem) << ',' << layout_text(problem) << ',' << problem.m
          << ',' << problem.n << ',' << problem.k << ',' << problem.batch << ',' << racer.name
          << ',' << measured.median_us << ',' << measured.low_us << ',' << measured.high_us << ','
          << tflops(row, measured) << ',' << racer.max_error << ','
          << (racer.name == "tuned" ? row.race.kernel : "") << '\n';
    }
  }
  if (!out.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

ExitStatus bench(const Options& options) {
  const std::vector<Shape> shapes = options.list.empty()
                                        ? std::vector<Shape>{to_shape(options.shape)}
                                        : read_shape_list(options.list);
  const auto context = Context::create(to_context_options(options.context));
  Device& device = context->device();
  std::unique_ptr<CublasLt> vendor;
  std::string why_not;
  if (device.identity().backend == Backend::kCuda) {
    const Device::Current current(device);
    vendor = CublasLt::open(device, &why_not);
  }
  std::cerr << device.identity().name << ", " << device.toolchain().compiler << ", "
            << (vendor ? "cuBLASLt " + vendor->version() : "no vendor library " + why_not) << "; "
            << options.rounds << " interleaved rounds, medians\n";
  std::vector<Row> rows;
  for (const Shape& shape : shapes) {
    rows.push_back(bench_shape(*context, vendor.get(), shape, options));
    for (const std::string& remark : rows.back().race.remarks) {
      std::cerr << shape_text(shape) << ": " << remark << '\n';
    }
  }
  print_table(rows);
  if (!options.csv.empty()) {
    write_csv(rows, options.csv, device.identity().name);
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_bench(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("bench", "our winners beside cuBLASLt, interleaved in one run");
  const auto options = std::make_shared<Options>();
  add_shape_arguments(*verb, options->shape);
  for (CLI::Option* size :
       verb->get_options([](const CLI::Option* option) { return option->get_required(); })) {
    size->required(false);
  }
  add_context_options(*verb, options->context);
  verb->add_option("--list", options->list, "a list of shapes (CSV or JSON) instead of M N K");
  verb->add_option("--rounds", options->rounds, "timed rounds")->check(CLI::Range(1, 1000));
  verb->add_option("--rigor", options->rigor, "of the tuning, where the cache has no winner")
      ->check(CLI::IsMember({"quick", "normal", "exhaustive"}));
  verb->add_option("--csv", options->csv, "writes every arm's figures to this file");
  verb->footer(
      "Every arm's result is checked before it is timed; inputs are random and cold; the times "
      "are\n"
      "those of the device alone. `of limit`: the least time that the device could take, over "
      "ours.");
  verb->callback([options, &status] { status = bench(*options); });
}

}  // namespace tunedgemm
