#include <algorithm>

#include "kernel_templates/host/families.h"
#include "kernel_templates/host/naive/shape.h"

namespace tunedgemm::internal {
namespace {

constexpr double kAdditionLatency = 4;  // cycles between dependent additions
constexpr double kColumnStep = 6;       // cycles of a k that loads a different cache line

class NaiveMnk final : public HostFamily {
 public:
  NaiveMnk() : HostFamily("naive_mnk", "host/naive/naive_mnk.cc", {}) {}

  bool computes_groups() const override { return true; }

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const double step = problem.b.order == Order::kRowMajor ? kColumnStep : kAdditionLatency;
    const double cycles_per_element =
        step * static_cast<double>(problem.k) + 5 + epilogue_cycles(problem);
    const double cycles_per_row = static_cast<double>(problem.n) * cycles_per_element;
    Instance instance = begin_instance(problem, config);
    instance.launch = launch_for(problem.m, limits);
    instance.predicted_us =
        host_us(problem.m, cycles_per_row * static_cast<double>(problem.batch), limits) +
        host_memory_us(minimum_bytes(problem), limits);
    return instance;
  }
};

class ReorderedMkn final : public HostFamily {
 public:
  ReorderedMkn()
      : HostFamily("reordered_mkn", "host/naive/reordered_mkn.cc",
                   {{"block_n", {512, 2048}, "columns of accumulators", Knob::kTile}}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const auto accumulator_bytes =
        static_cast<int>(size_bytes(accumulator(problem.a.type, problem.b.type)));
    // A vector of accumulators needs two loads and a store. A column-major B is loaded element by
    // element, each from a different cache line.
    const double vector_step =
        2.5 * (8 * static_cast<double>(accumulator_bytes)) / limits.simd_bits;
    const double step = problem.b.order == Order::kRowMajor ? vector_step : 4;
    const auto columns = static_cast<double>(problem.n);
    const double loop_starts = 10 * (1 + columns / config.at("block_n"));
    const double cycles_per_row = static_cast<double>(problem.k) * (columns * step + loop_starts) +
                                  columns * epilogue_cycles(problem);
    Instance instance = begin_instance(problem, config);
    instance.launch = launch_for(problem.m, limits);
    instance.launch.shared_bytes =
        static_cast<std::uint32_t>(naive::scratch_bytes(config.at("block_n"), accumulator_bytes));
    instance.predicted_us =
        host_us(problem.m, cycles_per_row * static_cast<double>(problem.batch), limits) +
        host_memory_us(minimum_bytes(problem), limits);
    return instance;
  }
};

constexpr double kTransposeStep = 4;  // cycles for an element of B

class TransposedB final : public HostFamily {
 public:
  TransposedB()
      : HostFamily("transposed_b", "host/naive/transposed_b.cc",
                   {{"partial_sums", {1, 16, 32}, "independent sums over k"},
                    {"swap_ab", {0, 1}, "1: computes D's transpose from B and A"}}) {}

  Instantiation make_instance(const Problem& requested, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits); !why.empty()) {
      return why;
    }
    const bool swaps = config.at("swap_ab") == 1;
    const Problem problem = swaps ? transposed(requested) : requested;
    const auto batch = static_cast<double>(problem.batch);
    const std::int64_t accumulator_bytes = size_bytes(accumulator(problem.a.type, problem.b.type));
    const double quarter = static_cast<double>(limits.memory_bytes) / 4;
    const double needed = static_cast<double>(problem.k) * static_cast<double>(problem.n) *
                          static_cast<double>(accumulator_bytes);
    if (limits.memory_bytes > 0 && needed > quarter) {
      return "the transposed B of " + std::to_string(needed / 1e9) +
             " GB is larger than a quarter of the memory";
    }
    Instance instance = begin_instance(requested, config);
    instance.launch = launch_for(std::max(problem.m, problem.n), limits);
    instance.launch.swaps_operands = swaps;
    instance.launch.workspace_bytes =
        kWorkspaceCounterBytes + problem.k * problem.n * accumulator_bytes;
    instance.defines = {{"COUNTER_BYTES", std::to_string(kWorkspaceCounterBytes)}};

    const double accumulators_per_vector =
        limits.simd_bits / (8.0 * static_cast<double>(accumulator_bytes));
    const bool vectors = problem.a.order == Order::kRowMajor;
    const int partial_sums = config.at("partial_sums");
    const double step = vectors && partial_sums > 1 ? std::max(1.0 / accumulators_per_vector,
                                                               kAdditionLatency / partial_sums)
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

const Family& naive_mnk_family() {
  static const NaiveMnk family;
  return family;
}

const Family& reordered_mkn_family() {
  static const ReorderedMkn family;
  return family;
}

const Family& transposed_b_family() {
  static const TransposedB family;
  return family;
}

}  // namespace tunedgemm::internal
