#include "kernel_templates/host/families.h"
#include "kernel_templates/host/host_family.h"

namespace tunedgemm::internal {
namespace {

constexpr double kAdditionLatency = 4;  // cycles from one addition to the next that needs it
constexpr double kColumnStep = 6;       // with a load that goes to another cache line every time

class NaiveMnk final : public HostFamily {
 public:
  NaiveMnk() : HostFamily("naive_mnk", "host/naive/naive_mnk.cc", {}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
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

}  // namespace

const Family& naive_mnk_family() {
  static const NaiveMnk family;
  return family;
}

}  // namespace tunedgemm::internal
