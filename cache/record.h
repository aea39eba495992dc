#pragma once

// The contents of the cache, as plain values: the device and toolchain on which a problem was
// tuned, the outcome of every candidate, and the winner.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/family.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The identity of a device in a key. It has no ordinal and no UUID, so that equal devices share
/// results.
struct DeviceIdentity {
  std::string backend = "host";   ///< the backend whose families run on it
  std::string name;               ///< "NVIDIA H200", "AMD EPYC 9354 (AVX-512, 2 threads)"
  int compute_capability = 0;     ///< 90; 0 on the host
  int units = 0;                  ///< SMs, or the threads that a multiplication may use
  std::int64_t memory_bytes = 0;  ///< rounded up to whole GiB
  std::int64_t l2_bytes = 0;
  int clock_mhz = 0;          ///< the maximum clock; 0 if unknown
  int power_limit_watts = 0;  ///< rounded to 10 W; 0 if unknown

  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

/// `bytes` rounded up to whole GiB. Drivers report less memory than the device has, and the
/// difference varies between drivers.
std::int64_t in_whole_gib(std::int64_t bytes);

struct Toolchain {
  /// "nvrtc 13.0", or on the host "g++ 12.2.0 for avx2+fma+f16c". The CPU features that the machine
  /// code may use follow " for ". If there is no compiler, "none" stands in place of its name.
  std::string compiler;
  std::string driver;  ///< "580.159", or the C library for the host

  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

/// Whether machine code of the compiler `made_by` runs wherever machine code of `compiler` does,
/// i.e. uses no other CPU features.
bool runs_machine_code(std::string_view compiler, std::string_view made_by);

/// The key of a tuning and of everything that belongs to it: winner, trials, lease.
struct TuningKey {
  CanonicalProblem problem;
  DeviceIdentity device;
  Toolchain toolchain;

  friend bool operator==(const TuningKey&, const TuningKey&) = default;
};

/// 32 hexadecimal digits each; equal values have equal fingerprints.
std::string fingerprint(const DeviceIdentity& device);
std::string fingerprint(const Toolchain& toolchain);

/// A compiler's output, and the resources that it uses.
struct Binary {
  std::vector<std::byte> code;  ///< a cubin, or a shared object
  std::string entry;
  int registers = 0;
  std::int64_t shared_bytes = 0;  ///< static shared memory
  std::int64_t spill_bytes = 0;
  double compile_ms = 0;
};

struct StoredBinary {
  std::string compiler;  ///< the compiler that made it
  Binary binary;
};

/// Times of one launch, in microseconds.
struct Measurement {
  double median_us = 0;
  double low_us = 0;              ///< 20th percentile
  double high_us = 0;             ///< 80th percentile
  std::vector<float> samples_us;  ///< one per round

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// Why a candidate cannot win. Stored on disk: never renumber.
enum class Reason : std::int32_t {
  kCompileFailed = 1,
  kSpills = 2,
  kLoadFailed = 3,
  kLaunchFailed = 4,
  kWrongResult = 5,
  kOutOfBounds = 6,  ///< wrote outside D
  kTooSlow = 7,      ///< far behind in screening, so not timed further
  kTimedOut = 8,
  kCrashed = 9,       ///< in flight when its process died
  kImplausible = 10,  ///< faster than the device can be
  kUnavailable = 11,  ///< no memory or no compiler; the next tuning retries it
};
std::string_view name(Reason reason);

struct Rejection {
  Reason reason = Reason::kCompileFailed;
  std::string detail;  ///< a sentence, or the compiler's log

  friend bool operator==(const Rejection&, const Rejection&) = default;
};
/// The reason's name, a colon and the detail.
std::string to_text(const Rejection& rejection);

/// The outcome of a candidate. Views and tools call it "finalist" if it was measured in the finals
/// of the current winner, "screened" if it was measured otherwise, "rejected" if it cannot win.
struct TrialRecord {
  std::string family;
  Config config;
  std::string family_fingerprint;
  std::optional<Measurement> measurement;
  std::optional<Rejection> rejection;
  bool final_round = false;  ///< the measurement is from the interleaved finals
  double predicted_us = 0;
  double max_error = 0;  ///< relative to the error bound: 1 is the limit
  int registers = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t spill_bytes = 0;
  double compile_ms = 0;
  int sm_clock_mhz = 0;  ///< during the finals; 0 if unknown
};

/// The thoroughness of a tuning. kModel compares a few candidates, and no launch variants of the
/// winner. Stored on disk: never renumber.
enum class Rigor : std::int32_t { kModel = 0, kQuick = 1, kNormal = 2, kExhaustive = 3 };
std::string_view name(Rigor rigor);
std::optional<Rigor> parse_rigor(std::string_view text);
/// Those that users may ask for, all but kModel: "quick", "normal" and "exhaustive".
std::optional<Rigor> parse_rigor_of_user(std::string_view text);

/// The winner of one problem on one device, with its evidence.
struct Record {
  CanonicalProblem problem;
  DeviceIdentity device;
  Toolchain toolchain;
  std::string family;
  Config config;
  std::string family_fingerprint;
  Measurement measurement;
  double default_us = 0;    ///< the default config in the same finals; 0 if it could not run
  double naive_us = 0;      ///< the naive kernel in the same session; 0 if not measured
  double runner_up_us = 0;  ///< 0 if there is none
  /// The time of the vendor library's own call: its median in a race with the winner, multiplied by
  /// the winner's median here and divided by that of the race. 0 if not compared.
  double vendor_us = 0;
  std::string vendor;  ///< "cuBLASLt 13.1.0", "OpenBLAS 0.3.21, Haswell"; "" if not compared
  /// The texts of the candidates that are statistically indistinguishable from the winner.
  std::vector<std::string> ties;
  Rigor rigor = Rigor::kModel;
  int candidates_tried = 0;
  int candidates_legal = 0;
  bool complete = true;  ///< false: the budget ended before all candidates had been tried
  double spent_seconds = 0;
  double compile_seconds = 0, check_seconds = 0, screen_seconds = 0, finals_seconds = 0;
  double max_error = 0;
  /// A note for readers of the record: says why the candidate that was measured fastest did not
  /// win, or that the machine was busy. Usually empty.
  std::string remark;
  std::string tuned_at;  ///< in the format of utc_now(); set by the store if empty
};

/// A tuned problem: its winner, and the candidates that were timed.
struct TunedProblem {
  Record winner;
  std::vector<TrialRecord> timed;
};

/// Whether the tuning had at least normal rigor and was finished.
bool is_confirmed(const Record& record);

/// The current time in UTC, in the format of the rows: "2026-11-21 10:32:05".
std::string utc_now();

/// Whether a record was tuned with the requested toolchain. A stale record was tuned with another
/// compiler or driver: it is usable, but due for re-tuning.
enum class Match : std::int32_t { kExact = 1, kStale = 2 };
/// A toolchain that has no compiler is no other compiler.
Match match(const Toolchain& record, const Toolchain& requested);

struct Hit {
  Record record;
  Match match = Match::kExact;
  Instance winner;  ///< the record's config instantiated for the requested device
};

}  // namespace tunedgemm::internal
