// OpenBLAS as a contender; skipped if it is not installed.

#include <vector>

#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tools/baselines/baseline.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

CanonicalProblem f64_problem() {
  return canonical(make_problem(2, 3, 2, DataType::kF64, DataType::kF64, DataType::kF64));
}

TEST_CASE("OpenBLAS multiplies with alpha, beta and either order") {
  std::string why_not;
  const auto library = open_openblas(1, &why_not);
  if (!library) {
    TUNEDGEMM_SKIP(why_not);
  }
  CHECK_FALSE(library->version().empty());
  Problem problem = f64_problem();
  problem.b.order = Order::kColumnMajor;
  problem.b.leading_dimension = 2;
  problem.beta = ScalarClass::kOther;
  problem.c_is_d = true;
  const auto proposals = library->proposals({problem, 1}, 8, &why_not);
  REQUIRE(proposals.size() == 1);
  const std::vector<double> a{1, 2, 3, 4}, b{1, 10, 100, 1000, 10000, 100000};
  std::vector<double> d{1, 1, 1, 1, 1, 1};
  Arguments arguments = arguments_of(problem);
  arguments.a = a.data();
  arguments.b = b.data();
  arguments.c = arguments.d = d.data();
  arguments.alpha = 2;
  arguments.beta = 3;
  REQUIRE(proposals[0].kernel->run({}, arguments, nullptr) == 0);
  CHECK(d == std::vector<double>{2 * 21 + 3, 2 * 2100 + 3, 2 * 210000 + 3, 2 * 43 + 3, 2 * 4300 + 3,
                                 2 * 430000 + 3});
}

TEST_CASE("OpenBLAS gives a reason for problems that it does not compute") {
  std::string why_not;
  const auto library = open_openblas(1, &why_not);
  if (!library) {
    TUNEDGEMM_SKIP(why_not);
  }
  const auto refusal = [&](const Problem& problem) {
    CHECK(library->proposals({problem, 1}, 8, &why_not).empty());
    return why_not;
  };
  CHECK_THAT(refusal(make_problem(8, 8, 8, DataType::kF16, DataType::kF16, DataType::kF16)),
             ContainsSubstring("f16"));
  Problem problem = f64_problem();
  problem.bias = Bias::kPerRow;
  CHECK_THAT(refusal(problem), ContainsSubstring("neither bias"));
  problem = f64_problem();
  problem.beta = ScalarClass::kOne;
  CHECK_THAT(refusal(problem), ContainsSubstring("updates C in place"));
  problem = f64_problem();
  problem.k = std::int64_t{1} << 31;
  CHECK_THAT(refusal(problem), ContainsSubstring("2147483648"));
}

}  // namespace
}  // namespace tunedgemm::internal
