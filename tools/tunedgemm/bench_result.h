#pragma once

// What `tunedgemm bench` found, as plain values: the run, a row for each shape, an arm for each
// kernel in the row.

#include <functional>
#include <string>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "tools/shared/shape.h"
#include "tools/tunedgemm/race.h"

namespace tunedgemm {

/// What is the same for all rows.
struct BenchRun {
  std::string device, compiler, driver;
  std::string vendor;    ///< "cuBLASLt 13.1.0", or "" where it is not there
  std::string began_at;  ///< UTC
  int rounds = 0;
  int rest_ms = 0;
};

BenchRun describe_run(Device& device, const Vendor* vendor, int rounds, int rest_ms);

/// One kernel's figures: medians over the rounds.
struct BenchArm {
  std::string name;    ///< as Racer has it
  std::string kernel;  ///< the candidate; empty for the vendor's
  double median_us = 0, p20_us = 0, p80_us = 0;
  double tflops = 0;
  double of_limit = 0;   ///< limit_us() at the clock seen, over the median; 0: not known
  double clock_mhz = 0;  ///< 0: not known
  double max_error = 0;  ///< relative to the error bound
};

struct BenchRow {
  Shape shape;
  std::string kernel;          ///< the tuned candidate, as text
  std::vector<BenchArm> arms;  ///< ours first; empty if the shape failed
  std::vector<std::string> remarks;
  std::string failure;  ///< a sentence, or "" where there are arms
};

BenchRow to_row(const Shape& shape, const Race& race, const DeviceLimits& limits);

/// Each null if it took no part.
const BenchArm* tuned_arm(const BenchRow& row);
const BenchArm* default_arm(const BenchRow& row);  ///< the vendor's first proposal
const BenchArm* best_arm(const BenchRow& row);     ///< the vendor's fastest

/// The names of our other arms, in the order in which they first come.
std::vector<std::string> other_arms(const std::vector<BenchRow>& rows);
const BenchArm* arm_named(const BenchRow& row, std::string_view name);  ///< null if it is not there

/// Over all rows in which ours and one of the vendor's arms ran: how many times as fast ours is.
struct Ratios {
  int shapes = 0;
  double geometric_mean = 0;
  double least = 0;
  std::string least_shape;
};
Ratios ratios(const std::vector<BenchRow>& rows,
              const std::function<const BenchArm*(const BenchRow&)>& other);

}  // namespace tunedgemm
