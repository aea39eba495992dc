// The list of backends, and the properties common to a backend's devices.

#include "runtime/backend.h"

#include <tunedgemm/tunedgemm.h>

#include <set>
#include <string>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

DeviceLimits gpu(int arch) {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = arch;
  limits.sm_count = 132;
  limits.clock_ghz = 1.98;
  limits.memory_gb_per_s = 4800;
  return limits;
}

Problem cube(std::int64_t size, DataType type) {
  return make_problem(size, size, size, type, type, type, "nt");
}

TEST_CASE("Each backend is found by its name and its number, and has families") {
  std::set<std::string_view> names;
  for (const Backend* backend : backends()) {
    INFO(backend->name());
    CHECK(names.insert(backend->name()).second);
    CHECK(find_backend(backend->name()) == backend);
    CHECK(find_backend(backend->number()) == backend);
    CHECK_FALSE(families(backend->name()).empty());
    CHECK(backend->device_name(0).starts_with(backend->name()));
  }
  CHECK(names.size() == all_families().size());
  CHECK(find_backend("") == nullptr);
  CHECK(find_backend(0) == nullptr);
  CHECK(host_backend().number() == TUNEDGEMM_BACKEND_HOST);
  CHECK(cuda_backend().number() == TUNEDGEMM_BACKEND_CUDA);
  CHECK(host_backend().device_count(nullptr) == 1);
}

TEST_CASE("A GPU's generous roofline is below measured times, and an unknown GPU has one") {
  const Problem problem = cube(4096, DataType::kBF16);
  const double h200 = cuda_backend().roofline_us(problem, gpu(90));
  CHECK(h200 < 166);  // a measured time
  CHECK(h200 > 166 / 2.0);
  CHECK(cuda_backend().roofline_us(problem, gpu(250)) <= h200);
  // With one row, reading B takes the longest.
  const Problem row =
      make_problem(1, 8192, 8192, DataType::kF16, DataType::kF16, DataType::kF16, "nt");
  const double reading_us = 8192.0 * 8192 * 2 / (2 * gpu(90).memory_gb_per_s * 1e3);
  CHECK(cuda_backend().roofline_us(row, gpu(90)) == Catch::Approx(reading_us).epsilon(1e-3));
}

TEST_CASE("A CPU's roofline falls with its threads, and its peak is unknown") {
  DeviceLimits limits;
  limits.clock_ghz = 3;
  const Problem problem = cube(256, DataType::kF32);
  const double one = host_backend().roofline_us(problem, limits);
  limits.threads = 4;
  CHECK(host_backend().roofline_us(problem, limits) == Catch::Approx(one / 4));
  CHECK(host_backend().peak_operations_per_cycle(problem, limits) == 0);
}

}  // namespace
}  // namespace tunedgemm::internal
