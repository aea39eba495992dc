// tunedgemm merge: imports winners, trials and binaries from other caches.

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cache/store.h"
#include "tools/shared/options.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct MergeOptions {
  std::vector<std::filesystem::path> files;
  std::string cache;
};

ExitStatus merge(const MergeOptions& options) {
  StoreOptions store_options;
  store_options.path = options.cache;
  const auto store = Store::open(store_options);
  ExitStatus status = ExitStatus::kGood;
  for (const auto& file : options.files) {
    const MergeResult result = store->merge(file);
    if (!result.failure.empty()) {
      std::cerr << "tunedgemm: " << result.failure << '\n';
      status = ExitStatus::kNoResult;
      continue;
    }
    for (const std::string& conflict : result.conflicts) {
      std::cout << conflict << '\n';
    }
    std::cerr << file.string() << ": " << result.winners << " winners, " << result.trials
              << " trials and " << result.binaries << " binaries added to "
              << store->path().string() << '\n';
  }
  return status;
}

}  // namespace

void add_merge(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "merge",
      "import winners, trials and binaries from other caches; reports conflicts, in which the "
      "better-measured winner is kept");
  const auto options = std::make_shared<MergeOptions>();
  verb->add_option("files", options->files, "the cache files to import")
      ->required()
      ->check(CLI::ExistingFile.description(""));
  add_cache_option(*verb, options->cache);
  verb->callback([options, &status] { status = merge(*options); });
}

}  // namespace tunedgemm::internal
