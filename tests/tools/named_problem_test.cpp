#include "tools/shared/named_problem.h"

#include "kernel_templates/problem/problem_fields.h"
#include "tests/support/catch.h"
#include "tools/shared/options.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

NamedProblem shape_of(std::vector<Field> fields) {
  for (const char* extent : {"m", "n", "k"}) {
    fields.push_back({extent, extent[0] == 'm' ? "96" : extent[0] == 'n' ? "80" : "64"});
  }
  return to_named_problem(fields);
}

std::string complaint(const std::vector<Field>& fields) {
  try {
    shape_of(fields);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("A shape without optional fields is the packed problem of its types") {
  REQUIRE(shape_of({{"types", "f16"}}).problem ==
          make_problem(96, 80, 64, DataType::kF16, DataType::kF16, DataType::kF16));
  REQUIRE(shape_of({{"types", "f16"}, {"layout", "tn"}}).problem ==
          make_problem(96, 80, 64, DataType::kF16, DataType::kF16, DataType::kF16, "tn"));
}

TEST_CASE("Types are parsed in every spelling that the library prints") {
  const auto types = [](const char* text) {
    return types_text(shape_of({{"types", text}}).problem);
  };
  REQUIRE(types("bf16") == "bf16→bf16");
  REQUIRE(types("f16->f32") == "f16→f32");
  REQUIRE(types("f16→f32") == "f16→f32");
  REQUIRE(types("i8") == "s8→s32");
  REQUIRE(types("s8") == "s8→s32");
  REQUIRE(shape_of({{"types", "e4m3"}}).problem.d.type == DataType::kF16);
  const Problem mixed = shape_of({{"types", "e4m3xe5m2->bf16"}}).problem;
  REQUIRE(mixed.a.type == DataType::kE4M3);
  REQUIRE(mixed.b.type == DataType::kE5M2);
  REQUIRE(mixed.d.type == DataType::kBF16);
  REQUIRE(shape_of({{"types", "e4m3×e5m2→bf16"}}).problem == mixed);
}

TEST_CASE("tf32 is f32 with numerics tf32, unless the numerics are given") {
  const Problem tf32 = shape_of({{"types", "tf32"}}).problem;
  REQUIRE(tf32.a.type == DataType::kF32);
  REQUIRE(tf32.numerics == Numerics::kTf32);
  const Problem emulated = shape_of({{"numerics", "emulated"}, {"types", "f32"}}).problem;
  REQUIRE(emulated.numerics == Numerics::kEmulated);
}

TEST_CASE("The fields of a shape set the problem") {
  const Problem problem = shape_of({{"types", "f32"},
                                    {"layout", "nt"},
                                    {"batch", "3"},
                                    {"activation", "gelu_erf"},
                                    {"bias", "col"},
                                    {"beta", "1"},
                                    {"c_is_d", "1"},
                                    {"lda", "70"},
                                    {"batch_stride_b", "0"}})
                              .problem;
  REQUIRE(problem.batch == 3);
  REQUIRE(problem.activation == Activation::kGeluErf);
  REQUIRE(problem.bias == Bias::kPerColumn);
  REQUIRE(problem.beta == ScalarClass::kOne);
  REQUIRE(problem.c_is_d);
  REQUIRE(problem.a.leading_dimension == 70);
  REQUIRE(problem.a.batch_stride == 70 * 96);
  REQUIRE(problem.a.alignment_bytes == 8);  // 70 floats are 280 bytes
  REQUIRE(problem.b.leading_dimension == 64);
  REQUIRE(problem.b.batch_stride == 0);
  REQUIRE(problem.d.batch_stride == 96 * 80);
}

TEST_CASE("The error for a wrong field names the field and the expected text") {
  REQUIRE_THAT(complaint({{"types", "f17"}}),
               ContainsSubstring("types is \"f17\"; expected f64, f32"));
  REQUIRE_THAT(complaint({{"types", "f32"}, {"layout", "nx"}}),
               ContainsSubstring("layout is \"nx\"; expected nn, nt, tn or tt"));
  REQUIRE_THAT(complaint({{"types", "f32"}, {"batch", "-1"}}),
               ContainsSubstring("batch is \"-1\"; expected a whole number"));
  REQUIRE_THAT(complaint({{"types", "f32"}, {"batch", "9223372036854775808"}}),
               ContainsSubstring("below 2^63"));
  REQUIRE_THAT(complaint({}), ContainsSubstring("the shape has no types"));
  REQUIRE_THAT(complaint({{"types", "f16->s32"}}), ContainsSubstring("s32"));
  REQUIRE_THAT(complaint({{"types", "f32"}, {"lda", "63"}}), ContainsSubstring("63"));
}

TEST_CASE("Extents that overflow the index arithmetic are refused") {
  const std::vector<Field> fields{
      {"types", "f32"}, {"m", "4611686018427387904"}, {"n", "4"}, {"k", "4"}};
  REQUIRE_THROWS_AS(to_named_problem(fields), std::invalid_argument);
  std::vector<Field> batched = fields;
  batched.push_back({"batch", "4"});
  REQUIRE_THROWS_AS(to_named_problem(batched), std::invalid_argument);
}

TEST_CASE("Headers are recognised in any case and by their aliases") {
  REQUIRE(field_name("M") == "m");
  REQUIRE(field_name("dtype") == "types");
  REQUIRE(field_name("Epilogue") == "activation");
  REQUIRE(field_name("colour").empty());
}

TEST_CASE("Every field of a problem that has a meaning is a field of shapes, parsed identically") {
  int shared = 0;
  for (const ProblemField& field : problem_fields()) {
    if (field.meaning.empty()) {
      continue;
    }
    ++shared;
    INFO(field.name);
    CHECK(field_name(field.name) == field.name);
    const std::string last(field.expected.substr(field.expected.rfind(' ') + 1));
    const std::vector<Field> fields{
        {"types", "e4m3"}, {"m", "8"}, {"n", "8"}, {"k", "8"}, {std::string(field.name), last}};
    const Problem problem = to_named_problem(fields).problem;
    CHECK(field.text(problem) == last);
    CHECK(to_text(problem) != to_text(to_named_problem(std::span(fields).first(4)).problem));
  }
  CHECK(shared >= 7);
}

TEST_CASE("The squares are 31 f16 shapes from 256 to 4096") {
  const auto shapes = square_shapes({}, kSquares);
  REQUIRE(shapes.size() == 31);
  for (std::size_t index = 0; index < shapes.size(); ++index) {
    const Problem& problem = shapes[index].problem;
    CAPTURE(index);
    REQUIRE(problem.m == 128 * (static_cast<std::int64_t>(index) + 2));
    REQUIRE(problem.n == problem.m);
    REQUIRE(problem.k == problem.m);
    REQUIRE(types_text(problem) == "f16→f16");
    REQUIRE(layout_text(problem) == "nn");
  }
}

TEST_CASE("A sweep keeps its other fields") {
  const std::vector<Field> fields{{"types", "e4m3"}, {"layout", "nt"}, {"beta", "other"}};
  const auto shapes = square_shapes(fields, "1536,2176");
  REQUIRE(shapes.size() == 2);
  REQUIRE(shapes[1].problem.m == 2176);
  REQUIRE(types_text(shapes[1].problem) == "e4m3→f16 fast");
  REQUIRE(layout_text(shapes[1].problem) == "nt");
  REQUIRE(shapes[1].problem.beta == ScalarClass::kOther);
}

TEST_CASE("A wrong sweep is refused") {
  REQUIRE_THROWS_WITH(square_shapes({}, "0"), ContainsSubstring("at least 1"));
  REQUIRE_THROWS_WITH(square_shapes({}, "256:4096"), ContainsSubstring("such as 128:4096:128"));
  REQUIRE_THROWS_WITH(square_shapes({{"types", "f17"}}, "8"), ContainsSubstring("f17"));
}

}  // namespace
}  // namespace tunedgemm::internal
