// The CUDA families on the emulated GPU: random problems, configs and epilogues, in guarded and
// poisoned memory, as in cuda/families_gpu_test.cpp.

#include <algorithm>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include "kernel_templates/cuda/skinny/skinny.h"
#include "tests/runtime/support/emulated_gpu.h"
#include "tests/runtime/support/family_check.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

// A random part of the cases of a family, each with its own kernel, whose problems are small.
template <class Wanted>
std::vector<FamilyCase> small_cases(const Family& family, const DeviceLimits& limits,
                                    std::size_t count, const Wanted& wanted) {
  constexpr int kClasses = 3, kShapes = 6;
  constexpr std::int64_t kMostProducts = 1 << 22;
  Random random(test_seed());
  std::vector<FamilyCase> cases = random_cases(family, limits, kClasses, kShapes, random);
  std::erase_if(cases, [&](const FamilyCase& one) {
    const Problem& problem = one.problem;
    return !wanted(one) || problem.m * problem.n * problem.k * problem.batch > kMostProducts;
  });
  std::shuffle(cases.begin(), cases.end(), random);
  cases.resize(std::min(cases.size(), count));
  return cases;
}

template <class Wanted>
void test_emulated(std::string_view name, std::size_t count, const Wanted& wanted) {
  DeviceLimits limits = h200();
  limits.sm_count = 3;  // so that a persistent CTA computes several tiles
  EmulatedGpu device(limits, static_cast<unsigned>(test_seed()));
  if (!device.why_not_compile().empty()) {
    TUNEDGEMM_SKIP(device.why_not_compile());
  }
  const Family* family = find_family(name);
  REQUIRE(family != nullptr);
  const std::vector<FamilyCase> cases = small_cases(*family, limits, count, wanted);
  REQUIRE_FALSE(cases.empty());
  const FamilyReport report = check_family(*family, cases, device, limits, test_seed());
  std::cout << name << ": " << to_text(report) << std::flush;
  CHECK(report.failed == 0);
}

bool any(const FamilyCase&) {
  return true;
}

// What the launch of a kernel with this body gives: its error or, if there is none, D as text.
// `body` is executed by 64 threads, with `d`, 256 bytes of shared memory and `next`, the number of
// the next thread.
std::string result_of(const std::string& body) {
  EmulatedGpu device(h200(), static_cast<unsigned>(test_seed()));
  const std::string text =
      "#include \"../common/epilogue.cuh\"\n"
      "#include \"../ptx/cp_async.cuh\"\n"
      "#include \"../ptx/synchronization.cuh\"\n"
      "#include \"../reference/activation.cuh\"\n"
      "extern \"C\" __global__ void probe(const __grid_constant__ Arguments arguments) {\n"
      "  extern __shared__ __align__(16) char shared[];\n"
      "  int* const numbers = reinterpret_cast<int*>(shared);\n"
      "  int* const d = static_cast<int*>(arguments.d);\n"
      "  const int thread = threadIdx.x, next = (thread + 1) % 64;\n" +
      body + "}\n";
  Source source;
  source.backend = "cuda";
  source.file = {"cuda/probe/kernel.cu", text};
  source.entry = "probe";
  source.includes = included_files(source.file);
  const auto compiled = device.compile(source);
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    return failure->log;
  }
  const Launch launch{.block = {64, 1, 1}, .shared_bytes = 256};
  auto loaded = device.load(std::get<Binary>(compiled), launch);
  std::vector<int> d(64, -1);
  Arguments arguments{};
  arguments.d = d.data();
  if (const int error = std::get<0>(loaded)->run(launch, arguments, nullptr); error != 0) {
    return device.describe(error);
  }
  std::string result;
  for (const int number : d) {
    result += std::to_string(number) + " ";
  }
  return result;
}

}  // namespace

TEST_CASE("the emulated GPU finds barriers that are missing, and threads that wait forever") {
  std::string right;
  for (int thread = 0; thread < 64; ++thread) {
    right += std::to_string((thread + 1) % 64) + " ";
  }
  const std::string write = "numbers[thread] = thread;\n", read = "d[thread] = numbers[next];\n";
  CHECK(result_of(write + "__syncthreads();\n" + read) == right);
  CHECK(result_of(write + read) != right);
  CHECK(result_of(write + "__syncwarp();\n" + read) != right);
  REQUIRE_THAT(result_of("if (thread < 32) { sync(1, 64); }\n"),
               ContainsSubstring("wait for one another forever"));
  REQUIRE_THAT(result_of("store_shared(256, 0u);\n"), ContainsSubstring("256 bytes, not 260"));
  REQUIRE_THAT(result_of("copy_16_bytes(4u, d);\n"), ContainsSubstring("is not aligned"));
  CHECK(result_of("copy_4_bytes(4 * thread, d + thread);\n" + read) != right);
}

TEST_CASE("activations in f32 are as exact as epilogue.cuh says, and keep NaN and infinity") {
  std::string none;
  for (int thread = 0; thread < 64; ++thread) {
    none += "0 ";
  }
  // Each thread counts what is wrong among its part of the numbers from -6 to 10.
  CHECK(result_of(R"(
    int wrong = 0;
    const auto check = [&](double got, double right, double limit) {
      wrong += !(std::fabs(got - right) <= limit * std::fabs(right));
    };
    const auto check_all = [&](float x) {
      constexpr Activation tanh = Activation::kGeluTanh, erf = Activation::kGeluErf;
      constexpr Activation silu = Activation::kSilu, sigmoid = Activation::kSigmoid;
      const auto right = [&](Activation activation) {
        return reference::activated(activation, x, 0);
      };
      using Functions = EpilogueFunctions;
      check(activated<tanh, Functions>(x, 0.0f), right(tanh), 6e-6);
      check(activated<silu, Functions>(x, 0.0f), right(silu), 2e-6);
      check(activated<sigmoid, Functions>(x, 0.0f), right(sigmoid), 2e-6);
      const double limit = x >= -0.5f ? 6e-7 : x >= -2 ? 2e-6 : x >= -4 ? 4e-5 : 6.5e-4;
      check(activated<erf, Functions>(x, 0.0f), right(erf), limit);
    };
    for (int i = thread; i < 16 << 12; i += 64) {
      check_all(i / 4096.0f - 6);
    }
    const auto ends = [&](auto function) {
      const float nan = std::nanf(""), infinity = INFINITY;
      wrong += !std::isnan(function(nan)) + (function(infinity) != infinity);
      wrong += function(-3e38f) != 0;
    };
    ends([](float x) { return activated<Activation::kGeluTanh, EpilogueFunctions>(x, 0.0f); });
    ends([](float x) { return activated<Activation::kGeluErf, EpilogueFunctions>(x, 0.0f); });
    ends([](float x) { return activated<Activation::kSilu, EpilogueFunctions>(x, 0.0f); });
    d[thread] = wrong;
  )") == none);
}

TEST_CASE("mma multiplies on an emulated GPU") {
  test_emulated("mma", 12, any);
}

TEST_CASE("mma multiplies without a pipeline on an emulated GPU") {
  test_emulated("mma", 8, [](const FamilyCase& one) { return one.config.at("stages") == 1; });
}

TEST_CASE("simt multiplies on an emulated GPU") {
  test_emulated("simt", 6, any);
}

TEST_CASE("skinny multiplies on an emulated GPU") {
  test_emulated("skinny", 12, any);
}

TEST_CASE("skinny multiplies classes of rows in several CTAs on an emulated GPU") {
  test_emulated("skinny", 8, [](const FamilyCase& one) {
    return SkinnyShape(one.problem, one.config).ctas_of_classes() > 1;
  });
}

TEST_CASE("wgmma multiplies on an emulated GPU") {
  test_emulated("wgmma", 16, any);
}

TEST_CASE("wgmma multiplies f64 on an emulated GPU") {
  test_emulated("wgmma", 12,
                [](const FamilyCase& one) { return one.problem.a.type == DataType::kF64; });
}

}  // namespace tunedgemm::internal
