// tunedgemm.hpp, on the host.

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

struct OwnHalf {
  std::uint16_t bits;
};

}  // namespace

template <>
inline constexpr tunedgemm::Type tunedgemm::type_of<OwnHalf> = TUNEDGEMM_TYPE_F16;

namespace {

// Compiles nothing.
tunedgemm::Context linked_in_context() {
  return tunedgemm::Context({.backend = TUNEDGEMM_BACKEND_HOST,
                             .host_threads = 1,
                             .cache_path = "",
                             .policy = TUNEDGEMM_POLICY_STORED});
}

}  // namespace

TEST_CASE("An error has the status and the message of the C function") {
  const tunedgemm::Context context = linked_in_context();
  try {
    tunedgemm::tuned_matmul(context, {.m = -4, .n = 5, .k = 6}, {});
    FAIL("the call succeeded");
  } catch (const tunedgemm::Error& error) {
    CHECK(error.status() == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK(error.what() == std::string("invalid argument: ") + tunedgemm_error_message());
    CHECK_THAT(error.what(), ContainsSubstring("M is -4"));
  }
  CHECK_THROWS_WITH(tunedgemm::Context({.host_threads = -1}), ContainsSubstring("host_threads"));
  CHECK_THROWS_WITH(context.plan({.m = 4, .n = 5, .k = -6}, {}), ContainsSubstring("K is -6"));
  CHECK_THROWS_AS(tunedgemm::Plan(nullptr).run({}), tunedgemm::Error);
  CHECK_THROWS_AS(tunedgemm::Plan(nullptr).info(), tunedgemm::Error);
}

TEST_CASE("A context moves") {
  tunedgemm::Context context = linked_in_context();
  const tunedgemm_context* const opened = context.get();
  const tunedgemm::Context moved = std::move(context);
  CHECK(moved.get() == opened);
}

TEST_CASE("A report is written as snprintf() writes") {
  const tunedgemm::Context context = linked_in_context();
  const std::string report = context.report();
  CHECK_THAT(report, ContainsSubstring("plans      0:"));
  std::string text(6, '#');
  CHECK(tunedgemm_context_report(context.get(), text.data(), 4) == report.size());
  CHECK(text == report.substr(0, 3) + std::string(1, '\0') + "##");
  text = "##";
  CHECK(tunedgemm_context_report(context.get(), text.data(), 0) == report.size());
  CHECK(text == "##");
}

TEST_CASE("Matrices tell the problem and the buffers") {
  using tunedgemm::Matrix;
  const std::vector<std::int8_t> a(100), b(100);
  std::vector<std::int32_t> d(100), bias(3);
  const float scale = 2;
  const Matrix d_matrix(
      d.data(), 2, 3,
      {.order = TUNEDGEMM_ORDER_COLUMN_MAJOR, .leading_dimension = 4, .batch_stride = 13});
  const auto [problem, buffers] = tunedgemm::call_of(
      Matrix(a.data(), 2, 5, {.leading_dimension = 6}),
      Matrix(b.data(), 5, 3,
             {.order = TUNEDGEMM_ORDER_COLUMN_MAJOR, .batch_stride = TUNEDGEMM_BROADCAST}),
      d_matrix,
      {.c = d_matrix,
       .alpha = 3,
       .bias_per_column = bias.data(),
       .activation = TUNEDGEMM_ACTIVATION_LEAKY_RELU,
       .slope = 0.5f,
       .scale_b = &scale,
       .scaling_b = TUNEDGEMM_SCALING_ROW,
       .scale_stride_b = 7,
       .scale_k_stride_b = 9,
       .scale_batch_stride_b = TUNEDGEMM_BROADCAST,
       .numerics = TUNEDGEMM_NUMERICS_IEEE,
       .batch = 2});
  CHECK(std::vector{problem.m, problem.n, problem.k, problem.batch} ==
        std::vector<std::int64_t>{2, 3, 5, 2});
  CHECK(std::vector{problem.type_a, problem.type_b, problem.type_d} ==
        std::vector{TUNEDGEMM_TYPE_S8, TUNEDGEMM_TYPE_S8, TUNEDGEMM_TYPE_S32});
  CHECK(std::vector{problem.order_a, problem.order_b, problem.order_c, problem.order_d} ==
        std::vector{TUNEDGEMM_ORDER_ROW_MAJOR, TUNEDGEMM_ORDER_COLUMN_MAJOR,
                    TUNEDGEMM_ORDER_COLUMN_MAJOR, TUNEDGEMM_ORDER_COLUMN_MAJOR});
  CHECK(std::vector{problem.lda, problem.ldb, problem.ldc, problem.ldd} ==
        std::vector<std::int64_t>{6, 0, 4, 4});
  CHECK(std::vector{problem.batch_stride_a, problem.batch_stride_b, problem.batch_stride_c,
                    problem.batch_stride_d} == std::vector<std::int64_t>{0, -1, 13, 13});
  CHECK(problem.activation == TUNEDGEMM_ACTIVATION_LEAKY_RELU);
  CHECK(problem.bias == TUNEDGEMM_BIAS_PER_COLUMN);
  CHECK(problem.numerics == TUNEDGEMM_NUMERICS_IEEE);
  CHECK(buffers.a == a.data());
  CHECK(buffers.b == b.data());
  CHECK(buffers.c == d.data());
  CHECK(buffers.d == d.data());
  CHECK(buffers.bias == bias.data());
  CHECK(buffers.scale_a == nullptr);
  CHECK(buffers.scale_b == &scale);
  CHECK(problem.scaling_a == TUNEDGEMM_SCALING_TENSOR);
  CHECK(problem.scaling_b == TUNEDGEMM_SCALING_ROW);
  CHECK(buffers.scale_stride_a == 0);
  CHECK(buffers.scale_stride_b == 7);
  CHECK(buffers.scale_k_stride_a == 0);
  CHECK(buffers.scale_k_stride_b == 9);
  CHECK(buffers.scale_batch_stride_a == 0);
  CHECK(buffers.scale_batch_stride_b == TUNEDGEMM_BROADCAST);
  CHECK(buffers.alpha == 3);
  CHECK(buffers.beta == 1);
  CHECK(buffers.slope == 0.5f);
  CHECK(buffers.workspace == nullptr);
}

TEST_CASE("Matrices are multiplied") {
  using tunedgemm::Matrix;
  const tunedgemm::Context context = linked_in_context();
  const std::vector<double> a{1, 2, 3, 4, 5, 6}, b{1, 1, 1, 10, 10, 10};
  const std::vector<double> c{-100, 100, 0, 0}, bias{7, -1000};
  std::vector<double> d(4, std::nan(""));
  const Matrix a_matrix(a.data(), 2, 3);
  const Matrix b_matrix(b.data(), 3, 2, {.order = TUNEDGEMM_ORDER_COLUMN_MAJOR});
  const Matrix d_matrix(d.data(), 2, 2);
  tunedgemm::tuned_matmul(context, a_matrix, b_matrix, d_matrix);
  CHECK(d == std::vector<double>{6, 60, 15, 150});
  tunedgemm::tuned_matmul(context, a_matrix, b_matrix, d_matrix,
                          {.c = Matrix(c.data(), 2, 2),
                           .bias_per_row = bias.data(),
                           .activation = TUNEDGEMM_ACTIVATION_RELU});
  CHECK(d == std::vector<double>{0, 167, 0, 0});
  // By a plan, in place.
  d = {1, 2, 3, 4};
  const auto [problem, buffers] =
      tunedgemm::call_of(a_matrix, b_matrix, d_matrix, {.c = d_matrix, .alpha = -1, .beta = 2});
  context.plan(problem, buffers).run(buffers);
  CHECK(d == std::vector<double>{-4, -56, -9, -142});
}

TEST_CASE("Matrices whose sizes do not fit are refused with their sizes") {
  using tunedgemm::Matrix;
  float* const none = nullptr;
  const Matrix a(none, 2, 3), b(none, 3, 4), d(none, 2, 4);
  using Options = tunedgemm::CallOptions<float>;
  const auto refusal = [&](const auto& right, const auto& result, const Options& options) {
    try {
      tunedgemm::call_of(a, right, result, options);
    } catch (const tunedgemm::Error& error) {
      CHECK(error.status() == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(b, d, {}).empty());
  CHECK(refusal(d, d, {}) ==
        "invalid argument: A is 2 x 3, B is 2 x 4 and D is 2 x 4; they must be M x K, K x N and "
        "M x N");
  CHECK_THAT(refusal(b, b, {}), ContainsSubstring("D is 3 x 4"));
  CHECK_THAT(refusal(b, a, {}), ContainsSubstring("D is 2 x 3"));
  CHECK(refusal(b, d, {.c = b}) ==
        "invalid argument: C is 3 x 4 and D is 2 x 4; they must be of one size");
  CHECK_THAT(refusal(b, d, {.c = a}), ContainsSubstring("C is 2 x 3"));
  const std::vector<float> bias(4);
  CHECK_THAT(refusal(b, d, {.bias_per_row = bias.data(), .bias_per_column = bias.data()}),
             ContainsSubstring("use one of them"));
  const tunedgemm::Context context = linked_in_context();
  CHECK_THROWS_WITH(tunedgemm::tuned_matmul(context, a, d, d), ContainsSubstring("B is 2 x 4"));
  CHECK_THROWS_WITH(tunedgemm::tuned_matmul(a, d, d), ContainsSubstring("B is 2 x 4"));
}

TEST_CASE("The elements of CUDA and of a program have their types") {
  using tunedgemm::Matrix, tunedgemm::Type, tunedgemm::type_of;
  static_assert(type_of<__half> == TUNEDGEMM_TYPE_F16);
  static_assert(type_of<__nv_bfloat16> == TUNEDGEMM_TYPE_BF16);
  static_assert(type_of<__nv_fp8_e4m3> == TUNEDGEMM_TYPE_E4M3);
  static_assert(type_of<__nv_fp8_e5m2> == TUNEDGEMM_TYPE_E5M2);
  static_assert(type_of<void> == Type{});
  const Matrix<const OwnHalf> input(nullptr, 1, 1);
  const Matrix<OwnHalf> output(nullptr, 1, 1);
  const tunedgemm::Problem problem = tunedgemm::call_of(input, input, output).problem;
  CHECK(problem.type_a == TUNEDGEMM_TYPE_F16);
  CHECK(problem.type_d == TUNEDGEMM_TYPE_F16);
}

TEST_CASE("A plan runs with matrices of its problem, and refuses others by their texts") {
  using tunedgemm::Matrix;
  const tunedgemm::Context context = linked_in_context();
  const std::vector<float> a(6, 2), b(12, 3), bias(4, 1);
  std::vector<float> d(8, std::nanf(""));
  const Matrix<const float> matrix_a(a.data(), 2, 3), matrix_b(b.data(), 3, 4);
  const Matrix<float> matrix_d(d.data(), 2, 4);
  const tunedgemm::Call call = tunedgemm::call_of(matrix_a, matrix_b, matrix_d);
  const tunedgemm::Plan plan = context.plan(call.problem, call.buffers);
  plan.run(matrix_a, matrix_b, matrix_d);
  CHECK(d == std::vector<float>(8, 18));

  // The same problem in other words.
  d.assign(8, std::nanf(""));
  plan.run(Matrix<const float>(a.data(), 2, 3, {.leading_dimension = 3}), matrix_b, matrix_d);
  CHECK(d == std::vector<float>(8, 18));

  d.assign(8, -1);
  const auto run = [&](const auto& other_b, const auto& options) {
    plan.run(matrix_a, other_b, matrix_d, options);
  };
  CHECK_THROWS_WITH(run(matrix_b, tunedgemm::CallOptions<float>{.bias_per_column = bias.data()}),
                    "invalid argument: the call's problem is types=f32 m=2 n=4 k=3 bias=col, but "
                    "the plan's is types=f32 m=2 n=4 k=3; make a plan for it");
  CHECK_THROWS_WITH(run(Matrix<const float>(b.data(), 3, 4, {TUNEDGEMM_ORDER_COLUMN_MAJOR}),
                        tunedgemm::CallOptions<float>()),
                    ContainsSubstring("layout=nt") && ContainsSubstring("but the plan's is"));
  CHECK_THROWS_WITH(
      plan.run(Matrix<const float>(a.data(), 1, 3), matrix_b, Matrix<float>(d.data(), 1, 4)),
      ContainsSubstring("m=1 n=4 k=3, but"));
  const std::vector<OwnHalf> halves(12);
  CHECK_THROWS_WITH(plan.run(Matrix(halves.data(), 2, 3), Matrix(halves.data(), 3, 4), matrix_d),
                    ContainsSubstring("f16"));
  CHECK_THROWS_AS(tunedgemm::Plan(nullptr).run(matrix_a, matrix_b, matrix_d), tunedgemm::Error);
  CHECK(d == std::vector<float>(8, -1));
}

TEST_CASE("Enumerators have names") {
  using tunedgemm::to_string;
  CHECK(to_string(TUNEDGEMM_PLAN_ORIGIN_NOTHING) == "nothing");
  CHECK(to_string(TUNEDGEMM_PLAN_ORIGIN_OTHER_M) == "other_m");
  CHECK(to_string(TUNEDGEMM_PLAN_ORIGIN_LINKED_IN) == "linked_in");
  CHECK(to_string(static_cast<tunedgemm::PlanOrigin>(99)) == "unknown");
  CHECK(to_string(static_cast<tunedgemm::PlanOrigin>(-1)) == "unknown");
  CHECK(to_string(TUNEDGEMM_TYPE_BF16) == "bf16");
  CHECK(to_string(TUNEDGEMM_ORDER_COLUMN_MAJOR) == "col");
  CHECK(to_string(TUNEDGEMM_ACTIVATION_GELU_TANH) == "gelu_tanh");
  CHECK(to_string(TUNEDGEMM_BIAS_PER_ROW) == "row");
  CHECK(to_string(TUNEDGEMM_NUMERICS_DEFAULT) == "default");
  CHECK(to_string(TUNEDGEMM_NUMERICS_TF32) == "tf32");
  CHECK(to_string(TUNEDGEMM_SCALING_BLOCK_1X128) == "block_1x128");
  CHECK(to_string(TUNEDGEMM_GROUP_KIND_K) == "k");
  CHECK(to_string(tunedgemm::Type{}) == "unknown");
  CHECK(to_string(TUNEDGEMM_STATUS_NOT_TUNED) == "not tuned");
}
