#pragma once

// Archive: the databases behind a store. Private to cache. Thread-safe.
//
// There is at most one file that is written; files that are only read; and a database in memory
// that is made when something cannot be written to the file, so that every other part of cache/
// works in the same way whatever the file system does. What was kept in memory because the
// file was busy or the disk full goes to the file with the next transaction that succeeds.
//
// One lock guards the databases, another the winners that were found, so that finding one again
// never waits for a disk.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/archive/pending_writes.h"
#include "cache/file/store_file.h"
#include "cache/store.h"
#include "cache/tables/rows.h"
#include "kernel_templates/base/file_size_signal.h"
#include "kernel_templates/base/process_fork.h"

namespace tunedgemm::internal {

/// Every call of SQLite is made under one of these. SQLite's own locks must be free when another
/// thread forks, since the child opens databases too; and a file that grows past the process's
/// limit is a full disk, which SQLite can take.
struct [[nodiscard]] DatabaseUse {
  ForkGuard no_fork;
  FileSizeSignalBlocked no_signal;
};

class Archive {
 public:
  explicit Archive(const StoreOptions& options);
  /// Writes what has not been written yet.
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// By the options or of the registered ones; null if there is none of this name.
  const Family* family(std::string_view name) const;
  PendingWrites& pending() { return pending_; }
  /// See Store::path.
  std::filesystem::path path() const;

  /// What happens to work that could only be done in memory.
  enum class Otherwise { kWriteLater, kForget };
  /// Does the work in one transaction, together with what is pending: in the file, else in memory.
  /// The work may run more than once, each time on a database without what it did before.
  void write(const Work& work, Otherwise otherwise);
  void write_pending();

  /// Which databases can be asked: all that have the views for programs, or those of this version.
  enum class Having { kViewsForPrograms, kTables };
  /// Asks one database after the other until `ask` returns true.
  void read(Having having, const std::function<bool(sqlite::Connection&)>& ask);

  /// The winners of a problem on a device that were found before; asks no database.
  std::vector<Record> known_winners(const WinnerKey& key) const;
  /// Those that the databases have, in the order in which they are asked; known from then on.
  std::vector<Record> look_up_winners(const WinnerKey& key);
  /// A winner that was just stored, if those of its problem are known.
  void put_winner(const Record& record);
  /// What was found no longer tells what the files hold.
  void forget_found();
  /// Follows what other processes have done to the file. Returns whether one has stored winners or
  /// replaced the file since the last time.
  bool refresh();
  void count_lookup() { ++lookups_; }
  std::int64_t lookups() const { return lookups_; }
  /// See Store::changes.
  void count_change() { ++changes_; }
  std::int64_t changes() const { return changes_; }
  /// Remembers to write that the device is used with this toolchain, if the file has another one.
  void note_toolchain(const std::string& device_fingerprint, const DeviceIdentity& device,
                      const Toolchain& toolchain);

  /// Who this is for the leases, with a token that was never used before.
  LeaseHolder new_lease_holder();
  const ProcessIdentity& process() const { return process_; }

  /// Adds a sentence to the health and, once, to the log.
  void warn(std::string sentence);
  /// The same for something that nobody has thought of.
  void warn_of_failure(const char* what) noexcept;
  void count_damaged_binary() { ++damaged_binaries_; }
  StoreHealth health();
  /// A copy to give away. Empty on success, else a sentence.
  std::string export_to(const std::filesystem::path& destination);
  /// See Store::merge.
  MergeResult merge(const std::filesystem::path& from);

 private:
  using Clock = std::chrono::steady_clock;

  bool can_write() const { return file_ && file_->writable && Clock::now() >= write_again_at_; }
  bool write_to_file(const std::vector<Work>& works);
  void write_to_memory(const std::vector<Work>& works);
  void write_what_is_left();
  void forget_unsaved();
  bool ask_one(StoreFile& file, Having having, const std::function<bool(sqlite::Connection&)>& ask);
  void read_locked(Having having, const std::function<bool(sqlite::Connection&)>& ask);
  bool follow_file();
  void remember_toolchain_of(const std::string& device_fingerprint);
  void note_families();
  void reopen();
  void replace_damaged_file();
  Warn warn_function();

  const StoreOptions options_;
  const ProcessIdentity process_;
  const std::string lease_prefix_;
  std::atomic<int> leases_{0};
  std::atomic<int> damaged_binaries_{0};
  std::atomic<std::int64_t> lookups_{0}, changes_{0};
  PendingWrites pending_;

  mutable std::mutex databases_;  // guards the next group
  std::optional<StoreFile> file_;
  std::optional<sqlite::Connection> memory_;
  std::vector<StoreFile> system_files_;
  std::vector<Work> unsaved_;
  Clock::time_point write_again_at_, queue_again_at_;
  int replacements_ = 0;
  std::int64_t data_version_ = 0;  // of the file's connection; it never has 0
  std::int64_t newest_winner_ = 0;

  mutable std::shared_mutex winners_lock_;                      // guards the next group
  std::unordered_map<std::string, std::vector<Record>> found_;  // by both fingerprints of the key
  std::unordered_map<std::string, std::string> toolchain_of_;   // by fingerprints; "": not known

  mutable std::mutex warnings_lock_;  // guards the next one
  std::vector<std::string> warnings_;
};

/// Runs the body of a member of Store, which lets nothing through: see the contract in store.h.
template <class Result, class Body>
Result no_throw(Archive& archive, Result otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    archive.warn_of_failure(error.what());
  }
  return otherwise;
}

template <class Body>
void no_throw(Archive& archive, Body&& body) noexcept {
  no_throw(archive, false, [&] {
    body();
    return true;
  });
}

/// Whether a winner counts still, by the families of the archive's options.
IsCurrent is_current_in(const Archive& archive);

/// Of the canonical problem.
TuningKey tuning_key(const Problem& problem, const DeviceIdentity& device,
                     const Toolchain& toolchain);

}  // namespace tunedgemm::internal
