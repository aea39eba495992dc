#pragma once

// Store: the memory of the library, one SQLite file. This header is all that the layers above see
// of it.
//
// Contract: no member throws and none fails a caller. What the file system or SQLite refuses makes
// the store smaller (read-only, or in memory only), is logged once and is told by `health()`; a
// binary that does not hash to what was stored is a miss. Thread-safe. A store belongs to
// the process that opened it: a forked child opens its own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"
#include "kernel_templates/source.h"

namespace tunedgemm::internal {

struct StoreOptions {
  /// The file; empty: $TUNEDGEMM_CACHE, else $XDG_CACHE_HOME/tunedgemm/tunedgemm.db, else
  /// ~/.cache/tunedgemm/...
  std::filesystem::path path;
  /// Further files that are only read, asked in order after the first; empty:
  /// $TUNEDGEMM_SYSTEM_CACHE, ':'-separated.
  std::vector<std::filesystem::path> system_paths;
  enum class Access { kReadWrite, kReadOnly, kMemoryOnly } access = Access::kReadWrite;

  // For tests; the defaults are right.

  /// How a file that is created here keeps a transaction whole; see the README of this folder.
  enum class Journal { kAutomatic, kRollback, kWriteAhead } journal = Journal::kAutomatic;
  /// How long one operation waits for other processes.
  int busy_timeout_ms = 5000;
  /// kWhole reads all of the file that is written, and so finds damage that a start would not meet.
  enum class Examination { kQuick, kWhole } examination = Examination::kQuick;
  /// By which stored winners are current or void; empty: the registered families.
  std::function<const Family*(std::string_view name)> find_family;
};

enum class StoreState { kReadWrite, kReadOnly, kMemoryOnly };
std::string_view name(StoreState state);

struct StoreHealth {
  StoreState state = StoreState::kMemoryOnly;
  std::filesystem::path path;
  std::vector<std::string> warnings;  ///< sentences: what is wrong or was done, and what to do
  /// The shell command that brings back what a damaged cache, which was set aside, still holds;
  /// empty if there is none beside the file.
  std::string recovery_command;
  std::string journal_mode;  ///< "wal", "delete"; "" in memory
  std::string sqlite_version;
  std::int64_t file_bytes = 0;
  std::int64_t winners = 0;
  /// Of these, how many are in memory only: without a file, or until it can be written again.
  std::int64_t unsaved_winners = 0;
};

/// A request: a problem that was asked for and answered without a tuned winner.
struct Request {
  Problem problem;
  std::int64_t calls = 0;  ///< launches; 0 if a plan was made and not run yet
  std::string name;        ///< what the program calls it, such as a layer; "" if it gave no name
};

/// The right to tune one problem on one device, held against other processes until destroyed.
/// Move-only.
class Lease {
 public:
  Lease() = default;
  Lease(std::shared_ptr<void> held, bool winners_changed)
      : held_(std::move(held)), winners_changed_(winners_changed) {}
  explicit operator bool() const { return held_ != nullptr; }
  /// Whether another process has stored winners since the last look-up: only then can looking
  /// again find what was missing. Told by a lease that was not given as well.
  bool winners_changed() const { return winners_changed_; }

 private:
  std::shared_ptr<void> held_;
  bool winners_changed_ = false;
};

/// A winner of a template that has changed since.
struct OutdatedWinner {
  Hit hit;        ///< as if the row were of the current template
  Binary binary;  ///< of the template as it was
};

/// What became of a record that was put.
struct PutResult {
  bool stored = false;  ///< false: a fuller tuning was there before and stays the winner
  Record winner;        ///< the winner now, as it is stored: with the time at which it was
};

/// What Store::merge has taken from another file.
struct MergeResult {
  std::string failure = {};  ///< a sentence; empty on success
  std::int64_t winners = 0, trials = 0, binaries = 0;
  /// A sentence for each problem that both files have a winner for, and not the same one.
  std::vector<std::string> conflicts = {};
};

/// A winner and the word that the views have for its state: "confirmed", "provisional" (a quick
/// tuning, or one whose budget ended early), "stale" (another toolchain has been seen on the device
/// since) or "void" (the library that used the file last has another template of the family).
struct WinnerWithState {
  Record record;
  std::string state;
};

class Archive;

class Store {
 public:
  /// Opens, creates or gives up, in that order; see health(). Blocks for a few milliseconds at
  /// most, longer (the busy timeout, 5 s) only where another process writes all that time.
  static std::unique_ptr<Store> open(const StoreOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  StoreHealth health() const;
  /// The file, or what would be it; empty if there is none. health() counts the winners.
  std::filesystem::path path() const;

  /// The winner for the problem (canonical or not) on the device. Void rows are not returned:
  /// another template fingerprint, or a config that the family no longer allows within `limits`.
  /// What was found before is answered from memory. Anything else is one indexed look-up in the
  /// files, which sees what other processes have stored; so nobody has to look a second time.
  std::optional<Hit> find(const Problem& problem, const DeviceIdentity& device,
                          const Toolchain& toolchain, const DeviceLimits& limits) const;

  /// The newest void winner that this compiler made and that the family still allows within
  /// `limits`, with the binary that won. Empty if there is none, or its binary was not stored.
  std::optional<OutdatedWinner> find_outdated(const Problem& problem, const DeviceIdentity& device,
                                              const Toolchain& toolchain,
                                              const DeviceLimits& limits) const;
  /// The outdated winner's template gives the same machine code as before: its row, and its binary,
  /// are those of the current template from now on.
  void renew(const OutdatedWinner& winner);

  /// Winners of the device for problems with the types, orders, epilogue and numerics of this one:
  /// of at most `count` problems in a file, those nearest in M, N, K and batch, the nearest first.
  /// Void and stale ones too; none whose sizes differ by more than a factor of 16 in all.
  std::vector<Record> neighbours(const Problem& problem, const DeviceIdentity& device,
                                 int count) const;
  /// The same at any distance, but one problem for each config, and at most `count` configs: of the
  /// thousand winners next in M on either side, those nearest in M first.
  std::vector<Record> distant_neighbours(const Problem& problem, const DeviceIdentity& device,
                                         int count) const;

  /// Grows when this store has stored a winner or a binary, and when a look-up of `find` has seen
  /// that another process wrote: what was not there before may be there now.
  std::int64_t changes() const;

  /// How many look-ups `find` has answered, for those who want to know what a call costs.
  std::int64_t lookups() const;

  /// The binary made from this source for this architecture by this compiler, if there is one.
  std::optional<Binary> find_binary(const Source& source, const Toolchain& toolchain,
                                    int architecture) const;
  /// What any compiler made from this source for this architecture and, on the host, these CPU
  /// features; first what `compiler` made. A row whose hash is wrong is left out, deleted, and
  /// counted in health().
  std::vector<StoredBinary> find_binaries(const Source& source, const Toolchain& toolchain,
                                          int architecture, std::string_view compiler) const;
  void put_binary(const Source& source, const Toolchain& toolchain, int architecture,
                  const Binary& binary);
  /// A stored binary that the device refused: forgets it.
  void forget_binary(const Source& source, const Toolchain& toolchain, int architecture);

  /// Winner, its binary and all trials in one transaction. Keeps the stored winner instead where
  /// that one, with the same toolchain and fingerprint, is of greater rigor, or equally rigorous
  /// and complete while this is not; an incomplete one counts for no more than the candidates that
  /// it has tried. Trials are of the final round only if they are of the winner's.
  PutResult put(const Record& record, const Source& winner_source, const Binary& winner_binary,
                const std::vector<TrialRecord>& trials);

  /// One outcome before the tuning is finished, so that an interrupted one resumes.
  void put_trial(const Problem& problem, const DeviceIdentity& device, const Toolchain& toolchain,
                 const TrialRecord& trial);
  /// All outcomes for the problem with this device and toolchain, newest per candidate.
  std::vector<TrialRecord> trials(const Problem& problem, const DeviceIdentity& device,
                                  const Toolchain& toolchain) const;

  /// Written before a candidate runs for the first time and cleared after it. What stays behind
  /// becomes a trial rejected as kCrashed: when the lease is given back, or, of a process that
  /// died, when it is next taken.
  void mark_in_flight(const Problem& problem, const DeviceIdentity& device,
                      const Toolchain& toolchain, std::string_view family, const Config& config,
                      std::string_view family_fingerprint);
  void clear_in_flight(const Problem& problem, const DeviceIdentity& device,
                       const Toolchain& toolchain);

  /// Waits up to `wait_seconds` for another process that tunes the same problem; empty if it is
  /// still at work. A lease whose process is gone (host, boot, pid and start time are compared) is
  /// taken over.
  Lease acquire(const Problem& problem, const DeviceIdentity& device, const Toolchain& toolchain,
                double wait_seconds);

  /// What launches have told about one piece of hardware (Device::probe), by a key that names it;
  /// empty if nothing is stored.
  std::string find_probe(std::string_view key) const;
  void put_probe(std::string_view key, std::string_view text);

  /// Notes a problem that was missed, and adds to its calls, in memory (no I/O, callable during
  /// stream capture); written by flush() and at destruction. An empty name leaves the one that is
  /// there.
  void note_request(const Problem& problem, const DeviceIdentity& device, std::int64_t calls,
                    std::string_view name = {});
  void flush();
  std::vector<Request> requests(const DeviceIdentity& device) const;

  /// All winners, void and stale ones too, as stored.
  std::vector<Record> winners() const;
  std::vector<WinnerWithState> winners_with_state() const;
  /// Deletes the winners and trials of a problem on all devices; returns how many winners.
  int forget(const Problem& problem);
  /// A self-contained copy (VACUUM INTO) for sharing or as a system file. Empty on success, else a
  /// sentence.
  std::string export_to(const std::filesystem::path& destination) const;
  /// Takes the winners, trials and binaries of another cache file into this one, in one transaction.
  /// Of two winners for one problem the better-measured one stays: of a current template, of a
  /// finished, more rigorous tuning, with more samples, the newer one. Merging a file again changes
  /// nothing. Leases, requests and probes stay where they are.
  MergeResult merge(const std::filesystem::path& from);

 private:
  explicit Store(std::shared_ptr<Archive> archive);
  std::shared_ptr<Archive> archive_;  // leases know it weakly
};

}  // namespace tunedgemm::internal
