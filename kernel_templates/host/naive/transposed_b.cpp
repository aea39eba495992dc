#include <algorithm>

#include "kernel_templates/host/families.h"
#include "kernel_templates/host/host_family.h"

namespace tunedgemm::internal {
namespace {

constexpr double kAdditionLatency = 4;  // cycles from one addition to the next that needs it
constexpr double kTransposeStep = 4;    // cycles an element of B

class TransposedB final : public HostFamily {
 public:
  TransposedB()
      : HostFamily("transposed_b", "host/naive/transposed_b.cc",
                   {{"partial_sums", {1, 16, 32}, "independent sums over k"}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const auto batch = static_cast<double>(problem.batch);
    const std::int64_t sum_bytes = size_bytes(accumulator(problem.a.type, problem.b.type));
    const double quarter = static_cast<double>(limits.memory_bytes) / 4;
    const double needed = static_cast<double>(problem.k) * static_cast<double>(problem.n) *
                          static_cast<double>(sum_bytes);
    if (limits.memory_bytes > 0 && needed > quarter) {
      return "the transposed B of " + std::to_string(needed / 1e9) +
             " GB is larger than a quarter of the memory";
    }
    Instance instance = begin_instance(problem, config);
    instance.launch = launch_for(std::max(problem.m, problem.n), limits);
    instance.launch.workspace_bytes = kWorkspaceCounterBytes + problem.k * problem.n * sum_bytes;
    instance.defines = {{"COUNTER_BYTES", std::to_string(kWorkspaceCounterBytes)}};

    const double sums_per_vector = limits.simd_bits / (8.0 * static_cast<double>(sum_bytes));
    const bool vectors = problem.a.order == Order::kRowMajor;
    const int partial_sums = config.at("partial_sums");
    const double step = vectors && partial_sums > 1
                            ? std::max(1.0 / sums_per_vector, kAdditionLatency / partial_sums)
                            : kAdditionLatency / std::min(partial_sums, 4);
    const double cycles_per_element =
        step * static_cast<double>(problem.k) + 10 + epilogue_cycles(problem);
    const double transpose_cycles = kTransposeStep * static_cast<double>(problem.k * problem.n) /
                                    static_cast<double>(instance.launch.grid[0]);
    instance.predicted_us =
        host_us(problem.m, batch * static_cast<double>(problem.n) * cycles_per_element, limits) +
        host_us(1, batch * transpose_cycles, limits) +
        host_memory_us(minimum_bytes(problem), limits);
    return instance;
  }
};

}  // namespace

const Family& transposed_b_family() {
  static const TransposedB family;
  return family;
}

}  // namespace tunedgemm::internal
