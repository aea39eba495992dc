#pragma once

// The rows of each table as values, one source file a table. Private to cache.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/file/process_identity.h"
#include "cache/record.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"

namespace tunedgemm::internal {

// dimension_rows.cpp: problems, devices, toolchains and configs, to whose rows the other tables
// refer. Each function gives the id of the row for a value and inserts it if need be.

/// `canonical` as canonical() makes it.
std::int64_t problem_row(sqlite::Connection& connection, const Problem& canonical);
std::int64_t device_row(sqlite::Connection& connection, const DeviceIdentity& device);
std::int64_t toolchain_row(sqlite::Connection& connection, const Toolchain& toolchain);
std::int64_t config_row(sqlite::Connection& connection, std::string_view family,
                        const Config& config);

/// What winners, trials and leases are found by.
struct KeyRows {
  std::int64_t problem = 0, device = 0, toolchain = 0;
};

/// The same key as values.
struct TuningKey {
  Problem problem;  ///< canonical
  DeviceIdentity device;
  Toolchain toolchain;
};
KeyRows key_rows(sqlite::Connection& connection, const TuningKey& key);

/// The device is used with this toolchain now: what was tuned with another is stale.
void set_current_toolchain(sqlite::Connection& connection, const DeviceIdentity& device,
                           const Toolchain& toolchain);

/// The library has this template of the family now: what was tuned with another is void.
void set_current_family(sqlite::Connection& connection, const std::string& name,
                        const std::string& fingerprint);

// What a launch has told about one piece of hardware, which is no part of its identity as a device:
// equal devices differ in it.
void set_probe(sqlite::Connection& connection, const std::string& key, const std::string& text);
/// Empty if there is none.
std::string find_probe(const sqlite::Connection& connection, const std::string& key);

// winner_rows.cpp: the fastest config of each problem on a device with a toolchain.

/// Whether what was tuned with a family of this fingerprint still counts.
using IsCurrent = std::function<bool(std::string_view family, std::string_view fingerprint)>;

/// Stores the winner, unless the one that is there has to be kept (see Store::put). Returns
/// whether it was stored.
bool put_winner(sqlite::Connection& connection, const Record& record,
                std::optional<std::int64_t> kernel, const IsCurrent& is_current);

// What reads winners leaves out those of which a text is not understood: a later version of the
// library has written them.

/// All winners, with their states.
std::vector<WinnerWithState> read_winners(const sqlite::Connection& connection);
/// What a winner is found by: the fingerprints of its problem and its device.
struct WinnerKey {
  std::string problem, device;
};
/// The winners of one problem on one device, of all toolchains.
std::vector<Record> find_winners(const sqlite::Connection& connection, const WinnerKey& key);

/// The binary of a winner; empty if none is stored or its hash is wrong.
std::optional<Binary> find_binary_of_winner(const sqlite::Connection& connection,
                                            const TuningKey& key);
/// The winner and its binary are of these fingerprints of family and source now.
void renew_winner(sqlite::Connection& connection, const TuningKey& key,
                  const std::string& family_fingerprint, const std::string& source_fingerprint);

/// The fingerprints of problems with a winner on the device (one for each winner) that have the
/// types, orders, epilogue and numerics of `canonical`: at most `count`, the nearest first. What is
/// near is told by the product of the ratios of M, N, K and batch, each plus one.
std::vector<std::string> find_neighbours(const sqlite::Connection& connection,
                                         const Problem& canonical, const std::string& device,
                                         int count);
/// The same at any distance, told by the ratio of M plus one: of at most `count` configs, each
/// once. Looks at so many of the winners next in M, on either side, that distant kernels are found
/// among many alike, and no more, however many there are.
std::vector<std::string> find_distant_neighbours(const sqlite::Connection& connection,
                                                 const Problem& canonical,
                                                 const std::string& device, int count);

/// Deletes the winners and the trials of a problem, by its fingerprint; returns how many winners.
std::int64_t delete_winners(sqlite::Connection& connection, const std::string& problem);

/// Changes when a winner was stored.
std::int64_t newest_winner(sqlite::Connection& connection);

// trial_rows.cpp: a row for each candidate of a problem on a device with a toolchain. The newest
// outcome replaces an older one.

void put_trial(sqlite::Connection& connection, const KeyRows& key, const TrialRecord& trial);
/// What was timed in finals counts as screened from now on.
void forget_finals(sqlite::Connection& connection, const KeyRows& key);
std::vector<TrialRecord> read_trials(const sqlite::Connection& connection, const TuningKey& key);

// kernel_rows.cpp: compiled binaries. A stored binary will be executed, so each carries the SHA-256
// of its bytes; SQLite does not notice a changed byte in a blob.

/// The SHA-256 that is stored with a binary.
std::string hash_of(const std::vector<std::byte>& code);

/// The driver is no part of it: what a compiler made runs under a newer driver as well.
struct KernelKey {
  std::string source;  ///< the source's fingerprint
  std::string compiler;
  int architecture = 0;
};

struct FoundKernels {
  std::vector<StoredBinary> sound;
  std::vector<KernelKey> damaged;  ///< rows whose hash is wrong
};

/// What any compiler made of the key's source for its architecture and the CPU features of its
/// compiler.
FoundKernels find_kernels(const sqlite::Connection& connection, const KernelKey& key);
/// Returns the row's id.
std::int64_t put_kernel(sqlite::Connection& connection, const KernelKey& key, const Binary& binary);
void delete_kernel(sqlite::Connection& connection, const KernelKey& key);

// request_rows.cpp: problems that were asked for and answered without a tuned winner.

void add_calls(sqlite::Connection& connection, const Request& request,
               const DeviceIdentity& device);

/// Those that have no winner yet, the most work first.
std::vector<Request> read_requests(const sqlite::Connection& connection,
                                   const DeviceIdentity& device);

// lease_rows.cpp: who tunes which problem now, and with which candidate in flight.

/// A process and, since it may tune on several threads, which of its leases.
struct LeaseHolder {
  ProcessIdentity process;
  std::string token;
};

/// Whether another process or thread that still lives holds the lease. Only reads.
bool is_held(sqlite::Connection& connection, const TuningKey& key);

/// Takes the lease if nobody else holds it; call it in a transaction. A candidate that a dead
/// holder left in flight becomes a trial rejected as kCrashed.
bool claim_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder);
void release_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder);

struct CandidateInFlight {
  std::string family;
  Config config;
  std::string family_fingerprint;
};
/// What the process is about to run, or that it has come back; with a lease or without.
void set_in_flight(sqlite::Connection& connection, const TuningKey& key,
                   const ProcessIdentity& process, const CandidateInFlight& candidate);
void clear_in_flight(sqlite::Connection& connection, const TuningKey& key,
                     const ProcessIdentity& process);

}  // namespace tunedgemm::internal
