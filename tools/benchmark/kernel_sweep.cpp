// kernel_sweep: one family's configs for one problem on the GPU, all checked and timed, as a table.
// The instrument of those who write kernels; users have tune-all.
//
//   kernel_sweep mma --m 4096 --n 4096 --k 4096 --types f16,f16,f16 --layout nn --top 100
//   kernel_sweep mma ... --config "block_m=128 block_n=256 ..." --config "..."

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/family.h"
#include "runtime/device.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tuner/sample.h"

namespace tunedgemm {
namespace {

struct SweepOptions {
  std::string family;
  std::int64_t m = 4096, n = 4096, k = 4096, batch = 1;
  std::string types = "f16,f16,f16";
  std::string layout = "nn";
  std::string numerics;
  std::string activation = "none", bias = "none";
  std::vector<std::string> configs;
  std::size_t top = 100;
  double sample_ms = 3;
  int rounds = 3;
  int rest_ms = 0;
  bool warm = false;
};

struct Row {
  Candidate candidate;
  double predicted_us = 0;
  int registers = 0;
  std::int64_t spill_bytes = 0;
  double compile_ms = 0;
  double error = 0;
  double us = 0;  ///< 0: rejected
  std::string rejection;
};

DataType type_of(const std::string& text) {
  const auto type = parse_data_type(text);
  if (!type) {
    throw std::invalid_argument("the element type \"" + text + "\" is not known");
  }
  return *type;
}

Problem problem_of(const SweepOptions& sweep_options) {
  std::vector<std::string> types;
  std::istringstream stream(sweep_options.types);
  for (std::string type; std::getline(stream, type, ',');) {
    types.push_back(type);
  }
  if (types.size() != 3) {
    throw std::invalid_argument("--types needs those of A, B and D, as in f16,f16,f32");
  }
  Problem problem =
      make_problem(sweep_options.m, sweep_options.n, sweep_options.k, type_of(types[0]),
                   type_of(types[1]), type_of(types[2]), sweep_options.layout);
  problem.batch = sweep_options.batch;
  if (sweep_options.batch > 1) {
    problem.a.batch_stride = sweep_options.m * sweep_options.k;
    problem.b.batch_stride = sweep_options.k * sweep_options.n;
    problem.c.batch_stride = problem.d.batch_stride = sweep_options.m * sweep_options.n;
    for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
      matrix->alignment_bytes = alignment_class(0, *matrix, sweep_options.batch);
    }
  }
  problem.numerics = parse_numerics(sweep_options.numerics).value_or(problem.numerics);
  problem.activation = parse_activation(sweep_options.activation).value_or(Activation::kNone);
  problem.bias = parse_bias(sweep_options.bias).value_or(Bias::kNone);
  problem.regime = sweep_options.warm ? Regime::kWarm : Regime::kCold;
  if (const std::string why = why_not(problem); !why.empty()) {
    throw std::invalid_argument(why);
  }
  return canonical(problem).problem;
}

std::vector<Row> rows_of(const SweepOptions& sweep_options, const Problem& problem,
                         const DeviceLimits& limits) {
  const Family* family = find_family(sweep_options.family);
  if (family == nullptr) {
    throw std::invalid_argument("there is no family \"" + sweep_options.family + "\"");
  }
  std::vector<Config> configs;
  for (const std::string& text : sweep_options.configs) {
    const auto config = parse_config(text);
    const std::string why =
        config ? family->why_not(problem, *config, limits) : "is not knob=value ...";
    if (!why.empty()) {
      std::ostringstream refusal;
      refusal << "the config \"" << text << "\": " << why;
      throw std::invalid_argument(refusal.str());
    }
    configs.push_back(*config);
  }
  if (configs.empty()) {
    configs = family->candidates(problem, limits);
  }
  std::vector<Row> rows;
  for (const Config& config : configs) {
    Row row;
    row.candidate = {family, config};
    row.predicted_us = family->predicted_us(problem, config, limits);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& left, const Row& right) {
    return left.predicted_us < right.predicted_us;
  });
  rows.resize(std::min(rows.size(), sweep_options.top));
  return rows;
}

// A row whose kernel is right and is timed.
struct Racer {
  Row* row;
  std::unique_ptr<Trial> trial;
  int launches;
  std::vector<double> samples;
};

// Empty, and a rejection in the row, where it does not compile or is wrong.
std::optional<Racer> enter(Row& row, DeviceEvaluator& evaluator,
                           const SweepOptions& sweep_options) {
  Prepared prepared = evaluator.prepare(row.candidate);
  if (const auto* rejection = std::get_if<Rejection>(&prepared)) {
    row.rejection = to_text(*rejection);
    return std::nullopt;
  }
  std::unique_ptr<Trial> trial = std::move(std::get<std::unique_ptr<Trial>>(prepared));
  row.registers = trial->binary().registers;
  row.spill_bytes = trial->binary().spill_bytes;
  row.compile_ms = trial->binary().compile_ms;
  const auto checked = trial->check();
  if (const auto* rejection = std::get_if<Rejection>(&checked)) {
    row.rejection = to_text(*rejection);
    return std::nullopt;
  }
  row.error = std::get<double>(checked);
  const auto first = trial->sample(1);
  if (const auto* rejection = std::get_if<Rejection>(&first)) {
    row.rejection = to_text(*rejection);
    return std::nullopt;
  }
  const int launches = launches_for(sweep_options.sample_ms * 1e3, std::get<double>(first));
  return Racer{&row, std::move(trial), launches, {}};
}

// Every round takes a sample of each in an order of its own: what the device does meanwhile, to its
// clock above all, meets all of them alike. The medians go to the rows.
void race(std::vector<Racer>& racers, const SweepOptions& sweep_options) {
  std::mt19937_64 random(1);
  for (int round = 0; round < sweep_options.rounds; ++round) {
    std::shuffle(racers.begin(), racers.end(), random);
    std::erase_if(racers, [&sweep_options](Racer& racer) {
      std::this_thread::sleep_for(std::chrono::milliseconds(sweep_options.rest_ms));
      const auto us = racer.trial->sample(racer.launches);
      if (const auto* rejection = std::get_if<Rejection>(&us)) {
        racer.row->rejection = to_text(*rejection);
        return true;
      }
      racer.samples.push_back(std::get<double>(us));
      return false;
    });
  }
  for (Racer& racer : racers) {
    std::sort(racer.samples.begin(), racer.samples.end());
    racer.row->us = racer.samples[racer.samples.size() / 2];
  }
}

void print(const std::vector<Row>& rows, const Problem& problem) {
  std::cout << "      us  TFLOP/s  predicted  regs  spills  compile_ms  error  config\n"
            << std::fixed;
  for (const Row& row : rows) {
    std::cout << std::setw(8) << std::setprecision(2) << row.us << std::setw(9)
              << (row.us > 0 ? flops(problem) / row.us * 1e-6 : 0) << std::setw(11)
              << row.predicted_us << std::setw(6) << row.registers << std::setw(8)
              << row.spill_bytes << std::setw(12) << std::setprecision(0) << row.compile_ms
              << std::setw(7) << std::setprecision(3) << row.error << "  "
              << to_text(row.candidate.config);
    if (!row.rejection.empty()) {
      std::cout << "\n          " << row.rejection;
    }
    std::cout << '\n';
  }
}

void sweep(const SweepOptions& sweep_options) {
  const std::unique_ptr<Device> device = open_cuda_device(0);
  const Problem problem = problem_of(sweep_options);
  std::vector<Row> rows = rows_of(sweep_options, problem, device->limits());
  StoreOptions options;
  options.access = StoreOptions::Access::kMemoryOnly;
  const std::unique_ptr<Store> store = Store::open(options);
  DeviceEvaluator evaluator(*device, *store, problem);
  std::vector<Candidate> candidates;
  candidates.reserve(rows.size());
  for (const Row& row : rows) {
    candidates.push_back(row.candidate);
  }
  std::cout << device->identity().name << ", " << to_text(problem) << "\n"
            << rows.size() << " configs of " << sweep_options.family << ", floor "
            << evaluator.roofline_us() << " us" << std::endl;
  const double begin = evaluator.now_seconds();
  evaluator.compile_ahead(candidates);
  evaluator.warm_up();
  std::vector<Racer> racers;
  for (Row& row : rows) {
    if (std::optional<Racer> racer = enter(row, evaluator, sweep_options)) {
      racers.push_back(std::move(*racer));
    }
  }
  race(racers, sweep_options);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& left, const Row& right) {
    return (left.us > 0 ? left.us : 1e30) < (right.us > 0 ? right.us : 1e30);
  });
  print(rows, problem);
  std::cout << evaluator.now_seconds() - begin << " s" << std::endl;
}

int run(int argc, char** argv) {
  SweepOptions sweep_options;
  CLI::App app("Checks and times the configs of one kernel family for one problem on the GPU.");
  app.add_option("family", sweep_options.family, "its name, e.g. mma")->required();
  app.add_option("--m", sweep_options.m);
  app.add_option("--n", sweep_options.n);
  app.add_option("--k", sweep_options.k);
  app.add_option("--batch", sweep_options.batch);
  app.add_option("--types", sweep_options.types, "of A, B and D, e.g. f16,f16,f32");
  app.add_option("--layout", sweep_options.layout, "nn, nt, tn or tt");
  app.add_option("--numerics", sweep_options.numerics, "ieee, tf32, emulated, fast or promoted");
  app.add_option("--activation", sweep_options.activation);
  app.add_option("--bias", sweep_options.bias, "none, row or col");
  app.add_option("--config", sweep_options.configs, "only these: \"knob=value ...\"");
  app.add_option("--top", sweep_options.top, "how many, best predicted first");
  app.add_option("--sample-ms", sweep_options.sample_ms, "length of a sample");
  app.add_option("--rounds", sweep_options.rounds, "samples a config");
  app.add_option("--rest-ms", sweep_options.rest_ms,
                 "pause before each sample; without any, large problems run at the device's power "
                 "limit, where all configs come closer")
      ->check(CLI::Range(0, 60000));
  app.add_flag("--warm", sweep_options.warm, "with inputs that are in the cache");
  CLI11_PARSE(app, argc, argv);
  sweep(sweep_options);
  return 0;
}

}  // namespace
}  // namespace tunedgemm

int main(int argc, char** argv) {
  try {
    return tunedgemm::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "kernel_sweep: " << error.what() << std::endl;
    return 1;
  }
}
