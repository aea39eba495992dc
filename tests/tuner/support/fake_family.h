#pragma once

// FakeFamily: a family without kernels. Its candidates are mere configs, which are never compiled.

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// The knobs are block_m, the tile; variant, by which the cost model ranks; and split_k, which
/// needs a workspace. A config is legal if block_m <= M.
class FakeFamily final : public Family {
 public:
  FakeFamily();

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override;

  Candidate candidate(int variant, int block_m = 64, int split_k = 1) const;
  /// The instance for a problem so large that every block_m is legal.
  Instance instance(const Candidate& candidate) const;
  Instance instance(const Candidate& candidate, double predicted_us) const;
};

/// The family that all tests share.
const FakeFamily& fake_family();

}  // namespace tunedgemm::internal
