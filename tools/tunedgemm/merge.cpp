// tunedgemm merge: imports winners, trials and binaries from other caches.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/text.h"
#include "tools/shared/cache_files.h"
#include "tools/shared/options.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/merge_audit.h"
#include "tools/tunedgemm/merge_conflicts.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

// Up to this many files have a line each; more have a line of progress and the summary.
constexpr std::size_t kFewFiles = 4;

struct MergeOptions {
  std::vector<fs::path> paths;
  std::string cache;
};

// The cache files in the folder, without the cache that they are merged into.
std::vector<fs::path> files_in(const fs::path& folder, const fs::path& cache) {
  std::vector<fs::path> files = cache_files_in(folder);
  std::erase_if(files, [&](const fs::path& file) {
    std::error_code ignored;
    return fs::equivalent(file, cache, ignored);
  });
  return files;
}

// On a terminal, a line that says how far a long merge is, and is rewritten in place.
class MergeProgress {
 public:
  explicit MergeProgress(std::size_t files)
      : files_(files), is_shown_(files > kFewFiles && isatty(STDERR_FILENO) != 0) {}

  void show(std::size_t number, const fs::path& file) {
    constexpr auto kBetweenRewrites = std::chrono::milliseconds(100);
    const auto now = std::chrono::steady_clock::now();
    if (is_shown_ && now - last_rewrite_ >= kBetweenRewrites) {
      last_rewrite_ = now;
      const std::string text = std::to_string(number) + "/" + std::to_string(files_) + "  " +
                               printable(file.filename().string(), Lines::kOne);
      std::clog << kEraseLine << shortened(text, line_width(STDERR_FILENO)) << std::flush;
    }
  }

  /// Call it before anything else is printed.
  void erase() const {
    if (is_shown_) {
      std::clog << kEraseLine << std::flush;
    }
  }

 private:
  static constexpr std::string_view kEraseLine = "\r\x1b[2K";
  std::size_t files_;
  bool is_shown_;
  std::chrono::steady_clock::time_point last_rewrite_;
};

class Merge {
 public:
  explicit Merge(const MergeOptions& options) : options_(options) {
    StoreOptions store_options;
    store_options.path = options.cache;
    store_ = Store::open(store_options);
  }

  ExitStatus run() {
    if (store_->state() != StoreState::kReadWrite) {
      std::cerr << "tunedgemm: " << store_->path().string()
                << " cannot be written, so nothing can be merged into it\n";
      return ExitStatus::kCannotWrite;
    }
    const std::vector<fs::path> files = list_files();
    note_interrupts();
    MergeProgress progress(files.size());
    std::size_t done = 0;
    for (; done < files.size() && !interrupted(); ++done) {
      progress.show(done + 1, files[done]);
      const MergeResult result = store_->merge(files[done]);
      if (!result.failure.empty()) {
        progress.erase();
      }
      add(files, done, result);
    }
    progress.erase();
    conflicts_.print(std::cout);
    for (const SlowFile& slow : slow_files(std::move(times_))) {
      std::cout << to_text(slow, files[slow.file].filename().string()) << '\n';
    }
    if (files.size() > kFewFiles) {
      print_summary(files.size() - done);
    }
    if (done < files.size()) {
      return ExitStatus::kInterrupted;
    }
    return status_;
  }

 private:
  std::vector<fs::path> list_files() {
    std::vector<fs::path> files;
    for (const fs::path& path : options_.paths) {
      if (!fs::is_directory(path)) {
        files.push_back(path);
        continue;
      }
      const std::vector<fs::path> found = files_in(path, store_->path());
      if (found.empty()) {
        std::cerr << "tunedgemm: the folder " << path.string() << " has no *.db file to merge\n";
        status_ = ExitStatus::kNoResult;
      }
      files.insert(files.end(), found.begin(), found.end());
    }
    return files;
  }

  void add(const std::vector<fs::path>& files, std::size_t number, const MergeResult& result) {
    const fs::path& file = files[number];
    if (!result.failure.empty()) {
      std::cerr << "tunedgemm: " << result.failure << '\n';
      ++failures_;
      status_ = ExitStatus::kNoResult;
      return;
    }
    for (const MergeConflict& conflict : result.conflicts) {
      conflicts_.add(file.filename().string(), conflict);
    }
    for (const MergeResult::Winner& winner : result.found) {
      times_.push_back({std::hash<std::string>()(winner.key), static_cast<std::uint32_t>(number),
                        winner.median_us});
    }
    if (files.size() <= kFewFiles) {
      std::cerr << file.string() << ": " << added_text(result) << '\n';
    }
    ++merged_;
    sum_.winners += result.winners;
    sum_.trials += result.trials;
    sum_.binaries += result.binaries;
  }

  std::string added_text(const MergeResult& result) const {
    return std::to_string(result.winners) + " winners, " + std::to_string(result.trials) +
           " trials and " + std::to_string(result.binaries) + " binaries added to " +
           store_->path().string();
  }

  void print_summary(std::size_t left) const {
    std::cerr << counted(merged_, "file") << ": " << added_text(sum_);
    if (failures_ > 0) {
      std::cerr << "; " << counted(failures_, "file") << (failures_ == 1 ? " was" : " were")
                << " not merged";
    }
    if (left > 0) {
      std::cerr << "; interrupted before the last " << counted(left, "file")
                << ": repeat the command to merge them";
    }
    std::cerr << '\n';
  }

  const MergeOptions& options_;
  std::unique_ptr<Store> store_;
  std::size_t merged_ = 0, failures_ = 0;  // numbers of files
  MergeResult sum_;                        // of all files
  MergeConflicts conflicts_;
  std::vector<AuditedTime> times_;
  ExitStatus status_ = ExitStatus::kGood;
};

}  // namespace

void add_merge(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand(
      "merge",
      "import winners, trials and binaries from other caches; of two winners for one problem, the "
      "better-measured one is kept");
  const auto options = std::make_shared<MergeOptions>();
  verb->add_option("paths", options->paths,
                   "the cache files to import; a folder stands for its files *.db, without hidden "
                   "ones")
      ->required()
      ->check(CLI::ExistingPath.description(""));
  add_cache_option(*verb, options->cache);
  verb->footer(
      "Lists problems that were tuned more than once and whose tunings disagree: with kernels that "
      "are not in a tie, or with times that differ by more than 2 %. "
      "Names the files whose winners took longer than those of other files for the same "
      "problems, since their device may be slow. "
      "Merging a file again changes nothing. A file that cannot be merged does not stop the "
      "others. Ctrl-C ends the merge after the current file.\n"
      "Exit status: 0 success; 1 a file was not merged, or a folder has none; 2 the command line "
      "is wrong; 4 the cache cannot be written; 130 interrupted.");
  verb->alias("import");
  verb->callback([options, &status] { status = Merge(*options).run(); });
}

}  // namespace tunedgemm::internal
