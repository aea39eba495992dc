#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm::internal {
namespace {

class Naive1d final : public CudaFamily {
 public:
  Naive1d()
      : CudaFamily("naive_1d", "cuda/naive/naive_1d.cu",
                   {{"threads", {128, 256, 512}, "threads of a block"}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const int threads = config.at("threads");
    // The kernel goes on in a loop where the grid ends.
    const std::int64_t elements = problem.batch * problem.m * problem.n;
    const std::int64_t blocks = std::min(ceil_divide(elements, threads), kMaxGridX);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 / scatter_of_b(problem),
                         .cycles_per_step = 20};
    Instance instance = begin_instance(problem, config);
    instance.launch = {.grid = {static_cast<std::uint32_t>(blocks), 1, 1},
                       .block = {static_cast<std::uint32_t>(threads), 1, 1}};
    instance.predicted_us = naive_us(problem, cost, static_cast<double>(problem.k), limits);
    return instance;
  }
};

}  // namespace

const Family& naive_1d_family() {
  static const Naive1d family;
  return family;
}

}  // namespace tunedgemm::internal
