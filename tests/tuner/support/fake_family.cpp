#include "tests/tuner/support/fake_family.h"

#include <limits>

namespace tunedgemm::internal {

FakeFamily::FakeFamily()
    : Family("fake", "host", "cuda/common/arguments.cuh",
             {{"block_m", {32, 64, 128, 256}, "rows of a tile"},
              {"variant", {0, 1, 2, 3}, "the smaller, the better predicted"},
              {"split_k", {1, 2}, "split-K slices"}}) {}

Instantiation FakeFamily::make_instance(const Problem& problem, const Config& config,
                                        const DeviceLimits&) const {
  if (config.find("block_m").value_or(0) > problem.m) {
    return "block_m is greater than M";
  }
  Instance instance;
  instance.problem = problem;
  instance.candidate = {this, config};
  instance.tile_key = std::to_string(config.find("block_m").value_or(0));
  const bool splits_k = config.find("split_k").value_or(1) > 1;
  instance.launch.workspace_bytes = splits_k ? kWorkspaceCounterBytes : 0;
  instance.predicted_us = 100.0 + config.find("variant").value_or(0);
  return instance;
}

Candidate FakeFamily::candidate(int variant, int block_m, int split_k) const {
  return {this, Config({{"block_m", block_m}, {"variant", variant}, {"split_k", split_k}})};
}

Instance FakeFamily::instance(const Candidate& candidate) const {
  Problem large;
  large.m = std::numeric_limits<int>::max();
  return instantiate(large, candidate.config, {}).value();
}

Instance FakeFamily::instance(const Candidate& candidate, double predicted_us) const {
  Instance ranked = instance(candidate);
  ranked.predicted_us = predicted_us;
  return ranked;
}

const FakeFamily& fake_family() {
  static const FakeFamily family;
  return family;
}

}  // namespace tunedgemm::internal
