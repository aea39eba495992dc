#pragma once

// Problems, devices and configs for the tests of the wgmma family.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "tests/support/wgmma_config.h"

namespace tunedgemm::internal {

using Size = std::array<std::int64_t, 3>;  // M, N, K

/// An H200 with this compute capability and number of SMs.
DeviceLimits wgmma_device(int arch = 90, int sm_count = 132);

/// A kind of product: element types, layout, and numerics.
struct Kind {
  DataType a = DataType::kF16, b = DataType::kF16, d = DataType::kF16;
  std::string_view layout = "nn";
  Numerics numerics = Numerics::kIeee;
};
/// One of every kind that the family multiplies.
std::vector<Kind> wgmma_kinds();
/// fp8 operands and an f16 D, with these numerics.
Kind fp8(Numerics numerics, std::string_view layout = "nt");

/// A problem with these extents and with rows padded to 16 bytes, as TMA requires.
Problem padded(const Kind& kind, const Size& size);
/// The same problem with `batch` consecutive entries.
Problem batched(Problem problem, std::int64_t batch);

std::int64_t up_to_multiple(std::int64_t value, std::int64_t of);

std::vector<Config> wgmma_candidates_for(const Problem& problem,
                                         const DeviceLimits& limits = wgmma_device());
/// The number of work tiles of all clusters: one for each split-K slice of a cluster's tiles.
std::int64_t wgmma_works(const Problem& problem, const Config& config);

}  // namespace tunedgemm::internal
