// tunedgemm diff: compares the winners of two cache files, such as two tunings of one GPU.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "tools/shared/cache_files.h"
#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/layer_list.h"
#include "tools/tunedgemm/verbs.h"
#include "tuner/decision.h"

namespace tunedgemm::internal {
namespace {

struct DiffOptions {
  std::vector<std::string> files;
  std::string device;
  std::vector<std::string> lists;
  bool json = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

// By the fingerprints of the device and of the problem. One winner each: the one that a call gets.
using Winners = std::map<std::pair<std::string, std::string>, WinnerWithState>;

enum class Comparison { kAnother, kTied, kSame, kOnlyInA, kOnlyInB };
constexpr std::size_t kComparisons = 5;

std::string_view name(Comparison comparison) {
  switch (comparison) {
    case Comparison::kAnother:
      return "another kernel";
    case Comparison::kTied:
      return "tied";
    case Comparison::kSame:
      return "same kernel";
    case Comparison::kOnlyInA:
      return "only in A";
    case Comparison::kOnlyInB:
      return "only in B";
  }
  return "unknown";
}

struct Difference {
  Comparison comparison = Comparison::kSame;
  std::optional<WinnerWithState> a = {}, b = {};
  double ratio = 0;  // the time in B divided by that in A; 0 if only one has a winner

  const WinnerWithState& either() const { return a ? *a : *b; }
};

Winners winners_in(const std::string& file, const std::string& device, LayerList& layers) {
  const auto store = open_file_for_reading(file);
  Winners winners;
  for (WinnerWithState& winner : store->winners_with_state()) {
    const Record& record = winner.record;
    if (!is_named(record.device, device) || !layers.has(record.problem)) {
      continue;
    }
    const auto key = std::pair(fingerprint(record.device), fingerprint(record.problem));
    winners.try_emplace(key, std::move(winner));
  }
  if (winners.empty()) {
    const std::vector<std::string> warnings = store->health().warnings;
    throw std::invalid_argument(warnings.empty()
                                    ? file + " has no winner of the given device and lists"
                                    : warnings.front());
  }
  return winners;
}

std::string candidate_text(const Record& record) {
  const std::string knobs = to_text(record.config);
  return record.family + (knobs.empty() ? "" : " ") + knobs;
}

bool is_tie_of(const Record& record, const Record& winner) {
  return std::ranges::find(winner.ties, candidate_text(record)) != winner.ties.end();
}

Difference difference_of(const WinnerWithState& a, const WinnerWithState& b) {
  Difference difference{.a = a, .b = b};
  const bool is_same = candidate_text(a.record) == candidate_text(b.record);
  const bool is_tied = is_tie_of(a.record, b.record) || is_tie_of(b.record, a.record);
  difference.comparison = is_same   ? Comparison::kSame
                          : is_tied ? Comparison::kTied
                                    : Comparison::kAnother;
  difference.ratio = b.record.measurement.median_us / a.record.measurement.median_us;
  return difference;
}

bool is_equal_time(const Difference& difference) {
  return std::abs(difference.ratio - 1) <= kTieCeiling;
}

// The devices by their fingerprints.
std::map<std::string, DeviceIdentity> devices_of(const Winners& winners) {
  std::map<std::string, DeviceIdentity> devices;
  for (const auto& [key, winner] : winners) {
    devices.emplace(key.first, winner.record.device);
  }
  return devices;
}

// Removes the winners of devices that the others lack, and says so.
void erase_lone_devices(Winners& winners, const std::string& file,
                        const std::map<std::string, DeviceIdentity>& others) {
  for (const auto& [key, device] : devices_of(winners)) {
    if (!others.contains(key)) {
      std::cerr << "winners of " << device_text(device) << " are only in " << file << '\n';
      std::erase_if(winners,
                    [&lone = key](const auto& winner) { return winner.first.first == lone; });
    }
  }
}

// Winners of both files come first, by the ratio of their times, the greatest differences first.
std::vector<Difference> differences_of(const Winners& a, const Winners& b) {
  std::vector<Difference> differences;
  for (const auto& [key, winner] : a) {
    const auto other = b.find(key);
    differences.push_back(other != b.end()
                              ? difference_of(winner, other->second)
                              : Difference{.comparison = Comparison::kOnlyInA, .a = winner});
  }
  for (const auto& [key, winner] : b) {
    if (!a.contains(key)) {
      differences.push_back({.comparison = Comparison::kOnlyInB, .b = winner});
    }
  }
  std::ranges::stable_sort(differences, {}, [](const Difference& difference) {
    const Problem& problem = difference.either().record.problem;
    return std::tuple(std::max(difference.comparison, Comparison::kSame),
                      difference.ratio > 0 ? -std::abs(std::log(difference.ratio)) : 0,
                      types_text(problem), problem.m, problem.n, problem.k);
  });
  return differences;
}

struct Summary {
  std::array<std::size_t, kComparisons> counts{};
  std::size_t in_both = 0, within = 0;
  double mean = 1, least = 1, greatest = 1;  // of the ratios

  std::size_t count(Comparison comparison) const {
    return counts.at(static_cast<std::size_t>(comparison));
  }
  bool is_equal() const {
    return within == in_both && count(Comparison::kAnother) == 0 &&
           count(Comparison::kOnlyInA) == 0 && count(Comparison::kOnlyInB) == 0;
  }
};

Summary summary_of(const std::vector<Difference>& differences) {
  Summary summary;
  double logarithms = 0;
  for (const Difference& difference : differences) {
    ++summary.counts.at(static_cast<std::size_t>(difference.comparison));
    if (difference.a && difference.b) {
      const double ratio = difference.ratio;
      summary.least = summary.in_both == 0 ? ratio : std::min(summary.least, ratio);
      summary.greatest = summary.in_both == 0 ? ratio : std::max(summary.greatest, ratio);
      ++summary.in_both;
      summary.within += is_equal_time(difference) ? 1 : 0;
      logarithms += std::log(ratio);
    }
  }
  if (summary.in_both > 0) {
    summary.mean = std::exp(logarithms / static_cast<double>(summary.in_both));
  }
  return summary;
}

std::string ratio_text(double ratio) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << ratio;
  return text.str();
}

std::string text_of(const Summary& summary) {
  const auto count = [&](Comparison comparison) {
    return std::to_string(summary.count(comparison));
  };
  std::string text = counted(summary.in_both, "problem") + " in both";
  if (summary.in_both > 0) {
    text += ": " + count(Comparison::kSame) + " same kernel, " + count(Comparison::kTied) +
            " tied, " + count(Comparison::kAnother) + " differ; times " + ratio_text(summary.mean) +
            " (" + ratio_text(summary.least) + " to " + ratio_text(summary.greatest) +
            "); within 2 %: " + std::to_string(summary.within) + " of " +
            std::to_string(summary.in_both);
  }
  return text + "; " + count(Comparison::kOnlyInA) + " only in A, " + count(Comparison::kOnlyInB) +
         " only in B";
}

void print_table(const std::vector<Difference>& differences, std::size_t width) {
  Table table({{"device", Align::kLeft, Constant::kHeading},
               {"m x n x k"},
               {"types", Align::kLeft, Constant::kHeading},
               {"kernels"},
               {"B/A", Align::kRight},
               {"A", Align::kRight},
               {"B", Align::kRight},
               {"winner of A"},
               {"winner of B"},
               {"name"},
               {"spread A", Align::kRight},
               {"spread B", Align::kRight},
               {"epilogue", Align::kLeft, Constant::kHeading},
               {"state A", Align::kLeft, Constant::kHeading},
               {"state B", Align::kLeft, Constant::kHeading},
               {"compiler A", Align::kLeft, Constant::kHeading},
               {"compiler B", Align::kLeft, Constant::kHeading}});
  for (const Difference& difference : differences) {
    const auto& [record, state, names] = difference.either();
    const Problem& problem = record.problem;
    const auto cell = [](const std::optional<WinnerWithState>& winner, auto&& text) {
      return winner ? std::string(text(*winner)) : std::string();
    };
    const auto time = [](const WinnerWithState& winner) {
      return time_text(winner.record.measurement.median_us);
    };
    const auto kernel = [](const WinnerWithState& winner) { return kernel_text(winner.record); };
    const auto spread = [](const WinnerWithState& winner) {
      return spread_text(winner.record.measurement);
    };
    const auto state_of = [](const WinnerWithState& winner) { return winner.state; };
    const auto compiler = [](const WinnerWithState& winner) {
      return compiler_text(winner.record.toolchain.compiler);
    };
    const auto& [comparison, a, b, ratio] = difference;
    table.add({record.device.name, shape_text(problem), types_text(problem),
               std::string(name(comparison)), a && b ? ratio_text(ratio) : std::string(),
               cell(a, time), cell(b, time), cell(a, kernel), cell(b, kernel), names,
               cell(a, spread), cell(b, spread), epilogue_text(problem), cell(a, state_of),
               cell(b, state_of), cell(a, compiler), cell(b, compiler)});
  }
  table.print_fitting(std::cout, width);
}

Json to_json(const Difference& difference) {
  const auto& [comparison, a, b, ratio] = difference;
  const auto winner = [](const std::optional<WinnerWithState>& one) {
    return one ? internal::to_json(*one) : Json();
  };
  return {{"kernels", name(comparison)},
          {"ratio", a && b ? Json(ratio) : Json()},
          {"a", winner(a)},
          {"b", winner(b)}};
}

Json to_json(const std::vector<Difference>& differences) {
  Json array = Json::array();
  for (const Difference& difference : differences) {
    array.push_back(to_json(difference));
  }
  return array;
}

ExitStatus diff(const DiffOptions& options) {
  const std::string& file_a = options.files.front();
  const std::string& file_b = options.files.back();
  LayerList layers(options.lists);
  Winners a = winners_in(file_a, options.device, layers);
  Winners b = winners_in(file_b, options.device, layers);
  const auto devices_a = devices_of(a), devices_b = devices_of(b);
  erase_lone_devices(a, file_a, devices_b);
  erase_lone_devices(b, file_b, devices_a);
  if (a.empty()) {
    throw std::invalid_argument("the two files have no device in common, so nothing is compared");
  }
  const std::vector<Difference> differences = differences_of(a, b);
  const Summary summary = summary_of(differences);
  if (options.json) {
    std::cout << json_text(to_json(differences), 2) << '\n';
  } else {
    print_table(differences, options.width);
    std::cout << text_of(summary) << '\n';
  }
  return summary.is_equal() ? ExitStatus::kGood : ExitStatus::kNoResult;
}

}  // namespace

void add_diff(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("diff", "compare the winners of two cache files");
  const auto options = std::make_shared<DiffOptions>();
  verb->add_option("files", options->files, "the cache files A and B, which are only read")
      ->required()
      ->expected(2)
      ->check(CLI::ExistingFile.description(""));
  add_winner_filters(*verb, options->device, options->lists);
  verb->add_flag("--json", options->json, "print a JSON array, with both winners of each problem");
  add_wide_option(*verb, options->width);
  verb->footer(
      "Compares the winners that `tunedgemm best` shows. Tied: the tuning of one winner could not "
      "tell it from the other. B/A is the time in B "
      "divided by that in A; the last line has their geometric mean, the least and the greatest. "
      "Devices must be equal in all properties, compilers and drivers need not.\n"
      "Exit status: 0 no kernel differs except ties, all times are within 2 %, and both files have "
      "the same problems; 1 there are differences; 2 a file cannot be compared.");
  verb->callback([options, &status] { status = diff(*options); });
}

}  // namespace tunedgemm::internal
