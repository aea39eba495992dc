#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/naive/shape.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm::internal {
namespace {

class Naive2d final : public CudaFamily {
 public:
  Naive2d() : CudaFamily("naive_2d", "cuda/naive/naive_2d.cu", {}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    // The kernel goes on in loops where the grid ends.
    const std::int64_t x = std::min(ceil_divide(problem.n, naive::kBlockN), kMaxGridX);
    const std::int64_t y = std::min(ceil_divide(problem.m, naive::kBlockM), kMaxGridYZ);
    const std::int64_t z = std::min(problem.batch, kMaxGridYZ);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 / scatter_of_b(problem),
                         .cycles_per_step = 20};
    Instance instance = begin_instance(problem, config);
    instance.launch = {.grid = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                                static_cast<std::uint32_t>(z)},
                       .block = {naive::kBlockN, naive::kBlockM, 1}};
    instance.predicted_us = naive_us(problem, cost, static_cast<double>(problem.k), limits);
    return instance;
  }
};

}  // namespace

const Family& naive_2d_family() {
  static const Naive2d family;
  return family;
}

}  // namespace tunedgemm::internal
