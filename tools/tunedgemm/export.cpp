// tunedgemm export: a copy of a cache for another machine, or its winners for another program.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shared/json_text.h"
#include "tools/shared/record_json.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"
#include "tools/tunedgemm/winners.h"

namespace tunedgemm::internal {
namespace {

struct Options {
  std::string cache;
  std::filesystem::path destination;
  bool csv = false, json = false;
};

std::string cell_text(const nlohmann::ordered_json& value) {
  if (value.is_null()) {
    return "";
  }
  return csv_cell(value.is_string() ? value.get<std::string>() : json_text(value));
}

void write_csv(std::ostream& out, const std::vector<Record>& records) {
  const auto write_line = [&](const std::vector<std::string>& cells) {
    std::string_view separator;
    for (const std::string& cell : cells) {
      out << separator << cell;
      separator = ",";
    }
    out << '\n';
  };
  std::vector<std::string> names;
  const nlohmann::ordered_json fields = to_json(records.front());
  for (const auto& [name, value] : fields.items()) {
    names.push_back(name);
  }
  write_line(names);
  for (const Record& record : records) {
    nlohmann::ordered_json json = to_json(record);
    json["config"] = to_text(record.config);
    std::vector<std::string> cells;
    for (const auto& [name, value] : json.items()) {
      cells.push_back(cell_text(value));
    }
    write_line(cells);
  }
}

void write_json(std::ostream& out, const std::vector<Record>& records) {
  auto array = nlohmann::ordered_json::array();
  for (const Record& record : records) {
    array.push_back(to_json(record));
  }
  out << json_text(array, 2) << '\n';
}

void write_winners(const Options& options, const std::vector<Record>& records) {
  const auto write = options.csv ? write_csv : write_json;
  if (options.destination == "-") {
    write(std::cout, records);
    return;
  }
  std::ofstream file(options.destination);
  write(file, records);
  if (!file.flush()) {
    throw std::runtime_error("the winners cannot be written to " + options.destination.string());
  }
}

ExitStatus export_cache(const Options& options) {
  const auto store = open_for_reading(options.cache);
  const std::vector<Record> records = store->winners();
  if (records.empty()) {
    std::cerr << why_no_winners(*store) << '\n';
    return ExitStatus::kFoundNothing;
  }
  if (options.csv || options.json) {
    write_winners(options, records);
    return ExitStatus::kGood;
  }
  if (const std::string reason = store->export_to(options.destination); !reason.empty()) {
    throw std::runtime_error(reason);
  }
  std::cerr << options.destination.string() << ": " << records.size()
            << " winners with their kernels and trials; use it as $TUNEDGEMM_CACHE, or read-only "
               "as $TUNEDGEMM_SYSTEM_CACHE\n";
  return ExitStatus::kGood;
}

}  // namespace

void add_export(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "export", "a self-contained copy of the cache, or its winners as CSV or JSON");
  const auto options = std::make_shared<Options>();
  verb->add_option("destination", options->destination,
                   "the file to write; - is the standard output, with --csv and --json")
      ->required();
  verb->add_option("--cache", options->cache, "the cache file; default as for the library");
  auto* csv = verb->add_flag("--csv", options->csv, "the winners as CSV");
  verb->add_flag("--json", options->json, "the winners as a JSON array")->excludes(csv);
  verb->callback([options, &status] { status = export_cache(*options); });
}

}  // namespace tunedgemm::internal
