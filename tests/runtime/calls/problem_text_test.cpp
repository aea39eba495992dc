// The texts of problems at the C interface.

#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "runtime/context/call_key.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tunedgemm/tunedgemm.h"

using Catch::Matchers::StartsWith;
using tunedgemm::internal::call_key;

namespace {

bool equal(const tunedgemm_problem& left, const tunedgemm_problem& right) {
  return call_key(left, {}) == call_key(right, {});
}

std::string text_of(const tunedgemm_problem& problem) {
  std::string text(tunedgemm_problem_text(&problem, nullptr, 0) + 1, '?');
  CHECK(tunedgemm_problem_text(&problem, text.data(), text.size()) == text.size() - 1);
  CHECK(text.back() == '\0');
  text.pop_back();
  return text;
}

void check_refused(const std::string& text, const std::string& sentence) {
  tunedgemm_problem problem;
  INFO(text);
  CHECK(tunedgemm_problem_parse(text.c_str(), &problem) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), StartsWith(sentence));
  CHECK(equal(problem, {}));
}

}  // namespace

TEST_CASE("A text sets every member of the caller's problem, and gives it back") {
  const std::string all =
      "types=e4m3xe5m2->bf16 layout=tn m=6 n=8 k=4 batch=3 order_c=col lda=10 batch_stride_a=100 "
      "ldb=11 batch_stride_b=0 ldc=12 batch_stride_c=300 ldd=14 batch_stride_d=400 "
      "activation=tanh bias=col numerics=promoted";
  tunedgemm_problem expected;
  expected.m = 6;
  expected.n = 8;
  expected.k = 4;
  expected.batch = 3;
  expected.type_a = TUNEDGEMM_TYPE_E4M3;
  expected.type_b = TUNEDGEMM_TYPE_E5M2;
  expected.type_d = TUNEDGEMM_TYPE_BF16;
  expected.order_a = expected.order_c = TUNEDGEMM_ORDER_COLUMN_MAJOR;
  expected.lda = 10;
  expected.ldb = 11;
  expected.ldc = 12;
  expected.ldd = 14;
  expected.batch_stride_a = 100;
  expected.batch_stride_b = TUNEDGEMM_BROADCAST;
  expected.batch_stride_c = 300;
  expected.batch_stride_d = 400;
  expected.activation = TUNEDGEMM_ACTIVATION_TANH;
  expected.bias = TUNEDGEMM_BIAS_PER_COLUMN;
  expected.numerics = TUNEDGEMM_NUMERICS_PROMOTED;
  tunedgemm_problem problem;
  REQUIRE(tunedgemm_problem_parse(all.c_str(), &problem) == TUNEDGEMM_STATUS_OK);
  CHECK(equal(problem, expected));
  CHECK(text_of(problem) == all);
}

TEST_CASE("The text of a random valid problem gives the same struct") {
  std::mt19937_64 random(tunedgemm::internal::test_seed());
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  int valid = 0;
  for (int round = 0; round < 20000; ++round) {
    tunedgemm_problem problem;
    problem.m = below(9);
    problem.n = below(9);
    problem.k = below(9);
    problem.batch = below(3);
    problem.type_a = problem.type_b = static_cast<tunedgemm_type>(1 + below(7));
    problem.type_d = static_cast<tunedgemm_type>(1 + below(8));
    problem.order_a = static_cast<tunedgemm_order>(below(2));
    problem.order_d = static_cast<tunedgemm_order>(below(2));
    problem.ldb = 9 * below(2);
    problem.batch_stride_b = below(3) - 1;
    problem.activation = static_cast<tunedgemm_activation>(below(9));
    problem.bias = static_cast<tunedgemm_bias>(below(3));
    problem.numerics = static_cast<tunedgemm_numerics>(below(6) - 1);
    if (tunedgemm_problem_text(&problem, nullptr, 0) == 0) {
      continue;
    }
    ++valid;
    const std::string text = text_of(problem);
    INFO(text);
    tunedgemm_problem parsed;
    REQUIRE(tunedgemm_problem_parse(text.c_str(), &parsed) == TUNEDGEMM_STATUS_OK);
    REQUIRE(equal(parsed, problem));
  }
  CHECK(valid > 500);
}

TEST_CASE("A text that is refused leaves the problem as it is, and the message names the field") {
  check_refused("m=7 types=f17", "types is \"f17\"; expected f64, f32");
  check_refused("m=7 colour=red", "\"colour\" is not a field of a problem; the fields are types");
  check_refused("m=7 m=8", "m is given twice");
  const std::string no_member = ", but this tunedgemm_problem has no such member; ";
  check_refused("m=7 beta=1", "beta is \"one\"" + no_member + "set it in tunedgemm_buffers");
  check_refused("m=7 alpha=0", "alpha is \"zero\"" + no_member + "set it in tunedgemm_buffers");
  check_refused("m=7 c_is_d=1", "c_is_d is \"1\"" + no_member + "set c and d");
  check_refused("m=7 launches=back_to_back", "launches is \"back_to_back\"" + no_member +
                                                 "set launch_regime of tunedgemm_plan_");
  tunedgemm_problem problem;
  CHECK(tunedgemm_problem_parse("alpha=1 beta=0 c_is_d=0 launches=isolated", &problem) ==
        TUNEDGEMM_STATUS_OK);
  CHECK(equal(problem, {}));
  CHECK(tunedgemm_problem_parse(nullptr, &problem) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK(tunedgemm_problem_parse("m=7", nullptr) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("A text is refused if it names a member that the caller's version lacks") {
  tunedgemm_problem problem;
  problem.struct_size = offsetof(tunedgemm_problem, batch_stride_d);
  CHECK(tunedgemm_problem_parse("m=7 batch_stride_d=9", &problem) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), StartsWith("batch_stride_d is \"9\", but this"));
  CHECK(tunedgemm_problem_parse("m=7", &problem) == TUNEDGEMM_STATUS_OK);
  CHECK(problem.m == 7);
  CHECK(problem.struct_size == offsetof(tunedgemm_problem, batch_stride_d));
}

TEST_CASE("An invalid problem has no text, and a short buffer gets its beginning") {
  tunedgemm_problem problem;
  problem.k = 4;
  problem.lda = 3;
  char text[10] = "untouched";
  CHECK(tunedgemm_problem_text(&problem, text, sizeof text) == 0);
  CHECK(std::string(text).empty());
  CHECK_THAT(tunedgemm_error_message(), StartsWith("the leading dimension of A is 3"));
  CHECK(tunedgemm_problem_text(nullptr, text, sizeof text) == 0);
  CHECK_THAT(tunedgemm_error_message(), StartsWith("the problem is a null pointer"));
  problem.lda = 0;
  CHECK(tunedgemm_problem_text(&problem, text, sizeof text) ==
        std::strlen("types=f32 m=0 n=0 k=4"));
  CHECK(std::string(text) == "types=f32");
}
