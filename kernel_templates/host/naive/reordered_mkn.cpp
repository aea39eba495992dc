#include "kernel_templates/host/families.h"
#include "kernel_templates/host/host_family.h"
#include "kernel_templates/host/naive/shape.h"

namespace tunedgemm::internal {
namespace {

class ReorderedMkn final : public HostFamily {
 public:
  ReorderedMkn()
      : HostFamily("reordered_mkn", "host/naive/reordered_mkn.cc",
                   {{"block_n", {512, 2048}, "columns whose sums are open", Knob::kTile}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const auto sum_bytes =
        static_cast<int>(size_bytes(accumulator(problem.a.type, problem.b.type)));
    // Two loads and a store for each vector of sums; without neighbours along n, element by
    // element from as many cache lines.
    const double vector_step = 2.5 * (8 * static_cast<double>(sum_bytes)) / limits.simd_bits;
    const double step = problem.b.order == Order::kRowMajor ? vector_step : 4;
    const auto columns = static_cast<double>(problem.n);
    const double loop_starts = 10 * (1 + columns / config.at("block_n"));
    const double cycles_per_row = static_cast<double>(problem.k) * (columns * step + loop_starts) +
                                  columns * epilogue_cycles(problem);
    Instance instance = begin_instance(problem, config);
    instance.launch = launch_for(problem.m, limits);
    instance.launch.shared_bytes =
        static_cast<std::uint32_t>(naive::scratch_bytes(config.at("block_n"), sum_bytes));
    instance.predicted_us =
        host_us(problem.m, cycles_per_row * static_cast<double>(problem.batch), limits) +
        host_memory_us(minimum_bytes(problem), limits);
    return instance;
  }
};

}  // namespace

const Family& reordered_mkn_family() {
  static const ReorderedMkn family;
  return family;
}

}  // namespace tunedgemm::internal
