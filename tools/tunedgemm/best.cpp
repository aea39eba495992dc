// tunedgemm best: prints the winners as a table.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/tables.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct BestOptions {
  std::string cache;
  std::string m, n, k;
  std::string types;
  TableChoice table;
  bool json = false;
};

bool contains(const std::vector<std::int64_t>& numbers, std::int64_t number) {
  return numbers.empty() || std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// BestOptions that were not given filter nothing.
std::vector<WinnerWithState> filtered(std::vector<WinnerWithState> winners,
                                      const BestOptions& options) {
  const auto numbers = [](const std::string& text) {
    return text.empty() ? std::vector<std::int64_t>() : parse_number_list(text, 0);
  };
  const auto m = numbers(options.m);
  const auto n = numbers(options.n);
  const auto k = numbers(options.k);
  std::erase_if(winners, [&](const WinnerWithState& winner) {
    const Problem& problem = winner.record.problem;
    return !contains(m, problem.m) || !contains(n, problem.n) || !contains(k, problem.k) ||
           types_text(problem).find(options.types) == std::string::npos;
  });
  return winners;
}

}  // namespace

Table winner_table(const std::vector<WinnerWithState>& winners) {
  Table table({{"device", Align::kLeft, Constant::kHeading},
               {"m x n x k"},
               {"types", Align::kLeft, Constant::kHeading},
               {"winner"},
               {"time", Align::kRight},
               {"name"},
               {"spread", Align::kRight},
               {"vs default", Align::kRight},
               {"epilogue", Align::kLeft, Constant::kHeading},
               {"state", Align::kLeft, Constant::kHeading},
               {"compiler", Align::kLeft, Constant::kHeading},
               {"rigor", Align::kLeft, Constant::kHeading},
               {"GFLOP/s", Align::kRight},
               {"tuned at (UTC)"},
               {"vs naive", Align::kRight},
               {"95 % interval", Align::kRight},
               {"ties", Align::kRight},
               {"remark"},
               {"config"}});
  for (const auto& [record, state, names] : winners) {
    const Problem& problem = record.problem;
    const double us = record.measurement.median_us;
    table.add({record.device.name, shape_text(problem), types_text(problem), kernel_text(record),
               time_text(us), names, spread_text(record.measurement),
               speedup_text(record.default_us, us), epilogue_text(problem), state,
               compiler_text(record.toolchain.compiler), std::string(name(record.rigor)),
               gflops_text(flops(problem), us), record.tuned_at, speedup_text(record.naive_us, us),
               interval_text(record.measurement), std::to_string(record.ties.size()), record.remark,
               to_text(record.config)});
  }
  return table;
}

namespace {

// A table for each device, or one with all columns.
void print_tables(const std::vector<WinnerWithState>& winners, const BestOptions& options) {
  if (options.table.shows_all) {
    winner_table(winners).print_chosen(std::cout, kUnlimited, options.table);
    return;
  }
  std::map<std::string, std::vector<WinnerWithState>> by_device;
  for (const WinnerWithState& winner : winners) {
    by_device[winner.record.device.name].push_back(winner);
  }
  std::string_view separator;
  for (const auto& [device, of_device] : by_device) {
    std::cout << std::exchange(separator, "\n");
    winner_table(of_device).print_chosen(std::cout, line_width(STDOUT_FILENO), options.table);
  }
}

ExitStatus best(const BestOptions& options) {
  const auto store = open_store_for_reading(options.cache);
  const auto winners = filtered(store->winners_with_state(), options);
  if (options.json) {
    std::cout << json_text(to_json(winners), 2) << '\n';
  } else if (!winners.empty()) {
    print_tables(winners, options);
  }
  if (winners.empty()) {
    const StoreHealth health = store->health();
    std::cerr << "no winner in " << health.path.string() << " matches (it has "
              << counted(health.winners, "winner") << "); tune-all adds winners\n";
    return ExitStatus::kNoResult;
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_best(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("best", "print the winners as a table");
  const auto options = std::make_shared<BestOptions>();
  add_cache_option(*verb, options->cache);
  verb->add_option("--m", options->m, "only these M: 512 or 512,1024 or 128:4096:128");
  verb->add_option("--n", options->n, "only these N");
  verb->add_option("--k", options->k, "only these K");
  verb->add_option("--types", options->types, "only types that contain this text: f16");
  add_table_options(*verb, options->table, options->json);
  verb->add_flag("--wide", options->table.shows_all,
                 "show every column, remarks too, whatever the width");
  verb->footer(
      "State: confirmed; provisional (quick, or its budget ran out); stale (another compiler or "
      "driver has been seen since); void (its template has changed since).\n"
      "`tunedgemm explain` shows the kernel that a call would run.");
  verb->callback([options, &status] { status = best(*options); });
}

}  // namespace tunedgemm::internal
