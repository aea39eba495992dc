#include "tests/tuner/support/fake_family.h"

namespace tunedgemm {

FakeFamily::FakeFamily(std::string_view name)
    : Family(name, Backend::kHost, "cuda/common/arguments.cuh",
             {{"block_m", {32, 64, 128, 256}, "rows of a tile"},
              {"variant", {0, 1, 2, 3}, "the smaller, the better predicted"},
              {"split_k", {1, 2}, "split-K slices"}}) {}

std::string FakeFamily::why_not(const Problem& problem, const Config& config,
                                const DeviceLimits&) const {
  return config.find("block_m").value_or(0) <= problem.m ? "" : "block_m is greater than M";
}

Launch FakeFamily::launch(const Problem&, const Config& config, const DeviceLimits&) const {
  Launch launch;
  launch.workspace_bytes = config.find("split_k").value_or(1) > 1 ? kWorkspaceCounterBytes : 0;
  return launch;
}

double FakeFamily::predicted_us(const Problem&, const Config& config, const DeviceLimits&) const {
  return 100.0 + config.find("variant").value_or(0);
}

Candidate FakeFamily::candidate(int variant, int block_m, int split_k) const {
  return {this, Config({{"block_m", block_m}, {"variant", variant}, {"split_k", split_k}})};
}

}  // namespace tunedgemm
