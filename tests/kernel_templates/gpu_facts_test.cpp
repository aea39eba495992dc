// The table of GPUs, and the cost models' assumptions about an unknown GPU.

#include "kernel_templates/cuda/gpu_facts.h"

#include "kernel_templates/family.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

DeviceLimits gpu(int arch) {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = arch;
  limits.sm_count = 84;
  limits.memory_bytes = std::int64_t{24} << 30;
  limits.clock_ghz = 1.7;
  limits.memory_gb_per_s = 600;
  return with_usual_values(limits);
}

Problem square(DataType type, DataType output) {
  return make_problem(2048, 2048, 2048, type, type, output, "nt");
}

TEST_CASE("The table has the peaks of the data sheets") {
  const auto tera = [](int arch, double multiply_adds, int sm_count, double ghz) {
    INFO(arch);
    CHECK(gpu_facts(arch).is_known());
    return 2e-3 * multiply_adds * sm_count * ghz;
  };
  // The tolerance is a tenth, since some data sheets use a clock below the maximum.
  const auto about = [](double value) { return Catch::Approx(value).epsilon(0.1); };
  CHECK(tera(70, gpu_facts(70).tensor_f16, 80, 1.53) == about(125));      // V100
  CHECK(tera(75, gpu_facts(75).tensor_s8, 40, 1.59) == about(130));       // T4
  CHECK(tera(80, gpu_facts(80).tensor_f16, 108, 1.41) == about(312));     // A100
  CHECK(tera(80, gpu_facts(80).tensor_f64, 108, 1.41) == about(19.5));    // A100
  CHECK(tera(86, gpu_facts(86).tensor_f16, 72, 1.70) == about(125));      // A10
  CHECK(tera(87, gpu_facts(87).tensor_s8, 16, 1.30) == about(85));        // Jetson AGX Orin
  CHECK(tera(89, gpu_facts(89).tensor_fp8, 58, 2.04) == about(242));      // L4
  CHECK(tera(90, gpu_facts(90).tensor_f16, 132, 1.83) == about(989));     // H100
  CHECK(tera(100, gpu_facts(100).tensor_fp8, 148, 1.85) == about(4500));  // B200
  CHECK(tera(100, gpu_facts(100).tensor_f64, 148, 1.96) == about(37));    // B200
  CHECK(tera(103, gpu_facts(103).cuda_f64, 148, 1.92) == about(1.25));    // B300
  CHECK(tera(103, gpu_facts(103).tensor_s8, 148, 1.92) == about(150));    // B300
  CHECK(tera(120, gpu_facts(120).cuda_f32, 188, 2.62) == about(125));     // RTX PRO 6000
}

TEST_CASE("An unknown GPU has a graphics card's rates and the bounds of the fastest known GPU") {
  for (const int arch : {99, 130, 200}) {
    CHECK_FALSE(gpu_facts(arch).is_known());
    CHECK(gpu_facts(arch).cuda_f64 == 2);
    CHECK(gpu_facts(arch).clock_ghz > 0);
    CHECK(gpu_facts(arch).memory_gb_per_s > 0);
  }
  CHECK(greatest_gpu_facts().tensor_f16 == gpu_facts(100).tensor_f16);
}

TEST_CASE("Values that a driver does not report are filled in, and no others") {
  DeviceLimits silent;
  silent.backend = "cuda";
  silent.arch = 86;
  silent.clock_ghz = silent.memory_gb_per_s = 0;
  const DeviceLimits filled = with_usual_values(silent);
  CHECK(filled.clock_ghz == 1.70);
  CHECK(filled.memory_gb_per_s == 600);
  CHECK(filled.shared_bytes_per_block == 99 << 10);
  CHECK(with_usual_values(filled) == filled);
  CHECK(with_usual_values(DeviceLimits()) == DeviceLimits());
}

TEST_CASE(
    "A clock or a bandwidth of 0, or an unknown GPU, does not make a naive kernel the default") {
  for (const int arch : {80, 86, 89, 90, 120, 130}) {
    for (const auto& [clock_ghz, memory_gb_per_s] : {std::pair(0.0, 600.0), {1.7, 0.0}, {0, 0}}) {
      DeviceLimits limits = gpu(arch);
      limits.clock_ghz = clock_ghz;
      limits.memory_gb_per_s = memory_gb_per_s;
      const auto family_for = [&](DataType type, DataType output) {
        return std::string(
            default_candidate(square(type, output), limits).candidate.family->name());
      };
      INFO(arch << ", " << clock_ghz << " GHz, " << memory_gb_per_s << " GB/s");
      CHECK(family_for(DataType::kF32, DataType::kF32) == "simt");
      CHECK(family_for(DataType::kF16, DataType::kF16) == (arch == 90 ? "wgmma" : "mma"));
    }
  }
}

}  // namespace
}  // namespace tunedgemm::internal
