// tunedgemm.hpp, on the host.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <regex>
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
inline constexpr tunedgemm::Type tunedgemm::type_of<OwnHalf> = tunedgemm::Type::kF16;

namespace {

std::string public_header(const std::string& name) {
  std::ifstream file(TUNEDGEMM_SOURCE_FOLDER "/runtime/include/tunedgemm/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Compiles nothing.
tunedgemm::Context linked_in_context() {
  return tunedgemm::Context({.backend = tunedgemm::Backend::kHost,
                             .host_threads = 1,
                             .cache_path = "",
                             .policy = tunedgemm::Policy::kStored});
}

// "OTHER_M" and "kOtherM" have the same letters.
std::string letters(std::string name) {
  std::erase(name, '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

}  // namespace

TEST_CASE("A call that does not throw returns the failure that the other call throws") {
  const tunedgemm::Context context = linked_in_context();
  const tunedgemm::Problem problem{.m = -4, .n = 5, .k = 6};
  const tunedgemm::Result<> failure = tunedgemm::try_matmul(context, problem, {});
  CHECK_FALSE(failure);
  CHECK(failure.status() == tunedgemm::Status::kInvalidArgument);
  CHECK_THAT(failure.message(), ContainsSubstring("M is -4"));
  CHECK_FALSE(context.try_plan({.m = 4, .n = 5, .k = -6}, {}));
  CHECK_THAT(failure.message(), ContainsSubstring("M is -4"));  // not the later call's
  try {
    tunedgemm::tuned_matmul(context, problem, {});
    FAIL("the call succeeded");
  } catch (const tunedgemm::Error& error) {
    CHECK(error.status() == tunedgemm::Status::kInvalidArgument);
    CHECK(error.what() == "invalid argument: " + failure.message());
  }
}

TEST_CASE("A result has a value or a failure") {
  using tunedgemm::Context, tunedgemm::Result, tunedgemm::Status;
  CHECK(Result<>());
  CHECK(Result<>().status() == Status::kOk);
  CHECK(Result<>(TUNEDGEMM_STATUS_OK).message().empty());
  Result<Context> context = Context::try_create(
      {.backend = tunedgemm::Backend::kHost, .cache_path = "", .policy = tunedgemm::Policy::kFail});
  REQUIRE(context);
  CHECK(context.message().empty());
  CHECK(context->try_plan({.m = 4, .n = 5, .k = 6}, {}).status() == Status::kNotTuned);
  const Context moved = std::move(context).value();
  CHECK(moved.get() != nullptr);
  Result<Context> failure = Context::try_create({.host_threads = -1});
  CHECK_FALSE(failure);
  CHECK_THROWS_WITH(std::move(failure).value(), ContainsSubstring("host_threads"));
  static_assert(noexcept(Context::try_create()));
  static_assert(noexcept(tunedgemm::try_matmul({}, {})));
}

TEST_CASE("Matrices tell the problem and the buffers") {
  using tunedgemm::Matrix, tunedgemm::Order, tunedgemm::Type;
  const std::vector<std::int8_t> a(100), b(100);
  std::vector<std::int32_t> d(100), bias(3);
  const float scale = 2;
  const Matrix d_matrix(d.data(), 2, 3,
                        {.order = Order::kColumnMajor, .leading_dimension = 4, .batch_stride = 13});
  const auto [problem, buffers] = tunedgemm::product(
      Matrix(a.data(), 2, 5, {.leading_dimension = 6}),
      Matrix(b.data(), 5, 3, {.order = Order::kColumnMajor, .batch_stride = tunedgemm::kBroadcast}),
      d_matrix,
      {.c = d_matrix,
       .alpha = 3,
       .bias_per_column = bias.data(),
       .activation = tunedgemm::Activation::kLeakyRelu,
       .slope = 0.5f,
       .scale_b = &scale,
       .numerics = tunedgemm::Numerics::kIeee,
       .batch = 2});
  CHECK(std::vector{problem.m, problem.n, problem.k, problem.batch} ==
        std::vector<std::int64_t>{2, 3, 5, 2});
  CHECK(std::vector{problem.type_a, problem.type_b, problem.type_d} ==
        std::vector{Type::kS8, Type::kS8, Type::kS32});
  CHECK(
      std::vector{problem.order_a, problem.order_b, problem.order_c, problem.order_d} ==
      std::vector{Order::kRowMajor, Order::kColumnMajor, Order::kColumnMajor, Order::kColumnMajor});
  CHECK(std::vector{problem.lda, problem.ldb, problem.ldc, problem.ldd} ==
        std::vector<std::int64_t>{6, 0, 4, 4});
  CHECK(std::vector{problem.batch_stride_a, problem.batch_stride_b, problem.batch_stride_c,
                    problem.batch_stride_d} == std::vector<std::int64_t>{0, -1, 13, 13});
  CHECK(problem.activation == tunedgemm::Activation::kLeakyRelu);
  CHECK(problem.bias == tunedgemm::Bias::kPerColumn);
  CHECK(problem.numerics == tunedgemm::Numerics::kIeee);
  CHECK(buffers.a == a.data());
  CHECK(buffers.b == b.data());
  CHECK(buffers.c == d.data());
  CHECK(buffers.d == d.data());
  CHECK(buffers.bias == bias.data());
  CHECK(buffers.scale_a == nullptr);
  CHECK(buffers.scale_b == &scale);
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
  const Matrix b_matrix(b.data(), 3, 2, {.order = tunedgemm::Order::kColumnMajor});
  const Matrix d_matrix(d.data(), 2, 2);
  tunedgemm::tuned_matmul(context, a_matrix, b_matrix, d_matrix);
  CHECK(d == std::vector<double>{6, 60, 15, 150});
  tunedgemm::tuned_matmul(context, a_matrix, b_matrix, d_matrix,
                          {.c = Matrix(c.data(), 2, 2),
                           .bias_per_row = bias.data(),
                           .activation = tunedgemm::Activation::kRelu});
  CHECK(d == std::vector<double>{0, 167, 0, 0});
  // By a plan, in place.
  d = {1, 2, 3, 4};
  const auto [problem, buffers] =
      tunedgemm::product(a_matrix, b_matrix, d_matrix, {.c = d_matrix, .alpha = -1, .beta = 2});
  context.plan(problem, buffers).run(buffers);
  CHECK(d == std::vector<double>{-4, -56, -9, -142});
}

TEST_CASE("Matrices whose sizes do not fit are refused with their sizes") {
  using tunedgemm::Matrix;
  float* const none = nullptr;
  const auto refusal = [](const auto& result) {
    CHECK(result.status() == tunedgemm::Status::kInvalidArgument);
    return result.message();
  };
  const Matrix a(none, 2, 3), b(none, 3, 4), d(none, 2, 4);
  CHECK(tunedgemm::try_product(a, b, d));
  CHECK(refusal(tunedgemm::try_product(a, d, d)) ==
        "A is 2 x 3, B is 2 x 4 and D is 2 x 4; they must be M x K, K x N and M x N");
  CHECK_THAT(refusal(tunedgemm::try_product(a, b, b)), ContainsSubstring("D is 3 x 4"));
  CHECK_THAT(refusal(tunedgemm::try_product(a, b, a)), ContainsSubstring("D is 2 x 3"));
  CHECK(refusal(tunedgemm::try_product(a, b, d, {.c = b})) ==
        "C is 3 x 4 and D is 2 x 4; they must be of one size");
  CHECK_THAT(refusal(tunedgemm::try_product(a, b, d, {.c = a})), ContainsSubstring("C is 2 x 3"));
  const std::vector<float> bias(4);
  CHECK_THAT(refusal(tunedgemm::try_product(
                 a, b, d, {.bias_per_row = bias.data(), .bias_per_column = bias.data()})),
             ContainsSubstring("use one of them"));
  const tunedgemm::Context context = linked_in_context();
  CHECK_THAT(refusal(tunedgemm::try_matmul(context, a, d, d)), ContainsSubstring("B is 2 x 4"));
  CHECK_THROWS_WITH(tunedgemm::tuned_matmul(context, a, d, d), ContainsSubstring("B is 2 x 4"));
  CHECK_THROWS_WITH(tunedgemm::tuned_matmul(a, d, d), ContainsSubstring("B is 2 x 4"));
  CHECK_THROWS_AS(tunedgemm::product(a, b, b), tunedgemm::Error);
}

TEST_CASE("The elements of CUDA and of a program have their types") {
  using tunedgemm::Matrix, tunedgemm::Type, tunedgemm::type_of;
  static_assert(type_of<__half> == Type::kF16);
  static_assert(type_of<__nv_bfloat16> == Type::kBF16);
  static_assert(type_of<__nv_fp8_e4m3> == Type::kE4M3);
  static_assert(type_of<__nv_fp8_e5m2> == Type::kE5M2);
  static_assert(type_of<void> == Type{});
  const Matrix<const OwnHalf> input(nullptr, 1, 1);
  const Matrix<OwnHalf> output(nullptr, 1, 1);
  const tunedgemm::Problem problem = tunedgemm::product(input, input, output).problem;
  CHECK(problem.type_a == Type::kF16);
  CHECK(problem.type_d == Type::kF16);
}

TEST_CASE("The C++ header has each enumerator of the C header, under the same name") {
  const std::string c = public_header("tunedgemm.h"), cpp = public_header("tunedgemm.hpp");
  const std::regex enumerator("  (TUNEDGEMM_[A-Z0-9]+_([A-Z0-9_]+)) = -?[0-9]");
  int count = 0;
  for (std::sregex_iterator found(c.begin(), c.end(), enumerator), end; found != end; ++found) {
    const std::string value = (*found)[1], name = (*found)[2];
    if (value.starts_with("TUNEDGEMM_LOG_")) {
      continue;  // tunedgemm_set_log() has no counterpart in C++
    }
    ++count;
    INFO(value);
    std::smatch counterpart;
    REQUIRE(std::regex_search(cpp, counterpart, std::regex("  k(\\w+) = " + value + ",")));
    CHECK(letters(counterpart[1]) == letters(name));
  }
  CHECK(count >= 50);
}
