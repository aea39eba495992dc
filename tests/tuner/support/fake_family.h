#pragma once

// FakeFamily: a family whose candidates are named by number and never compiled.

#include "kernel_templates/family.h"

namespace tunedgemm {

/// Knobs: block_m, the tile; variant, which the cost model ranks by; split_k, which needs a
/// workspace. Legal where block_m <= M. Other knobs are taken and mean nothing, so that it can
/// stand for the families of a recorded run.
class FakeFamily final : public Family {
 public:
  explicit FakeFamily(std::string_view name = "fake");

  std::string why_not(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override;
  Launch launch(const Problem& problem, const Config& config,
                const DeviceLimits& limits) const override;
  double predicted_us(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override;

  Candidate candidate(int variant, int block_m = 64, int split_k = 1) const;
};

}  // namespace tunedgemm
