#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/families.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

std::int64_t shared_bytes(const Problem& problem, const Config& config) {
  return config.at("chunk") * size_bytes(accumulator(problem.a.type, problem.b.type));
}

class RowShared final : public CudaFamily {
 public:
  RowShared()
      : CudaFamily("row_shared", "cuda/naive/row_shared.cu",
                   {{"threads", {128, 256, 512}, "threads of a block"},
                    {"chunk", {256, 1024}, "elements of the row that are in shared memory"}}) {}

  std::string why_not(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override {
    if (std::string why = why_not_knobs(config); !why.empty()) {
      return why;
    }
    if (std::string why = why_not_cuda(limits); !why.empty()) {
      return why;
    }
    return why_not_block(config.at("threads"), 40, shared_bytes(problem, config), limits);
  }

  Launch launch(const Problem& problem, const Config& config, const DeviceLimits&) const override {
    // The kernel goes on in loops where the grid ends.
    const std::int64_t rows = std::min(problem.m, kMaxGridX);
    const std::int64_t entries = std::min(problem.batch, kMaxGridYZ);
    return {.grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(entries), 1},
            .block = {static_cast<std::uint32_t>(config.at("threads")), 1, 1},
            .shared_bytes = static_cast<std::uint32_t>(shared_bytes(problem, config))};
  }

  double predicted_us(const Problem& problem, const Config& config,
                      const DeviceLimits& limits) const override {
    const int threads = config.at("threads");
    const double columns_of_a_thread = static_cast<double>(ceil_divide(problem.n, threads));
    const double busy = static_cast<double>(problem.n) / (columns_of_a_thread * threads);
    // Barriers weigh more the shorter the chunk is.
    const double barriers = 1 + 64.0 / config.at("chunk");
    const NaiveCost cost{.multiply_adds_per_cycle = 10 * busy / (barriers * scatter_of_b(problem)),
                         .cycles_per_step = 16 * barriers};
    return naive_us(problem, cost, columns_of_a_thread * static_cast<double>(problem.k), limits);
  }
};

}  // namespace

const Family& row_shared_family() {
  static const RowShared family;
  return family;
}

}  // namespace tunedgemm
