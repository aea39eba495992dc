#include "tools/tunedgemm/family_best.h"

#include "runtime/device_evaluator.h"

namespace tunedgemm {
namespace {

constexpr std::size_t kTried = 8;

}  // namespace

std::optional<Candidate> best_of_family(Context& context, const Problem& problem,
                                        const Family& family) {
  Device& device = context.device();
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  for (RankedCandidate& ranked : ranked_candidates(problem, device.limits())) {
    if (ranked.candidate.family == &family && options.candidates.size() < kTried) {
      options.candidates.push_back(std::move(ranked.candidate));
    }
  }
  if (options.candidates.size() < 2) {
    return options.candidates.empty() ? std::nullopt : std::optional(options.candidates.front());
  }
  options.standard = options.candidates.front();
  const Device::Current current(device);
  DeviceEvaluator evaluator(device, context.store(), problem);
  const Tuning tuning = tune(problem, device.identity(), device.toolchain(), device.limits(),
                             evaluator, context.store(), options);
  if (!tuning.record) {
    return std::nullopt;
  }
  return Candidate{find_family(tuning.record->family), tuning.record->config};
}

}  // namespace tunedgemm
