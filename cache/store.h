#pragma once

// Store: the library's memory, one SQLite file. The layers above see only this header.
//
// Contract: no member throws or makes its caller fail. If the file system or SQLite refuses an
// operation, the store falls back to read-only or in-memory mode, logs this once and reports it in
// `health()`. A binary that does not match its stored hash is a miss. Thread-safe. A store belongs
// to the process that opened it: a forked child opens its own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/store_types.h"
#include "kernel_templates/source.h"

namespace tunedgemm::internal {

class Archive;

class Store {
 public:
  /// Opens or creates the file. If that is impossible, the store works without it; see health().
  /// Blocks for a few milliseconds, or up to the busy timeout (5 s) if another process keeps
  /// writing.
  static std::unique_ptr<Store> open(const StoreOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  StoreHealth health() const;
  /// Only the state: unlike health(), this counts no winners and reads no file.
  StoreState state() const;
  /// StoreHealth::unsaved_winners alone.
  std::int64_t unsaved_winners() const;
  /// The requested file, even if it cannot be used; empty if there is none.
  std::filesystem::path path() const;

  /// The winner for the problem on the device. Skips void rows: those with another template
  /// fingerprint, or with a config that the family no longer allows within `limits`. A cached
  /// winner comes from memory. If none is cached, this does one indexed look-up in each file. The
  /// look-up sees winners that other processes have just stored, so callers need not repeat it.
  std::optional<Hit> find(const TuningKey& key, const DeviceLimits& limits) const;

  /// A void winner that was tuned with the key's compiler, that the family still allows within
  /// `limits`, and whose binary is stored. Prefers a winner of the key's driver, then the newest.
  /// Empty if there is none. Call it only after find() has found nothing.
  std::optional<OutdatedWinner> find_outdated(const TuningKey& key,
                                              const DeviceLimits& limits) const;
  /// Moves the winner's row and binary to the current template. Call it only if the current
  /// template compiles to the same machine code.
  void renew(const OutdatedWinner& winner);

  /// The problem's winners on the device, with all toolchains. Includes void and stale winners.
  std::vector<Record> winners(const CanonicalProblem& problem, const DeviceIdentity& device) const;

  /// Winners of the device for problems with the types, orders, epilogue and numerics of this one:
  /// at most `count` problems per file, the nearest in M, N, K and batch first. Includes void and
  /// stale winners. The ratios of M, N, K and batch have a product of at most 16.
  std::vector<Record> neighbours(const CanonicalProblem& problem, const DeviceIdentity& device,
                                 int count) const;
  /// Like neighbours(), but at any distance: one problem for each config, at most `count` configs,
  /// the nearest in M first. Considers only 1,000 winners on each side: those with the nearest
  /// smaller M, and those with the nearest larger M.
  std::vector<Record> distant_neighbours(const CanonicalProblem& problem,
                                         const DeviceIdentity& device, int count) const;

  /// The tuned problems of the device that differ from this one in M, and otherwise at most in
  /// strides, alignments and launch regime; sorted by M. Problems that were tuned with several
  /// toolchains appear once for each of them. Includes void and stale winners. Their trials have
  /// only the candidate, the predicted time and the median.
  std::vector<TunedProblem> tuned_at_other_m(const CanonicalProblem& problem,
                                             const DeviceIdentity& device) const;

  /// Other devices that have winners, with the same backend and compute capability: their kernels
  /// may run on this device. At most four, the most similar first, by name, units, clock and power
  /// limit. Their winners are no hits: the functions above find them if they are given the other
  /// device.
  std::vector<DeviceIdentity> similar_devices(const DeviceIdentity& device) const;

  /// A number that grows when this store stores a winner or a binary, and when `find` or `refresh`
  /// notices that another process wrote. If it has grown, a look-up that missed before may hit.
  std::int64_t changes() const;
  /// Checks whether other processes have written, and returns changes(). Takes microseconds if they
  /// have not, and fewer than thousands of requests wait for a write.
  std::int64_t refresh();

  /// The number of look-ups that `find` has answered, for measuring the cost of a call.
  std::int64_t lookups() const;

  /// The binary that this compiler made from this source for this architecture, if there is one.
  std::optional<Binary> find_binary(const Source& source, const Toolchain& toolchain,
                                    int architecture) const;
  /// The binaries that any compiler made from this source for this architecture and that, on the
  /// host, use no other CPU features than the toolchain's. Binaries of `compiler` come first. A row
  /// whose hash is wrong is left out, counted in health(), and deleted from the writable file.
  std::vector<StoredBinary> find_binaries(const Source& source, const Toolchain& toolchain,
                                          int architecture, std::string_view compiler) const;
  void put_binary(const Source& source, const Toolchain& toolchain, int architecture,
                  const Binary& binary);
  /// Deletes a stored binary that the device refused.
  void forget_binary(const Source& source, const Toolchain& toolchain, int architecture);

  /// Stores the winner, its binary and all trials in one transaction. A stored winner with the
  /// current template and the same toolchain stays in two cases: (1) its tuning was more rigorous,
  /// and was complete or tried at least as many candidates; (2) its tuning was complete, the new
  /// one is not, and the stored one was equally rigorous or tried more candidates. With
  /// kAnyIfComplete, a complete tuning replaces every winner. Only trials of the current winner's
  /// tuning are marked as part of the final round.
  PutResult put(const Record& record, const Source& winner_source, const Binary& winner_binary,
                const std::vector<TrialRecord>& trials, Replace replace = Replace::kLessThorough);

  /// Stores the vendor_us and vendor of a winner that is stored already. Does nothing if another
  /// tuning has replaced it.
  void put_comparison(const Record& winner);

  /// Stores one outcome before the tuning is finished, so that an interrupted tuning can be
  /// resumed. Outcomes are collected and written several at a time; each write renews the lease.
  void put_trial(const TuningKey& key, const TrialRecord& trial);
  /// All outcomes for the problem with this device and toolchain, the newest for each candidate.
  std::vector<TrialRecord> trials(const TuningKey& key) const;

  /// Marks a candidate before it runs for the first time; clear_in_flight() removes the mark
  /// afterwards. A mark that remains becomes a trial rejected as kCrashed when the lease is
  /// released or, if the process died, when the lease is next taken.
  void mark_in_flight(const TuningKey& key, std::string_view family, const Config& config,
                      std::string_view family_fingerprint);
  void clear_in_flight(const TuningKey& key);

  /// Waits up to `wait_seconds` for another process or thread that tunes the same problem. The
  /// lease is empty if that tuning still runs afterwards. Takes over a lease whose process has
  /// ended, which its boot, pid and start time show. If they cannot, because the process is in
  /// another PID namespace or on another machine, takes over after 15 minutes without a renewal.
  Lease acquire(const TuningKey& key, double wait_seconds);

  /// A text under a name; empty if nothing is stored. "probe ..." has what launches measured on one
  /// piece of hardware (Device::probe), which exports leave out, since devices with equal
  /// identities may differ in it. "accumulation class of ..." has the class of invariant problems
  /// (StoredWinners::find).
  std::string find_note(std::string_view name) const;
  void put_note(std::string_view name, std::string_view text);

  /// Records a problem without a tuned winner and adds to its calls. Does so in memory, without
  /// I/O, so it may be called during stream capture. The next write to the file includes the
  /// record; flush() and the destructor write at once. The name is added to the stored names.
  void note_request(const CanonicalProblem& problem, const DeviceIdentity& device,
                    std::int64_t calls, std::string_view name = {});
  /// Adds a name to those of a problem that has a winner on the device. Like note_request(), it is
  /// written with the next write; it is dropped if the writable file has no such winner then.
  void add_name(const CanonicalProblem& problem, const DeviceIdentity& device,
                std::string_view name);
  /// Writes at once what waits for the next write.
  void flush();
  /// The most work first.
  std::vector<Request> requests(const DeviceIdentity& device,
                                Requested which = Requested::kWithoutWinner) const;

  /// The fingerprints of the problems that have a winner on the device, void and stale ones too.
  /// One look-up, whatever the number of problems.
  std::unordered_set<std::string> tuned_problems(const DeviceIdentity& device) const;
  /// All winners as stored, including void and stale ones, those of each file sorted by device,
  /// types and extents. Of several winners for one problem and device, which have different
  /// toolchains, the one that a call gets comes first.
  std::vector<Record> winners() const;
  std::vector<WinnerWithState> winners_with_state() const;
  /// Columns and their values as text.
  using Equal = std::vector<std::pair<std::string, std::string>>;
  /// The rows of a view in all files in which the columns have these values. A row has a cell for
  /// each column of the view, null for those that an older file lacks.
  std::vector<std::vector<Cell>> rows_of(const CacheView& view, const Equal& equal) const;
  /// Deletes the winners and trials of the keys from the file, in one transaction. A problem that
  /// has no winner left on the device also loses its request, with its calls and names. Read-only
  /// files keep theirs. After a failure nothing is deleted, not even later.
  ForgetResult forget(const std::vector<TuningKey>& keys);
  /// Writes a read-only copy of the file (VACUUM INTO), without leases, probes and requests, except
  /// the names of tuned problems, to share or to use as a system file. If `selects` is not empty,
  /// the copy has only the winners for which it returns true, their binaries, and the measured
  /// trials of their tunings. Empty on success, else a sentence; selecting nothing is a failure.
  std::string export_to(
      const std::filesystem::path& destination,
      const std::function<bool(const WinnerWithState& winner)>& selects = {}) const;
  /// Copies the winners, trials and binaries of another cache file into this one, in one
  /// transaction. If both have a winner for the same key, one of them stays. The first of these
  /// properties in which they differ decides: a current template, a finished tuning, greater rigor,
  /// more samples, a later tuning, a shorter time, the values of their columns. If both have a
  /// trial of a candidate, the newer one stays. So merging a file again changes nothing, and files
  /// may be merged in any order. Requests, leases and probes are not copied, except the names of
  /// tuned problems.
  MergeResult merge(const std::filesystem::path& from);
  /// Deletes what serves no call and no tuning any more, in one transaction, then makes the file
  /// smaller (VACUUM): void winners that no call can renew, winners of old toolchains where the
  /// device has a usable one of its current toolchain, the trials that no tuning reads, binaries of
  /// compilers that are no longer in use, and rows that nothing refers to. find() gives the same
  /// winners as before. With a size limit, these go next until the file is small enough: trials
  /// outside the finals, binaries without a winner, and the finals' trials; each time the oldest
  /// first. Keeps crashes, unfinished tunings and whatever has a lease. Read-only files keep
  /// everything. After a failure to delete, nothing is deleted. Blocks other writers for seconds if
  /// the file is large.
  GcResult collect_garbage(const GcOptions& options = {});

 private:
  explicit Store(std::shared_ptr<Archive> archive);
  std::shared_ptr<Archive> archive_;  // leases hold a weak_ptr to it
};

}  // namespace tunedgemm::internal
