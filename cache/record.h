#pragma once

// What the cache remembers, as plain values: on which device and with which toolchain a problem was
// tuned, what came of every candidate, and which one won.

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

/// The identity of a device in a key. No ordinal and no UUID: equal devices share what was tuned.
struct DeviceIdentity {
  std::string backend = "host";   ///< whose families run there
  std::string name;               ///< "NVIDIA H200", "AMD EPYC 9354 (AVX-512, 2 threads)"
  int compute_capability = 0;     ///< 90; 0 on the host
  int units = 0;                  ///< SMs, or the threads a multiplication may use
  std::int64_t memory_bytes = 0;  ///< in whole GiB
  std::int64_t l2_bytes = 0;
  int clock_mhz = 0;          ///< the maximum clock; 0 where it cannot be told
  int power_limit_watts = 0;  ///< rounded to 10 W; 0 where it cannot be told

  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

/// Rounded up to whole GiB. Drivers keep some MB for themselves, each another number: what they
/// report is less than what the device has, and not the same with all of them.
std::int64_t in_whole_gib(std::int64_t bytes);

struct Toolchain {
  /// "nvrtc 13.0"; on the host "g++ 12.2.0 for 85ffb4c1": what stands behind " for " are the CPU
  /// features that the machine code may use. "none" where there is no compiler, with them as well.
  std::string compiler;
  std::string driver;  ///< "580.159", or the C library for the host

  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

/// The CPU features that the compiler's name tells; empty where machine code needs no more than the
/// architecture that it was made for.
std::string_view cpu_features(std::string_view compiler);

/// 32 hexadecimal digits each; equal values have equal fingerprints.
std::string fingerprint(const DeviceIdentity& device);
std::string fingerprint(const Toolchain& toolchain);

/// What the compiler made, and what it said about it.
struct Binary {
  std::vector<std::byte> code;  ///< a cubin, or a shared object
  std::string entry;
  int registers = 0;
  std::int64_t shared_bytes = 0;  ///< static shared memory
  std::int64_t spill_bytes = 0;
  double compile_ms = 0;
};

struct StoredBinary {
  std::string compiler;  ///< that made it
  Binary binary;
};

/// Times of one launch, in microseconds.
struct Measurement {
  double median_us = 0;
  double low_us = 0;              ///< 20th percentile
  double high_us = 0;             ///< 80th percentile
  std::vector<float> samples_us;  ///< one a round

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// Why a candidate cannot win. Stored on disk: never renumber.
enum class Reason : std::int32_t {
  kCompileFailed = 1,
  kSpills = 2,
  kLoadFailed = 3,
  kLaunchFailed = 4,
  kWrongResult = 5,
  kOutOfBounds = 6,  ///< it wrote outside D
  kTooSlow = 7,      ///< far behind in the screening, so not timed further
  kTimedOut = 8,
  kCrashed = 9,       ///< it was in flight when its process died
  kImplausible = 10,  ///< faster than the device can be
  kUnavailable = 11,  ///< memory or a compiler was not there; the next tuning tries it again
};
std::string_view name(Reason reason);

struct Rejection {
  Reason reason = Reason::kCompileFailed;
  std::string detail;  ///< a sentence, or the compiler's log

  friend bool operator==(const Rejection&, const Rejection&) = default;
};
/// The reason's name, a colon and the detail.
std::string to_text(const Rejection& rejection);

/// How far a candidate came: `ok` with a measurement of the finals, `screened` with one short
/// sample, or rejected.
struct TrialRecord {
  std::string family;
  Config config;
  std::string family_fingerprint;
  std::optional<Measurement> measurement;
  std::optional<Rejection> rejection;
  bool final_round = false;  ///< the measurement is of the interleaved finals
  double predicted_us = 0;
  double max_error = 0;  ///< relative to the error bound: 1 is the limit
  int registers = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t spill_bytes = 0;
  double compile_ms = 0;
  int sm_clock_mhz = 0;  ///< during the finals; 0 where it cannot be told
};

/// How thorough a tuning was. Stored on disk: never renumber. A lesser one never replaces a fuller
/// one.
enum class Rigor : std::int32_t { kModel = 0, kQuick = 1, kNormal = 2, kExhaustive = 3 };
std::string_view name(Rigor rigor);
std::optional<Rigor> parse_rigor(std::string_view text);

/// The winner of one problem on one device, with its evidence.
struct Record {
  Problem problem;  ///< canonical
  DeviceIdentity device;
  Toolchain toolchain;
  std::string family;
  Config config;
  std::string family_fingerprint;
  Measurement measurement;
  double default_us = 0;    ///< the default config in the same finals; 0 if it could not run
  double naive_us = 0;      ///< the naive kernel in the same session; 0 if not measured
  double runner_up_us = 0;  ///< 0 if there is none
  /// Other candidates, as text, that could not be told apart from the winner.
  std::vector<std::string> ties;
  Rigor rigor = Rigor::kModel;
  int candidates_tried = 0;
  int candidates_legal = 0;
  bool complete = true;  ///< false: the budget ended before the rigor's candidates were all tried
  double spent_seconds = 0;
  double compile_seconds = 0, check_seconds = 0, screen_seconds = 0, finals_seconds = 0;
  double max_error = 0;
  /// How the winner was decided or measured, where a reader must know it: that it is not the one
  /// measured fastest, and why; that the machine was busy. Mostly empty.
  std::string remark;
  std::string tuned_at;  ///< as utc_now() has it; set by the store when empty
};

/// Whether the tuning was normal or more thorough and came to its end.
bool is_confirmed(const Record& record);

/// The time now, in UTC, as rows have it: "2026-11-21 10:32:05".
std::string utc_now();

/// How well a record answers. Stale: tuned with another compiler or driver; good to use, due for
/// confirmation.
enum class Match : std::int32_t { kExact = 1, kStale = 2 };

struct Hit {
  Record record;
  Match match = Match::kExact;
  Instance winner;  ///< what the record's config makes of its family on the device asked for
};

}  // namespace tunedgemm::internal
