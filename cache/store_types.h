#pragma once

// The options and results of a Store (store.h), which the folders of cache/ share.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

struct StoreOptions {
  /// The file; empty: $TUNEDGEMM_CACHE, else $XDG_CACHE_HOME/tunedgemm/tunedgemm.db, else
  /// ~/.cache/tunedgemm/...
  std::filesystem::path path;
  /// More files, which are only read. They are queried in this order, after the file above. Empty:
  /// the files in $TUNEDGEMM_SYSTEM_CACHE, ':'-separated.
  std::vector<std::filesystem::path> system_paths;
  enum class Access { kReadWrite, kReadOnly, kMemoryOnly } access = Access::kReadWrite;

  // The options below are for tests; their defaults are right for programs.

  /// The journal mode of new files; see the README of this folder.
  enum class Journal { kAutomatic, kRollback, kWriteAhead } journal = Journal::kAutomatic;
  /// The longest wait for one lock that another process holds.
  int busy_timeout_ms = 5000;
  /// kWhole reads the whole writable file, to find damage that opening it would miss.
  enum class Examination { kQuick, kWhole } examination = Examination::kQuick;
  /// Returns the family of that name. A stored winner is void if its family's template has changed
  /// since. If this function is empty, the registered families are used.
  std::function<const Family*(std::string_view name)> find_family;
};

enum class StoreState { kReadWrite, kReadOnly, kMemoryOnly };
std::string_view name(StoreState state);

struct StoreHealth {
  StoreState state = StoreState::kMemoryOnly;
  std::filesystem::path path;
  std::vector<std::string> warnings;  ///< sentences: what is wrong or was done, and the remedy
  /// The shell command that recovers the readable rows of a damaged cache that was set aside; empty
  /// if there is none beside the file.
  std::string recovery_command;
  std::string journal_mode;  ///< "wal", "delete"; "" in memory
  /// Whether the file is on a file system that is known to be local. The locks of others may not
  /// work.
  bool is_on_local_disk = false;
  std::string sqlite_version;
  std::int64_t file_bytes = 0;
  std::int64_t winners = 0;  ///< those of the system's files, too
  struct SystemFile {
    std::filesystem::path path;
    std::int64_t winners = 0;
  };
  std::vector<SystemFile> system_files = {};  ///< that can be read
  /// The number of winners that are only in memory, because no file could be written.
  std::int64_t unsaved_winners = 0;
};

/// A problem that was requested and answered without a tuned winner.
struct Request {
  CanonicalProblem problem;
  std::int64_t calls = 0;  ///< launches; 0 if a plan was made and has not run yet
  std::string name;        ///< see joined_names(); "" if there is none
};

/// Which requests Store::requests returns: a winner may have come since.
enum class Requested { kWithoutWinner, kAll };

/// The names of one problem, such as those of a model's layers, in one text: "query, key". Adds
/// those of `more` that are new, up to 200 bytes.
std::string joined_names(std::string names, std::string_view more);

/// The right to tune one problem on one device, held against other processes until destroyed.
/// Move-only.
class Lease {
 public:
  Lease() = default;
  Lease(std::shared_ptr<void> held, bool winners_changed)
      : held_(std::move(held)), winners_changed_(winners_changed) {}
  explicit operator bool() const { return held_ != nullptr; }
  /// Whether another process has stored winners since the look-up before acquire(). If not, a
  /// second look-up would find nothing new. Also valid if the lease was refused.
  bool winners_changed() const { return winners_changed_; }

 private:
  std::shared_ptr<void> held_;
  bool winners_changed_ = false;
};

/// A winner whose template has changed since it was tuned.
struct OutdatedWinner {
  Hit hit;        ///< as if the row belonged to the current template
  Binary binary;  ///< of the old template
};

/// The result of Store::put.
struct PutResult {
  bool stored = false;  ///< false: a more thorough tuning was stored before and stays the winner
  Record winner;        ///< the current winner as stored, with the time of its tuning
};

/// Which stored winners Store::put replaces.
enum class Replace { kLessThorough, kAnyIfComplete };

/// Two tunings of one problem, with one toolchain on equal devices, of which a merge keeps one.
struct MergeConflict {
  struct Tuned {
    std::string config;  ///< a candidate's text
    double median_us = 0;
    std::vector<std::string> ties;  ///< see Record::ties
  };
  std::string key;  ///< names the problem, device and toolchain within the store's file
  std::string problem, device;
  Tuned ours, theirs;     ///< the stored winner, and that of the merged file
  bool is_taken = false;  ///< whether theirs replaces ours
};

/// The result of Store::merge.
struct MergeResult {
  std::string failure = {};  ///< a sentence; empty on success
  std::int64_t winners = 0, trials = 0, binaries = 0;
  std::vector<MergeConflict> conflicts = {};
  /// All winners of the merged file, whether they were added or not.
  struct Winner {
    std::string key;  ///< as in MergeConflict
    double median_us = 0;
  };
  std::vector<Winner> found = {};
};

/// The result of Store::forget.
struct ForgetResult {
  std::string failure = {};  ///< a sentence; empty on success
  std::int64_t winners = 0, trials = 0;

  friend bool operator==(const ForgetResult&, const ForgetResult&) = default;
};

/// Options of Store::collect_garbage.
struct GcOptions {
  /// If the file would still be larger, trials of finished tunings and binaries without a winner
  /// are deleted, too. 0: no limit.
  std::int64_t max_bytes = 0;
  /// kDryRun changes nothing; the result then says what would be deleted.
  enum class Mode { kDelete, kDryRun } mode = Mode::kDelete;
};

/// The result of Store::collect_garbage.
struct GcResult {
  std::string failure = {};  ///< a sentence; empty on success
  std::int64_t void_winners = 0, replaced_winners = 0, trials = 0, kernels = 0;
  /// The size of the file. After a dry run `bytes_after` is an estimate, usually too large.
  std::int64_t bytes_before = 0, bytes_after = 0;
};

/// A winner and its state, as the views name it: "void" (the library that wrote to the file last
/// has another template of the family), "stale" (the device has since been used with another
/// toolchain), "provisional" (its tuning had less than normal rigor or ended early) or "confirmed".
struct WinnerWithState {
  Record record;
  std::string state;
  std::string name;  ///< of the problem on the device, see joined_names(); "" if there is none
};

struct ViewColumn {
  std::string_view name, unit, meaning;
};

/// A view of the files for people, as the view `help` describes it.
struct CacheView {
  std::string_view name, row;  ///< "a row of the view is ..."
  std::vector<ViewColumn> columns;
};
std::vector<CacheView> views_for_people();

/// A value in a row; monostate is null. Tables have blobs, views have none.
using Cell =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;

}  // namespace tunedgemm::internal
