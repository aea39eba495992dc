#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/families.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

class RowPerBlock final : public CudaFamily {
 public:
  RowPerBlock()
      : CudaFamily("row_per_block", "cuda/naive/row_per_block.cu",
                   {{"threads", {128, 256, 512}, "threads of a block"}}) {}

  std::string why_not(const Problem&, const Config& config,
                      const DeviceLimits& limits) const override {
    const std::string why = why_not_knobs(config);
    return why.empty() ? why_not_cuda(limits) : why;
  }

  Launch launch(const Problem& problem, const Config& config, const DeviceLimits&) const override {
    // The kernel goes on in loops where the grid ends.
    const std::int64_t rows = std::min(problem.m, kMaxGridX);
    const std::int64_t entries = std::min(problem.batch, kMaxGridYZ);
    return {.grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(entries), 1},
            .block = {static_cast<std::uint32_t>(config.at("threads")), 1, 1}};
  }

  double predicted_us(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override {
    const int threads = config.at("threads");
    const double columns_of_a_thread = static_cast<double>(ceil_divide(problem.n, threads));
    const double busy = static_cast<double>(problem.n) / (columns_of_a_thread * threads);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 * busy / scatter_of_b(problem),
                         .cycles_per_step = 20};
    return naive_us(problem, cost, columns_of_a_thread * static_cast<double>(problem.k), limits);
  }
};

}  // namespace

const Family& row_per_block_family() {
  static const RowPerBlock family;
  return family;
}

}  // namespace tunedgemm
