#include "runtime/evaluation/error_bound.h"

#include <cmath>
#include <limits>

#include "kernel_templates/cuda/reference/activation.cuh"
#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

Problem problem_of(Activation activation, DataType d = DataType::kF32) {
  Problem problem = make_problem(64, 64, 512, DataType::kF32, DataType::kF32, d);
  problem.activation = activation;
  return problem;
}

// Of an element whose sum has a scale.
double error(const reference::Bound& bound, double expected, double scale = 1) {
  return bound.absolute[0] + scale * bound.absolute[1] + scale * scale * bound.absolute[2] +
         bound.relative * std::abs(expected);
}

}  // namespace

TEST_CASE("The error bound of an activation covers the effect of an error in its argument") {
  const double of_argument = (error(error_bound(problem_of(Activation::kNone), {}), 0)) / 1.2;
  for (const ActivationTraits& row : kActivations.rows) {
    INFO(row.name);
    const reference::Bound bound = error_bound(problem_of(row.activation), {});
    for (double x = -150; x <= 150; x += 0.37) {
      const double right = reference::activated(row.activation, x, 0.125);
      for (const double wrong_x : {x - of_argument, x + of_argument}) {
        const double wrong = reference::activated(row.activation, wrong_x, 0.125);
        CHECK(std::abs(wrong - right) <= error(bound, right));
      }
    }
  }
}

TEST_CASE("The error bound of a square is tight for most results") {
  const double of_argument = error(error_bound(problem_of(Activation::kNone), {}), 0);
  const reference::Bound bound = error_bound(problem_of(Activation::kReluSquared), {});
  const double usual = std::sqrt(512.0);
  for (const double x : {usual / 3, usual, 2 * usual}) {
    CHECK(error(bound, x * x) < 2 * (2 * x * of_argument));
  }
}

TEST_CASE("Every activation keeps NaN and matches its name") {
  for (const ActivationTraits& row : kActivations.rows) {
    INFO(row.name);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(std::isnan(reference::activated(row.activation, nan, 0.125)));
    CHECK(parse_activation(row.name) == row.activation);
    CHECK(name(row.activation) == row.name);
  }
  const auto at = [](Activation activation, double x) {
    return reference::activated(activation, x, 0.125);
  };
  CHECK(at(Activation::kNone, -2) == -2);
  CHECK(at(Activation::kRelu, -2) == 0);
  CHECK(at(Activation::kLeakyRelu, -2) == -0.25);
  CHECK(at(Activation::kReluSquared, -2) == 0);
  CHECK(at(Activation::kReluSquared, 3) == 9);
  CHECK(std::abs(at(Activation::kGeluTanh, 1) - 0.8411919906082768) < 1e-15);
  CHECK(std::abs(at(Activation::kGeluErf, 1) - 0.8413447460685429) < 1e-15);
  CHECK(std::abs(at(Activation::kSilu, 1) - 0.7310585786300049) < 1e-15);
  CHECK(std::abs(at(Activation::kSigmoid, 1) - 0.7310585786300049) < 1e-15);
  CHECK(std::abs(at(Activation::kTanh, 1) - 0.7615941559557649) < 1e-15);
}

}  // namespace tunedgemm::internal
