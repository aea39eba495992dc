#pragma once

// The rows of each table as values. Each table has its own source file. Private to cache.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/file/process_identity.h"
#include "cache/record.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store_types.h"

namespace tunedgemm::internal {

// dimension_rows.cpp: problems, devices, toolchains and configs. The other tables refer to their
// rows. A function named ..._row returns the id of a value's row, and inserts the row if it is
// missing.

std::int64_t problem_row(sqlite::Connection& connection, const CanonicalProblem& problem);
std::int64_t device_row(sqlite::Connection& connection, const DeviceIdentity& device);
std::int64_t toolchain_row(sqlite::Connection& connection, const Toolchain& toolchain);
std::int64_t config_row(sqlite::Connection& connection, std::string_view family,
                        const Config& config);

/// A TuningKey as row ids.
struct KeyRows {
  std::int64_t problem = 0, device = 0, toolchain = 0;
};

KeyRows key_rows(sqlite::Connection& connection, const TuningKey& key);

/// The other devices that have winners and the device's backend and compute capability.
std::vector<DeviceIdentity> read_similar_devices(const sqlite::Connection& connection,
                                                 const DeviceIdentity& device);

/// Notes that the device now uses this toolchain. Winners tuned with another one become stale.
void set_current_toolchain(sqlite::Connection& connection, const DeviceIdentity& device,
                           const Toolchain& toolchain);

/// Notes that the library now has this template of the family. Winners tuned with another template
/// become void.
void set_current_family(sqlite::Connection& connection, const std::string& name,
                        const std::string& fingerprint);

/// A note is a text under a name (see Store::find_note).
void set_note(sqlite::Connection& connection, const std::string& name, const std::string& text);
/// Empty if nothing is stored.
std::string find_note(const sqlite::Connection& connection, const std::string& name);

/// The WHERE clause for the rows of one TuningKey in a table with its columns. Binds the
/// fingerprints of the key's problem, device and toolchain.
inline constexpr std::string_view kOfKey =
    " WHERE problem = (SELECT id FROM problem WHERE fingerprint = ?1) AND "
    "device = (SELECT id FROM device WHERE fingerprint = ?2) AND "
    "toolchain = (SELECT id FROM toolchain WHERE fingerprint = ?3)";

/// The WHERE clause for problems with the types, orders, epilogue and numerics of one problem. All
/// columns but the device are the first columns of the index `problem_neighbours`. M is next in the
/// index.
inline constexpr std::string_view kOfOneClass =
    "device_fingerprint = ?1 AND type_a = ?2 AND type_b = ?3 AND type_d = ?4 AND order_a = ?5 AND "
    "order_b = ?6 AND beta = ?7 AND bias = ?8 AND activation = ?9 AND numerics = ?10";

/// Binds the parameters of kOfOneClass, then `values`.
template <class... Values>
void bind_class(sqlite::Statement& rows, const CanonicalProblem& problem, const std::string& device,
                const Values&... values) {
  rows.bind(device, name(problem->a.type), name(problem->b.type), name(problem->d.type),
            name(problem->a.order), name(problem->b.order), name(problem->beta),
            name(problem->bias), name(problem->activation), name(problem->numerics), values...);
}

// winner_rows.cpp: the fastest config of each problem on a device with a toolchain.

/// Tells whether a winner with this family and fingerprint is current.
using IsCurrent = std::function<bool(std::string_view family, std::string_view fingerprint)>;

/// Stores the winner unless the stored one has to be kept (see Store::put). Returns whether it was
/// stored.
bool put_winner(sqlite::Connection& connection, const Record& record,
                std::optional<std::int64_t> kernel, const IsCurrent& is_current, Replace replace);

// Functions that read winners skip rows whose text cannot be parsed. A later version of the library
// may have written such rows.

/// All winners, with their states.
std::vector<WinnerWithState> read_winners(const sqlite::Connection& connection);
/// The key of a winner: the fingerprints of its problem and its device.
struct WinnerKey {
  std::string problem, device;
};
/// The winners of one problem on one device, with all toolchains.
std::vector<Record> find_winners(const sqlite::Connection& connection, const WinnerKey& key);

/// The fingerprints of the problems that have a winner on the device.
std::unordered_set<std::string> read_tuned_problems(const sqlite::Connection& connection,
                                                    const std::string& device);

/// A winner's binary; empty if none is stored or its hash is wrong.
std::optional<Binary> find_binary_of_winner(const sqlite::Connection& connection,
                                            const TuningKey& key);
/// Gives the winner its family's new fingerprint, and its binary the new source's fingerprint.
void renew_winner(sqlite::Connection& connection, const TuningKey& key,
                  const std::string& family_fingerprint, const std::string& source_fingerprint);

/// Gives the stored winner the vendor_us and vendor of this one, if it is of the same tuning.
void put_comparison(sqlite::Connection& connection, const Record& winner);

/// The fingerprints of problems with a winner on the device, one for each winner: at most `count`,
/// the nearest first. The problems have the types, orders, epilogue and numerics of `problem`.
/// The distance is the product of the ratios of M + 1, N + 1, K + 1 and batch + 1.
std::vector<std::string> find_neighbours(const sqlite::Connection& connection,
                                         const CanonicalProblem& problem, const std::string& device,
                                         int count);
/// Like find_neighbours(), but the distance is the ratio of M + 1, without a limit, and each config
/// has only its nearest problem in the result. Searches a fixed number of winners on each side:
/// those with the nearest smaller M, and those with the nearest M that is equal or larger.
std::vector<std::string> find_distant_neighbours(const sqlite::Connection& connection,
                                                 const CanonicalProblem& problem,
                                                 const std::string& device, int count);

/// The winners on the device, by M, of problems with the types, orders, epilogue, numerics, N, K
/// and batch of `problem`.
std::vector<Record> find_winners_at_other_m(const sqlite::Connection& connection,
                                            const CanonicalProblem& problem,
                                            const std::string& device);

/// Returns the number of rows, 0 or 1.
std::int64_t delete_winner(sqlite::Connection& connection, const TuningKey& key);

/// A number that changes each time a winner is stored.
std::int64_t newest_winner(sqlite::Connection& connection);

// trial_rows.cpp: one row for each candidate of a TuningKey. A newer outcome replaces an older one.

void put_trial(sqlite::Connection& connection, const KeyRows& key, const TrialRecord& trial);
/// Marks all trials of the key as not measured in the current winner's finals.
void forget_finals(sqlite::Connection& connection, const KeyRows& key);
std::vector<TrialRecord> read_trials(const sqlite::Connection& connection, const TuningKey& key);
/// Returns the number of rows.
std::int64_t delete_trials(sqlite::Connection& connection, const TuningKey& key);
/// The timed trials of the problems of find_winners_at_other_m(), by the problems' fingerprints.
/// Reads only the candidate, the predicted time and the median.
std::map<std::string, std::vector<TrialRecord>> read_timed_at_other_m(
    const sqlite::Connection& connection, const CanonicalProblem& problem,
    const std::string& device);

// kernel_rows.cpp: compiled binaries. A stored binary will be executed, and SQLite does not notice
// a changed byte in a blob. Each row therefore has the SHA-256 of the binary.

/// The SHA-256 stored with a binary.
std::string hash_of(const std::vector<std::byte>& code);

/// The driver is not part of the key: a binary also runs under newer drivers.
struct KernelKey {
  std::string source;  ///< the source's fingerprint
  std::string compiler;
  int architecture = 0;

  friend bool operator<(const KernelKey& left, const KernelKey& right) {
    return std::tie(left.source, left.compiler, left.architecture) <
           std::tie(right.source, right.compiler, right.architecture);
  }
};

struct FoundKernels {
  std::vector<StoredBinary> sound;
  std::vector<KernelKey> damaged;  ///< rows whose hash is wrong
};

/// The binaries that any compiler made from the key's source for the key's architecture. Omits
/// binaries that need CPU features beyond those of the key's compiler (runs_machine_code()).
FoundKernels find_kernels(const sqlite::Connection& connection, const KernelKey& key);
/// Returns the row's id.
std::int64_t put_kernel(sqlite::Connection& connection, const KernelKey& key, const Binary& binary);
void delete_kernel(sqlite::Connection& connection, const KernelKey& key);

// request_rows.cpp: problems that were requested and answered without a tuned winner, and the names
// of problems.

void add_calls(sqlite::Connection& connection, const Request& request,
               const DeviceIdentity& device);

/// Adds the names to those of the key's problem on its device. Does nothing without a winner there.
void add_name(sqlite::Connection& connection, const WinnerKey& key, const std::string& name);
/// The names of all problems that have any; `schema` is that of an attached file.
std::vector<std::pair<WinnerKey, std::string>> read_names(const sqlite::Connection& connection,
                                                          const std::string& schema = "main");

/// Deletes the request of the key's problem on its device if there is no winner.
void delete_request_without_winner(sqlite::Connection& connection, const TuningKey& key);

/// Requests, the most work first.
std::vector<Request> read_requests(const sqlite::Connection& connection,
                                   const DeviceIdentity& device, Requested which);

// lease_rows.cpp: the problems that are being tuned, with the tuning process and its candidate in
// flight.

/// Identifies one lease of a process, which may tune on several threads.
struct LeaseHolder {
  ProcessIdentity process;
  std::string token;
};

/// Whether a live process or thread holds the lease. Only reads.
bool is_held(sqlite::Connection& connection, const TuningKey& key);

/// Takes the lease if nobody else holds it; call it in a transaction. A candidate that a dead
/// holder left in flight becomes a trial rejected as kCrashed.
bool claim_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder);
void release_lease(sqlite::Connection& connection, const TuningKey& key, const LeaseHolder& holder);
/// Deletes the leases that claim_lease() would take over; a candidate in flight becomes a crash.
void end_dead_leases(sqlite::Connection& connection);

/// No effect if the process does not hold the lease.
void renew_lease(sqlite::Connection& connection, const TuningKey& key,
                 const ProcessIdentity& process);

struct CandidateInFlight {
  std::string family;
  Config config;
  std::string family_fingerprint;
};
/// Marks the candidate that the process is about to run. The process need not hold a lease, but if
/// another process holds one, nothing is marked.
void set_in_flight(sqlite::Connection& connection, const TuningKey& key,
                   const ProcessIdentity& process, const CandidateInFlight& candidate);
void clear_in_flight(sqlite::Connection& connection, const TuningKey& key,
                     const ProcessIdentity& process);

}  // namespace tunedgemm::internal
