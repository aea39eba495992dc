// tunedgemm export: copies a cache for another machine, or its winners for another program.

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/layer_list.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct ExportOptions {
  std::string cache;
  std::string destination;
  std::string device;
  std::vector<std::string> lists;
  bool csv = false, json = false;
};

std::string csv_of(const std::vector<WinnerWithState>& winners) {
  std::vector<Json> rows;
  for (const WinnerWithState& winner : winners) {
    rows.push_back(to_json(winner));
    rows.back()["config"] = to_text(winner.record.config);
  }
  return csv_text(rows);
}

// "NVIDIA H100, NVIDIA H200"
std::string device_names(const std::vector<WinnerWithState>& winners) {
  std::set<std::string> names;
  for (const WinnerWithState& winner : winners) {
    names.insert(winner.record.device.name);
  }
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

ExitStatus export_cache(const ExportOptions& options) {
  LayerList layers(options.lists);
  std::function<bool(const WinnerWithState&)> selects;
  if (!options.device.empty() || !options.lists.empty()) {
    // A call never uses a void winner as it is.
    selects = [&](const WinnerWithState& winner) {
      return winner.state != "void" && is_named(winner.record.device, options.device) &&
             layers.has(winner.record.problem);
    };
  }
  const auto store = open_store_for_reading(options.cache);
  std::vector<WinnerWithState> winners = store->winners_with_state();
  const std::string devices = device_names(winners);
  if (winners.empty()) {
    std::cerr << "the cache " << store->path().string()
              << " has no winners; tune-all adds winners\n";
    return ExitStatus::kNoResult;
  }
  if (selects) {
    std::erase_if(winners, [&](const WinnerWithState& winner) { return !selects(winner); });
    layers.warn_of_missing(std::cerr);
  }
  if (winners.empty()) {
    std::cerr << "no usable winner in " << store->path().string()
              << " is of the given device and lists, so nothing is written; it has winners of "
              << devices << '\n';
    return ExitStatus::kNoResult;
  }
  if (options.csv || options.json) {
    const std::string text = options.csv ? csv_of(winners) : json_text(to_json(winners), 2) + "\n";
    if (options.destination == "-") {
      std::cout << text;
    } else {
      write_file(options.destination, text, IfThere::kRefuse);
    }
    return ExitStatus::kGood;
  }
  if (const std::string reason = store->export_to(options.destination, selects); !reason.empty()) {
    throw std::runtime_error(reason);
  }
  std::cerr << options.destination << ": " << counted(winners.size(), "winner") << " of "
            << device_names(winners) << " with their kernels and trials, "
            << std::filesystem::file_size(options.destination)
            << " bytes; use it as $TUNEDGEMM_SYSTEM_CACHE, or import it with tunedgemm merge\n";
  return ExitStatus::kGood;
}

}  // namespace

void add_export(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "export",
      "write a self-contained, read-only copy of the cache or of some winners, or the winners as "
      "CSV or JSON");
  const auto options = std::make_shared<ExportOptions>();
  verb->add_option(
          "destination", options->destination,
          "the file to write, which must not exist; with --csv or --json, - is the standard "
          "output")
      ->required();
  add_cache_option(*verb, options->cache);
  add_winner_filters(*verb, options->device, options->lists);
  auto* csv = verb->add_flag("--csv", options->csv, "write the winners as CSV");
  verb->add_flag("--json", options->json, "write the winners as a JSON array")->excludes(csv);
  verb->footer(
      "With --device or --list the copy has only the winners, their kernels and their measured "
      "trials, and leaves out winners whose template has changed. A winner is of a layer if it "
      "differs from the layer's line in M alone, and in what may follow from M: strides and "
      "alignments.");
  verb->callback([options, &status] { status = export_cache(*options); });
}

}  // namespace tunedgemm::internal
