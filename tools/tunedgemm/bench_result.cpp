#include "tools/tunedgemm/bench_result.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cache/record.h"
#include "runtime/backend.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

constexpr std::string_view kTuned = "tuned";

bool is_baseline(const BenchContender& contender) {
  return contender.kernel.empty();
}

template <class Predicate>
const BenchContender* find_contender(const BenchRow& row, Predicate matches) {
  const auto found = std::find_if(row.contenders.begin(), row.contenders.end(), matches);
  return found == row.contenders.end() ? nullptr : &*found;
}

}  // namespace

BenchRun describe_run(Device& device, const Baseline* baseline, int rounds, int cool_down_ms) {
  return {.device = device.identity().name,
          .compiler = device.toolchain().compiler,
          .driver = device.toolchain().driver,
          .baseline = baseline == nullptr ? "" : baseline->name() + " " + baseline->version(),
          .began_at = utc_now(),
          .rounds = rounds,
          .cool_down_ms = cool_down_ms};
}

void BenchContender::describe(const Binary& binary) {
  registers = binary.registers;
  shared_bytes = binary.shared_bytes;
  spill_bytes = binary.spill_bytes;
  compile_ms = binary.compile_ms;
}

void BenchRow::add(BenchContender added, const Contender& raced, const DeviceLimits& limits) {
  added.rejection = raced.rejection;
  if (!raced.rejection && !raced.rounds_us.empty()) {
    const Measurement measured = summarize(raced.rounds_us);
    added.median_us = measured.median_us;
    added.p20_us = measured.low_us;
    added.p80_us = measured.high_us;
    added.spread = relative_spread(measured);
    added.tflops = flops(shape.problem) / measured.median_us * 1e-6;
    added.clock_mhz = median(raced.clocks_mhz);
    added.of_roofline = roofline_us(shape.problem, limits, added.clock_mhz) / added.median_us;
  }
  kernel = added.name == kTuned ? added.kernel : kernel;
  contenders.push_back(std::move(added));
}

BenchRow back_to_back(const BenchRow& row) {
  BenchRow other = row;
  other.shape.problem.launch_regime = LaunchRegime::kBackToBack;
  other.contenders = row.back_to_back;
  other.back_to_back.clear();
  return other;
}

const BenchContender* tuned_contender(const BenchRow& row) {
  return find_contender(row,
                        [](const BenchContender& contender) { return contender.name == kTuned; });
}

const BenchContender* baseline_default(const BenchRow& row) {
  return find_contender(row, [](const BenchContender& contender) {
    return is_baseline(contender) && contender.name.ends_with(" 0");
  });
}

const BenchContender* baseline_best(const BenchRow& row) {
  const BenchContender* best = nullptr;
  for (const BenchContender& contender : row.contenders) {
    if (is_baseline(contender) && (best == nullptr || contender.median_us < best->median_us)) {
      best = &contender;
    }
  }
  return best;
}

std::vector<std::string> other_contenders(const std::vector<BenchRow>& rows) {
  std::vector<std::string> names;
  for (const BenchRow& row : rows) {
    for (const BenchContender& contender : row.contenders) {
      if (!is_baseline(contender) && contender.name != kTuned &&
          std::find(names.begin(), names.end(), contender.name) == names.end()) {
        names.push_back(contender.name);
      }
    }
  }
  return names;
}

const BenchContender* contender_named(const BenchRow& row, std::string_view name) {
  return find_contender(row,
                        [name](const BenchContender& contender) { return contender.name == name; });
}

Ratios ratios(const std::vector<BenchRow>& rows,
              const std::function<const BenchContender*(const BenchRow&)>& other) {
  Ratios result;
  double sum_of_logarithms = 0;
  for (const BenchRow& row : rows) {
    const BenchContender* ours = tuned_contender(row);
    const BenchContender* theirs = other(row);
    if (ours == nullptr || theirs == nullptr) {
      continue;
    }
    const double ratio = theirs->median_us / ours->median_us;
    if (result.shapes == 0 || ratio < result.least) {
      result.least = ratio;
      result.least_shape = shape_text(row.shape);
    }
    if (ratio > result.greatest) {
      result.greatest = ratio;
      result.greatest_shape = shape_text(row.shape);
    }
    sum_of_logarithms += std::log(ratio);
    ++result.shapes;
  }
  result.geometric_mean = result.shapes > 0 ? std::exp(sum_of_logarithms / result.shapes) : 0;
  return result;
}

double roofline_us(const Problem& problem, const DeviceLimits& limits, double clock_mhz) {
  const Backend* backend = find_backend(limits.backend);
  const double operations =
      backend == nullptr ? 0 : backend->peak_operations_per_cycle(problem, limits);
  if (operations == 0) {
    return 0;
  }
  const double cycles_per_us = clock_mhz > 0 ? clock_mhz : limits.clock_ghz * 1e3;
  const double computing_us = flops(problem) / (operations * cycles_per_us);
  const double moving_us = minimum_bytes(problem) / (limits.memory_gb_per_s * 1e3);
  return std::max(computing_us, moving_us);
}

}  // namespace tunedgemm::internal
