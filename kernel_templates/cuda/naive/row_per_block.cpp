#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm::internal {
namespace {

class RowPerBlock final : public CudaFamily {
 public:
  RowPerBlock()
      : CudaFamily("row_per_block", "cuda/naive/row_per_block.cu",
                   {{"threads", {128, 256, 512}, "threads of a block"}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    // The kernel goes on in loops where the grid ends.
    const std::int64_t rows = std::min(problem.m, kMaxGridX);
    const std::int64_t entries = std::min(problem.batch, kMaxGridYZ);
    const int threads = config.at("threads");
    const double columns_of_a_thread = static_cast<double>(ceil_divide(problem.n, threads));
    const double busy = static_cast<double>(problem.n) / (columns_of_a_thread * threads);
    const NaiveCost cost{.multiply_adds_per_cycle = 8 * busy / scatter_of_b(problem),
                         .cycles_per_step = 20};
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(entries), 1},
        .block = {static_cast<std::uint32_t>(threads), 1, 1}};
    instance.predicted_us =
        naive_us(problem, cost, columns_of_a_thread * static_cast<double>(problem.k), limits);
    return instance;
  }
};

}  // namespace

const Family& row_per_block_family() {
  static const RowPerBlock family;
  return family;
}

}  // namespace tunedgemm::internal
