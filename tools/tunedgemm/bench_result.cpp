#include "tools/tunedgemm/bench_result.h"

#include <algorithm>
#include <cmath>

#include "cache/vocabulary_rows.h"
#include "tools/tunedgemm/bench_limit.h"
#include "tuner/statistics.h"

namespace tunedgemm {
namespace {

constexpr std::string_view kTuned = "tuned";

bool is_vendors(const BenchArm& arm) {
  return arm.kernel.empty();
}

template <class Predicate>
const BenchArm* find_arm(const BenchRow& row, Predicate is_it) {
  const auto found = std::find_if(row.arms.begin(), row.arms.end(), is_it);
  return found == row.arms.end() ? nullptr : &*found;
}

BenchArm to_arm(const Racer& racer, const Problem& problem, const DeviceLimits& limits) {
  const Measurement measured = summarize(racer.rounds_us);
  BenchArm arm{.name = racer.name,
               .kernel = racer.kernel,
               .median_us = measured.median_us,
               .p20_us = measured.low_us,
               .p80_us = measured.high_us,
               .tflops = flops(problem) / measured.median_us * 1e-6,
               .clock_mhz = median(racer.clocks_mhz),
               .max_error = racer.max_error};
  arm.of_limit = limit_us(problem, limits, arm.clock_mhz) / arm.median_us;
  return arm;
}

}  // namespace

BenchRun describe_run(Device& device, const Vendor* vendor, int rounds, int rest_ms) {
  return {.device = device.identity().name,
          .compiler = device.toolchain().compiler,
          .driver = device.toolchain().driver,
          .vendor = vendor == nullptr ? "" : vendor->name() + " " + vendor->version(),
          .began_at = utc_now(),
          .rounds = rounds,
          .rest_ms = rest_ms};
}

BenchRow to_row(const Shape& shape, const Race& race, const DeviceLimits& limits) {
  BenchRow row{.shape = shape, .kernel = {}, .arms = {}, .remarks = race.remarks, .failure = {}};
  for (const Racer& racer : race.racers) {
    row.kernel = racer.name == kTuned ? racer.kernel : row.kernel;
    row.arms.push_back(to_arm(racer, shape.problem, limits));
  }
  return row;
}

const BenchArm* tuned_arm(const BenchRow& row) {
  return find_arm(row, [](const BenchArm& arm) { return arm.name == kTuned; });
}

const BenchArm* default_arm(const BenchRow& row) {
  return find_arm(row,
                  [](const BenchArm& arm) { return is_vendors(arm) && arm.name.ends_with(" 0"); });
}

const BenchArm* best_arm(const BenchRow& row) {
  const BenchArm* best = nullptr;
  for (const BenchArm& arm : row.arms) {
    if (is_vendors(arm) && (best == nullptr || arm.median_us < best->median_us)) {
      best = &arm;
    }
  }
  return best;
}

std::vector<std::string> other_arms(const std::vector<BenchRow>& rows) {
  std::vector<std::string> names;
  for (const BenchRow& row : rows) {
    for (const BenchArm& arm : row.arms) {
      if (!is_vendors(arm) && arm.name != kTuned &&
          std::find(names.begin(), names.end(), arm.name) == names.end()) {
        names.push_back(arm.name);
      }
    }
  }
  return names;
}

const BenchArm* arm_named(const BenchRow& row, std::string_view name) {
  return find_arm(row, [name](const BenchArm& arm) { return arm.name == name; });
}

Ratios ratios(const std::vector<BenchRow>& rows,
              const std::function<const BenchArm*(const BenchRow&)>& other) {
  Ratios result;
  double sum_of_logarithms = 0;
  for (const BenchRow& row : rows) {
    const BenchArm* ours = tuned_arm(row);
    const BenchArm* theirs = other(row);
    if (ours == nullptr || theirs == nullptr) {
      continue;
    }
    const double ratio = theirs->median_us / ours->median_us;
    if (result.shapes == 0 || ratio < result.least) {
      result.least = ratio;
      result.least_shape = shape_text(row.shape);
    }
    sum_of_logarithms += std::log(ratio);
    ++result.shapes;
  }
  result.geometric_mean = result.shapes > 0 ? std::exp(sum_of_logarithms / result.shapes) : 0;
  return result;
}

}  // namespace tunedgemm
