#include "tools/tunedgemm/bench_result.h"

#include "tests/support/catch.h"
#include "tests/support/gpus.h"

namespace tunedgemm::internal {
namespace {

using Catch::Approx;

TEST_CASE("What computes much is limited by the tensor peak at the clock seen") {
  const Problem problem =
      make_problem(4096, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16);
  // The data sheet's 989.4 TFLOP/s are at 1830 MHz.
  REQUIRE(roofline_us(problem, h200(), 1830) == Approx(flops(problem) / 989.4e6).epsilon(1e-3));
  REQUIRE(roofline_us(problem, h200(), 915) == Approx(2 * roofline_us(problem, h200(), 1830)));
  REQUIRE(roofline_us(problem, h200(), 0) == Approx(roofline_us(problem, h200(), 1980)));
}

TEST_CASE("What computes little is limited by the memory, unless the inputs are warm") {
  Problem problem =
      make_problem(1, 8192, 8192, DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt");
  REQUIRE(roofline_us(problem, h200(), 1830) == Approx(minimum_bytes(problem) / 4.8e6));
  problem.regime = Regime::kWarm;
  REQUIRE(roofline_us(problem, h200(), 1830) < 1);
}

TEST_CASE("Smaller types and fewer products have a higher peak") {
  const auto roofline = [](DataType type, DataType output, Numerics numerics) {
    Problem problem = make_problem(4096, 4096, 4096, type, type, output, "nt");
    problem.numerics = numerics;
    return roofline_us(problem, h200(), 1830);
  };
  const double f16 = roofline(DataType::kF16, DataType::kF16, Numerics::kIeee);
  REQUIRE(roofline(DataType::kE4M3, DataType::kF16, Numerics::kFast) == Approx(f16 / 2));
  REQUIRE(roofline(DataType::kS8, DataType::kS32, Numerics::kIeee) == Approx(f16 / 2));
  REQUIRE(roofline(DataType::kF32, DataType::kF32, Numerics::kTf32) == Approx(f16 * 2));
  REQUIRE(roofline(DataType::kF32, DataType::kF32, Numerics::kEmulated) == Approx(f16 * 6));
  REQUIRE(roofline(DataType::kF32, DataType::kF32, Numerics::kIeee) == Approx(f16 * 16));
  REQUIRE(roofline(DataType::kF64, DataType::kF64, Numerics::kIeee) == Approx(f16 * 16));
}

TEST_CASE("Where the peak is not known there is no roofline") {
  const Problem problem = make_problem(64, 64, 64, DataType::kF32, DataType::kF32, DataType::kF32);
  REQUIRE(roofline_us(problem, DeviceLimits{}, 3000) == 0);
  DeviceLimits old = h200();
  old.arch = 70;
  REQUIRE(roofline_us(problem, old, 1500) == 0);
}

}  // namespace
}  // namespace tunedgemm::internal
