// tunedgemm gc: makes a cache smaller without losing a usable winner.

#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "cache/store.h"
#include "tools/shared/options.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

constexpr double kMegabyte = 1e6;

struct GcChoice {
  std::string cache;
  double max_mb = 0;
  bool dry_run = false;
};

std::string size_text(std::int64_t bytes) {
  return rounded_text(static_cast<double>(bytes) / kMegabyte) + " MB";
}

// "12 void and 340 replaced winners, 800000 trials, 5200 kernels"
std::string deleted_text(const GcResult& result) {
  const auto text = [](std::int64_t count, std::string_view noun) {
    return counted(static_cast<std::size_t>(count), noun);
  };
  return std::to_string(result.void_winners) + " void and " +
         text(result.replaced_winners, "replaced winner") + ", " + text(result.trials, "trial") +
         ", " + text(result.kernels, "kernel");
}

ExitStatus gc(const GcChoice& choice) {
  StoreOptions store_options;
  store_options.path = choice.cache;
  // A store for reading makes no file if --cache is wrong.
  if (const auto reading = open_store_for_reading(choice.cache);
      reading->state() == StoreState::kMemoryOnly) {
    std::cerr << "there is no cache at " << reading->path().string() << '\n';
    return ExitStatus::kNoResult;
  }
  const auto store = Store::open(store_options);
  const GcResult result = store->collect_garbage(
      {.max_bytes = static_cast<std::int64_t>(choice.max_mb * kMegabyte),
       .mode = choice.dry_run ? GcOptions::Mode::kDryRun : GcOptions::Mode::kDelete});
  if (!result.failure.empty()) {
    std::cerr << "tunedgemm: " << result.failure << '\n';
    return ExitStatus::kCannotWrite;
  }
  std::cout << (choice.dry_run ? "would delete " : "deleted ") << deleted_text(result) << "; "
            << size_text(result.bytes_before) << " -> " << (choice.dry_run ? "at most " : "")
            << size_text(result.bytes_after) << '\n';
  const auto max_bytes = static_cast<std::int64_t>(choice.max_mb * kMegabyte);
  if (max_bytes > 0 && result.bytes_after > max_bytes) {
    std::cerr << "the winners, their kernels and unfinished tunings need more than --max-mb\n";
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_gc(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "gc", "make the cache smaller: delete what serves no call and no tuning any more");
  const auto choice = std::make_shared<GcChoice>();
  add_cache_option(*verb, choice->cache);
  verb->add_option("--max-mb", choice->max_mb,
                   "if the file would be larger, delete trials of finished tunings and kernels "
                   "without a winner, too, the oldest first and the finals' last")
      ->check(CLI::Validator(why_not_positive, ""));
  verb->add_flag("--dry-run", choice->dry_run, "only say what would be deleted");
  verb->footer(
      "Every problem keeps the winner that a call runs. Deleted are void winners that no call can "
      "renew; winners of an older compiler or driver where the device has one of the present; "
      "trials that no tuning reads; kernels of compilers that are no longer in use. Programs may "
      "use the cache meanwhile, but they wait, or keep new results in memory for a while, if the "
      "file is large. Read-only caches are left alone.");
  verb->callback([choice, &status] { status = gc(*choice); });
}

}  // namespace tunedgemm::internal
