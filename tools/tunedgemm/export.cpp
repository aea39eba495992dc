// tunedgemm export: copies a cache for another machine, or its winners for another program.

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct Options {
  std::string cache;
  std::string destination;
  bool csv = false, json = false;
};

std::string csv_of(const std::vector<Record>& records) {
  std::vector<Json> rows;
  for (const Record& record : records) {
    rows.push_back(to_json(record));
    rows.back()["config"] = to_text(record.config);
  }
  return csv_text(rows);
}

ExitStatus export_cache(const Options& options) {
  const auto store = open_store_for_reading(options.cache);
  const std::vector<Record> records = store->winners();
  if (records.empty()) {
    std::cerr << "the cache " << store->path().string()
              << " has no winners; tune-all adds winners\n";
    return ExitStatus::kNoResult;
  }
  if (options.csv || options.json) {
    const std::string text = options.csv ? csv_of(records) : json_text(to_json(records), 2) + "\n";
    if (options.destination == "-") {
      std::cout << text;
    } else {
      write_file(options.destination, text);
    }
    return ExitStatus::kGood;
  }
  if (const std::string reason = store->export_to(options.destination); !reason.empty()) {
    throw std::runtime_error(reason);
  }
  std::cerr << options.destination << ": " << records.size()
            << " winners with their kernels and trials; use it as $TUNEDGEMM_CACHE, or read-only "
               "as $TUNEDGEMM_SYSTEM_CACHE\n";
  return ExitStatus::kGood;
}

}  // namespace

void add_export(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "export", "write a self-contained copy of the cache, or its winners as CSV or JSON");
  const auto options = std::make_shared<Options>();
  verb->add_option("destination", options->destination,
                   "the file to write; with --csv or --json, - is the standard output")
      ->required();
  add_cache_option(*verb, options->cache);
  auto* csv = verb->add_flag("--csv", options->csv, "write the winners as CSV");
  verb->add_flag("--json", options->json, "write the winners as a JSON array")->excludes(csv);
  verb->callback([options, &status] { status = export_cache(*options); });
}

}  // namespace tunedgemm::internal
