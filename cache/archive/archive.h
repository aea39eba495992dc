#pragma once

// Archive: the databases behind a store. Private to cache. Thread-safe.
//
// The databases are at most one writable file, any number of read-only files, and an in-memory
// database. The in-memory database is created when a write cannot go to the file, so that the rest
// of cache/ need not handle such failures. Writes that failed because the file was busy or the disk
// was full are repeated with the next transaction that succeeds.
//
// The databases and the cached winners have separate locks, so that a cached look-up never waits
// for a disk.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/archive/pending_writes.h"
#include "cache/file/store_file.h"
#include "cache/store_types.h"
#include "cache/tables/rows.h"
#include "kernel_templates/base/file_size_signal.h"
#include "kernel_templates/base/process_fork.h"

namespace tunedgemm::internal {

/// Held during every SQLite call. It delays a fork() by another thread until SQLite's own locks are
/// free, since the child opens databases too. It blocks SIGXFSZ: a file that exceeds the process's
/// size limit then looks like a full disk, which SQLite handles.
struct [[nodiscard]] DatabaseUse {
  ForkGuard no_fork;
  FileSizeSignalBlocked no_signal;
};

class Archive {
 public:
  explicit Archive(const StoreOptions& options);
  /// Flushes pending writes.
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// The family of this name from the options or the registry; null if there is none.
  const Family* family(std::string_view name) const;
  PendingWrites& pending() { return pending_; }
  /// See Store::path.
  std::filesystem::path path() const;

  /// Whether work that could be done only in memory is written to the file later.
  enum class Otherwise { kWriteLater, kForget };
  /// Runs the work and all pending writes in one transaction, in the file if possible and otherwise
  /// in memory. The work may run more than once, each time on a database without its earlier
  /// effects. If the work violates a constraint although the file is whole, only the work is
  /// undone, with a warning. Returns whether the work was done in the file.
  bool write(const Work& work, Otherwise otherwise);
  void write_pending();
  /// If a thousand requests wait, writes most of them, a few at a time. Forgets them if the file is
  /// not writable.
  void write_surplus_requests();

  /// Selects the databases to query: all that have the views for programs, or only those with this
  /// version's tables.
  enum class Having { kViewsForPrograms, kTables };
  /// Queries the databases in order until `ask` returns true.
  void read(Having having, const std::function<bool(sqlite::Connection&)>& ask);
  /// The rows that `read_rows`, given these arguments, reads from each of the databases, in order.
  template <class ReadRows, class... Arguments>
  auto read_all(Having having, ReadRows* read_rows, const Arguments&... arguments) {
    std::invoke_result_t<ReadRows*, sqlite::Connection&, const Arguments&...> all;
    read(having, [&](sqlite::Connection& connection) {
      auto rows = read_rows(connection, arguments...);
      std::move(rows.begin(), rows.end(), std::inserter(all, all.end()));
      return false;
    });
    return all;
  }

  /// The cached winners of a problem on a device; reads no database.
  std::vector<Record> known_winners(const WinnerKey& key) const;
  /// Reads the winners from the databases, in query order, and caches them.
  std::vector<Record> look_up_winners(const WinnerKey& key);
  /// Adds a winner that was just stored to the cached winners of its problem, if these are cached.
  void put_winner(const Record& record);
  /// Drops the cached winners; call it if they may no longer match the files.
  void forget_found();
  /// Checks whether other processes have changed the file.
  void refresh();
  /// A number that grows when this process notices that another process has stored a winner or
  /// replaced the file.
  std::int64_t winners_of_others() const { return winners_of_others_; }
  void count_lookup() { ++lookups_; }
  std::int64_t lookups() const { return lookups_; }
  /// See Store::changes.
  void count_change() { ++changes_; }
  std::int64_t changes() const { return changes_; }
  /// Queues a write of the device's current toolchain if the file has a different one.
  void note_toolchain(const std::string& device_fingerprint, const DeviceIdentity& device,
                      const Toolchain& toolchain);

  /// The identity of this process for its leases, with a token that was never used before.
  LeaseHolder new_lease_holder();
  const ProcessIdentity& process() const { return process_; }

  /// Adds a sentence to health() and, once, to the log.
  void warn(std::string sentence);
  /// The same for an unexpected exception.
  void warn_of_failure(const char* what) noexcept;
  /// For health(). Returns whether the binary was not known to be damaged: a row of a read-only
  /// file cannot be deleted, so every look-up finds it again.
  bool note_damaged_binary(const KernelKey& key);
  std::int64_t unsaved_winners();
  StoreHealth health();
  /// See Store::state.
  StoreState state() const;
  /// See Store::export_to.
  std::string export_to(const std::filesystem::path& destination,
                        const std::function<bool(const WinnerWithState&)>& selects);
  /// See Store::merge.
  MergeResult merge(const std::filesystem::path& from);
  /// See Store::collect_garbage.
  GcResult collect_garbage(const GcOptions& options);

 private:
  using Clock = std::chrono::steady_clock;

  StoreState state_locked() const;
  bool can_write() const { return file_ && file_->writable && Clock::now() >= write_again_at_; }
  /// Whether a violated constraint throws, or undoes only its own work, with a warning.
  enum class Violations { kThrown, kLeftOut };
  void run(const std::vector<Work>& works, sqlite::Connection& connection, Violations violations);
  bool write_or_keep(std::vector<Work> works, Otherwise otherwise);
  bool write_to_file(const std::vector<Work>& works);
  void write_to_memory(const std::vector<Work>& works);
  void write_what_is_left();
  void forget_unsaved();
  bool ask_one(StoreFile& file, Having having, const std::function<bool(sqlite::Connection&)>& ask);
  void read_locked(Having having, const std::function<bool(sqlite::Connection&)>& ask);
  void follow_file();
  void remember_toolchain_of(const std::string& device_fingerprint);
  void note_families();
  void reopen();
  void replace_damaged_file();
  Warn warn_function();

  const StoreOptions options_;
  const ProcessIdentity process_;
  const std::string lease_prefix_;
  std::atomic<int> leases_{0};
  std::atomic<std::int64_t> lookups_{0}, changes_{0}, winners_of_others_{0};
  PendingWrites pending_;

  mutable std::mutex databases_;  // guards the next group
  std::optional<StoreFile> file_;
  std::optional<sqlite::Connection> memory_;
  std::vector<StoreFile> system_files_;
  std::vector<Work> unsaved_;
  Clock::time_point write_again_at_, queue_again_at_;
  int replacements_ = 0;
  bool is_known_whole_ = false;    // the file was examined after a constraint was violated
  std::int64_t data_version_ = 0;  // of the file's connection; 0: not read yet
  std::int64_t newest_winner_ = 0;

  mutable std::shared_mutex winners_lock_;                      // guards the next group
  std::unordered_map<std::string, std::vector<Record>> found_;  // by both fingerprints of the key
  std::unordered_map<std::string, std::string> toolchain_of_;   // fingerprints; "" if unknown

  mutable std::mutex warnings_lock_;  // guards the next group
  std::vector<std::string> warnings_;
  std::set<KernelKey> damaged_binaries_;
};

/// Runs the body of a Store member and catches its exceptions (see the contract in store.h). After
/// an exception the result is `otherwise`, or a value-initialized one without it.
template <class Body, class... Otherwise>
auto no_throw(Archive& archive, Body&& body, const Otherwise&... otherwise) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    archive.warn_of_failure(error.what());
  }
  return decltype(body())(otherwise...);
}

/// The work that calls `function` with these arguments, of which it holds copies.
template <class Function, class... Arguments>
Work work_of(Function* function, Arguments... arguments) {
  return [=](sqlite::Connection& connection) { function(connection, arguments...); };
}

/// Tells whether a winner is current, according to the families in the archive's options.
IsCurrent is_current_in(const Archive& archive);

}  // namespace tunedgemm::internal
