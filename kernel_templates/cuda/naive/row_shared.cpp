#include <algorithm>

#include "kernel_templates/cuda/cuda_family.h"
#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/naive/shape.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm::internal {
namespace {

class RowShared final : public CudaFamily {
 public:
  RowShared()
      : CudaFamily("row_shared", "cuda/naive/row_shared.cu",
                   {{"threads", {128, 256, 512}, "threads of a block"},
                    {"chunk", {256, 1024}, "elements of the row that are in shared memory"}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const int threads = config.at("threads");
    const auto accumulator_bytes =
        static_cast<int>(size_bytes(accumulator(problem.a.type, problem.b.type)));
    const int shared_bytes = naive::row_shared_bytes(config.at("chunk"), accumulator_bytes);
    if (std::string why = why_not_block(threads, naive::kRegisters, shared_bytes, limits);
        !why.empty()) {
      return why;
    }
    // The kernel goes on in loops where the grid ends.
    const std::int64_t rows = std::min(problem.m, kMaxGridX);
    const std::int64_t entries = std::min(problem.batch, kMaxGridYZ);
    const double columns_of_a_thread = static_cast<double>(ceil_divide(problem.n, threads));
    const double busy = static_cast<double>(problem.n) / (columns_of_a_thread * threads);
    // Barriers weigh more the shorter the chunk is.
    const double barriers = 1 + 64.0 / config.at("chunk");
    const NaiveCost cost{.multiply_adds_per_cycle = 10 * busy / (barriers * scatter_of_b(problem)),
                         .cycles_per_step = 16 * barriers};
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(entries), 1},
        .block = {static_cast<std::uint32_t>(threads), 1, 1},
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes)};
    instance.predicted_us =
        naive_us(problem, cost, columns_of_a_thread * static_cast<double>(problem.k), limits);
    return instance;
  }
};

}  // namespace

const Family& row_shared_family() {
  static const RowShared family;
  return family;
}

}  // namespace tunedgemm::internal
