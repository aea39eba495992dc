#pragma once

// The results of a race (bench_race.h) as plain values: the run, a row for each shape, and in each
// row a contender for each kernel.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"
#include "tools/baselines/baseline.h"
#include "tools/shared/named_problem.h"
#include "tuner/contender.h"

namespace tunedgemm::internal {

/// The values common to all rows.
struct BenchRun {
  std::string device, compiler, driver;
  std::string baseline;  ///< "cuBLASLt 13.1.0", or "" without one
  std::string began_at;  ///< UTC
  int rounds = 0;
  int cool_down_ms = 0;
};

BenchRun describe_run(Device& device, const Baseline* baseline, int rounds, int cool_down_ms);

/// One kernel's figures: medians over the rounds. 0: unknown.
struct BenchContender {
  std::string name;    ///< "tuned", "naive_1d"; the baseline's: Proposal::name
  std::string kernel;  ///< the candidate; empty for the baseline's
  std::optional<Rejection> rejection =
      {};  ///< in a race that lists rejected kernels; no times then
  double median_us = 0, p20_us = 0, p80_us = 0;
  double spread = 0;  ///< relative_spread of the rounds
  double tflops = 0;
  double of_roofline = 0;  ///< roofline_us() at clock_mhz, divided by the median
  double clock_mhz = 0;    ///< measured
  double max_error = 0;    ///< relative to the error bound
  double predicted_us = 0;
  int registers = 0;
  std::int64_t shared_bytes = 0, spill_bytes = 0;
  double compile_ms = 0;

  void describe(const Binary& binary);
};

struct BenchRow {
  NamedProblem shape;
  std::string kernel;                      ///< the tuned candidate, as text
  std::vector<BenchContender> contenders;  ///< this library's first; empty if the shape failed
  /// The same kernels, launched back to back; empty if not measured.
  std::vector<BenchContender> back_to_back;
  std::vector<std::string> remarks;
  std::string failure;  ///< the reason, or "" if there are contenders

  /// Adds a contender: `raced` provides the times and the clock, `added` the rest.
  void add(BenchContender added, const Contender& raced, const DeviceLimits& limits);
};

/// The same row with its back-to-back contenders in place of `contenders`.
BenchRow back_to_back(const BenchRow& row);

/// Each function returns null if the contender took no part.
const BenchContender* tuned_contender(const BenchRow& row);
const BenchContender* baseline_default(const BenchRow& row);  ///< the baseline's first proposal
const BenchContender* baseline_best(const BenchRow& row);     ///< the baseline's fastest

/// The names of this library's contenders other than "tuned", in order of first appearance.
std::vector<std::string> other_contenders(const std::vector<BenchRow>& rows);
const BenchContender* contender_named(const BenchRow& row,
                                      std::string_view name);  ///< or null

/// The speedup of "tuned" over another contender, over all rows in which both ran.
struct Ratios {
  int shapes = 0;
  double geometric_mean = 0;
  double least = 0, greatest = 0;
  std::string least_shape, greatest_shape;
};
Ratios ratios(const std::vector<BenchRow>& rows,
              const std::function<const BenchContender*(const BenchRow&)>& other);

/// The roofline of the column "of roofline": the least time for the problem. It is the longer of
/// two times. One is the time of the operations, at the peak rate of the fastest unit for their
/// types (Backend::peak_operations_per_cycle) and at `clock_mhz` (0: the highest clock). The other
/// is the time to read or write each byte of the matrices once, at the memory's nominal bandwidth.
/// 0 if the peak is unknown: on the host, and for compute capabilities that are unknown or before
/// 8.0. Backend::roofline_us gives a lower time, because a kernel that is measured to be faster
/// than that is rejected.
double roofline_us(const Problem& problem, const DeviceLimits& limits, double clock_mhz);

}  // namespace tunedgemm::internal
