// The families of CPUs.

#include "kernel_templates/host/families.h"

namespace tunedgemm::internal {
namespace {

std::string compiler_command(const Source&, const DeviceLimits&) {
  return "c++ -std=c++20 -O3 -march=native -shared -fPIC";
}

}  // namespace

const BackendFamilies& host_families() {
  static const BackendFamilies all{
      .backend = "host",
      .number = 1,
      .families = {&naive_mnk_family(), &reordered_mkn_family(), &transposed_b_family(),
                   &blocked_family()},
      .baseline = &naive_mnk_family(),
      .compiler_command = compiler_command,
  };
  return all;
}

}  // namespace tunedgemm::internal
