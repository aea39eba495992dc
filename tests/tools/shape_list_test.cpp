#include "tools/shared/shape_list.h"

#include <fstream>
#include <functional>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

// "line:column: sentence"
std::string complaint(const std::function<std::vector<Shape>(std::string_view)>& parse,
                      std::string_view text) {
  try {
    parse(text);
  } catch (const ShapeError& error) {
    return std::to_string(error.at().line) + ":" + std::to_string(error.at().column) + ": " +
           error.what();
  }
  return "no complaint";
}

TEST_CASE("A CSV list without a header has types, layout, m, n, k and perhaps batch") {
  const auto shapes = parse_csv_shapes("f16,nn,256,384,512\r\n\n# a remark\n bf16 , tn ,1,2,3,4\n");
  REQUIRE(shapes.size() == 2);
  REQUIRE(shapes[0].problem ==
          make_problem(256, 384, 512, DataType::kF16, DataType::kF16, DataType::kF16));
  REQUIRE(layout_text(shapes[1].problem) == "tn");
  REQUIRE(shapes[1].problem.batch == 4);
}

TEST_CASE("A CSV header names the columns, in any order") {
  const auto shapes = parse_csv_shapes(
      "name,K,N,M,dtype,bias\n"
      "\"up, gate\",64,128,256,f32,col\n"
      "\"say \"\"hi\"\"\",1,2,3,f64,\n");
  REQUIRE(shapes.size() == 2);
  REQUIRE(shapes[0].name == "up, gate");
  REQUIRE(shapes[0].problem.m == 256);
  REQUIRE(shapes[0].problem.bias == Bias::kPerColumn);
  REQUIRE(shapes[1].name == "say \"hi\"");
  REQUIRE(shapes[1].problem.bias == Bias::kNone);
}

TEST_CASE("What is wrong in a CSV list is told with line and column") {
  REQUIRE_THAT(complaint(parse_csv_shapes, "f16,nn,1,2,3\nf16,nn,1,two,3\n"),
               ContainsSubstring("2:10: n is \"two\"; expected a whole number"));
  REQUIRE_THAT(complaint(parse_csv_shapes, "f16,nn,1,2,3,1,9\n"),
               ContainsSubstring("1:16: the line has 7 cells"));
  REQUIRE_THAT(
      complaint(parse_csv_shapes, "types,m,n,k,colour\n"),
      ContainsSubstring("1:13: the header has a column \"colour\"; expected one of types"));
  REQUIRE_THAT(complaint(parse_csv_shapes, "types,m,m,k\n"), ContainsSubstring("1:9: "));
  REQUIRE_THAT(complaint(parse_csv_shapes, "\n\nf32,nn,5,5\n"),
               ContainsSubstring("3:1: the shape has no k"));
  REQUIRE_THAT(complaint(parse_csv_shapes, "types,m,n,k,name\nf32,1,2,3,\"open\n"),
               ContainsSubstring("2:11: the quote that begins here does not end"));
  REQUIRE_THAT(complaint(parse_csv_shapes, "f32,nn,0,5,5\n"), ContainsSubstring("1:8: m is \"0\""));
}

TEST_CASE("A JSON list is an array of objects") {
  const auto shapes = parse_json_shapes(R"([
    {"types": "f16", "m": 256, "n": 384, "k": 512, "name": "a \"b\": {c}"},
    {"types": "f32", "M": "8", "n": 8, "k": 8, "c_is_d": true, "beta": "one"}
  ])");
  REQUIRE(shapes.size() == 2);
  REQUIRE(shapes[0].name == "a \"b\": {c}");
  REQUIRE(shapes[0].problem.n == 384);
  REQUIRE(shapes[1].problem.c_is_d);
}

TEST_CASE("What is wrong in a JSON list is told with line and column") {
  REQUIRE_THAT(complaint(parse_json_shapes, "[\n {\"types\": \"f16\", \"m\": 1.5}\n]"),
               ContainsSubstring("2:24: m is \"1.5\"; expected a whole number"));
  REQUIRE_THAT(complaint(parse_json_shapes, "[\n {\"types\": \"f16\"},\n  7]"),
               ContainsSubstring("2:2: the shape has no m"));
  REQUIRE_THAT(complaint(parse_json_shapes, "[{\"types\":\"f16\",\"m\":1,\"n\":1,\"k\":1},\n  7]"),
               ContainsSubstring("2:3: entry 2 is 7; expected an array of objects"));
  REQUIRE_THAT(complaint(parse_json_shapes, "[{\"m\": 1,\n  \"m\": 2}]"),
               ContainsSubstring("1:2: a member of this object comes twice"));
  REQUIRE_THAT(complaint(parse_json_shapes, "[{\"m\": [1]}]"), ContainsSubstring("1:8: "));
  REQUIRE_THAT(complaint(parse_json_shapes, "[\n{\"m\" 1}]"),
               ContainsSubstring("2:6: this is not"));
  REQUIRE_THAT(complaint(parse_json_shapes, "{}"), ContainsSubstring("of type object"));
  REQUIRE_THAT(complaint(parse_json_shapes, ""), ContainsSubstring("1:1: this is not JSON"));
  REQUIRE_THAT(complaint(parse_json_shapes, "[{\"colour\": 1}]"),
               ContainsSubstring("\"colour\" is not a field of a shape"));
}

TEST_CASE("JSON that is nested without end is refused where it is too deep") {
  constexpr std::size_t kDepth = 1'000'000;
  for (const std::string& text :
       {std::string(kDepth, '['), std::string(kDepth, '[') + std::string(kDepth, ']'),
        "[{\"a\":" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}]"}) {
    REQUIRE_THROWS_WITH(parse_json_shapes(text),
                        ContainsSubstring("what begins here lies more than 16 deep"));
  }
  std::string objects;
  for (std::size_t depth = 0; depth < kDepth; ++depth) {
    objects += "{\"a\":";
  }
  REQUIRE_THROWS_WITH(parse_json_shapes("[" + objects), ContainsSubstring("more than 16 deep"));
  REQUIRE_THROWS_WITH(parse_json_shapes("[[[[[[]]]]]]"),
                      ContainsSubstring("entry 1 is [[[[[]]]]]"));
  REQUIRE_THROWS_WITH(parse_json_shapes("[\"" + std::string(kDepth, '[') + "\"]"),
                      ContainsSubstring("..."));
  REQUIRE_THROWS_WITH(parse_json_shapes("[\"["), ContainsSubstring("this is not JSON"));
  REQUIRE_THROWS_AS(parse_json_shapes("[{\"m\":1e999}]"), ShapeError);
  REQUIRE_THROWS_WITH(parse_json_shapes("[{\"m\":1e999}]"), ContainsSubstring("1e999"));
}

TEST_CASE("A name with a bracket or a quote does not displace the columns that are told") {
  try {
    parse_json_shapes("[\n{\"name\":\"a\\\",{:[\",\"types\":\"f16\",\"m\":1,\"n\":2,\"k\":\"x\"}]");
    FAIL("it was understood");
  } catch (const ShapeError& error) {
    CHECK(error.at().line == 2);
    CHECK(error.at().column == 49);
  }
}

TEST_CASE("A long JSON list is read in one go") {
  std::string text = "[";
  for (int index = 0; index < 20'000; ++index) {
    text += std::string(index == 0 ? "" : ",") +
            "\n{\"types\":\"f16\",\"m\":1,\"n\":2,\"k\":" + std::to_string(index) + "}";
  }
  CHECK(parse_json_shapes(text + "]").size() == 20'000);
}

TEST_CASE("What a list has in it is shown escaped") {
  const auto complaint = [](auto parse, const char* text) {
    try {
      parse(text);
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(complaint(parse_csv_shapes, "f16,nn,1,2,\x1b[31m\xff\n"),
             ContainsSubstring("k is \"\\u001b[31m\\xff\""));
  CHECK_THAT(complaint(parse_json_shapes, "[{\"\\u001b\\n\":1}]"),
             ContainsSubstring("\"\\u001b\\u000a\" is not a field"));
  const Shape named = parse_csv_shapes("name,types,m,n,k\n\x1b[2Jlayer,f16,1,2,3\n").front();
  CHECK(shape_text(named) == "\\u001b[2Jlayer");
}

TEST_CASE("The shipped lists are well formed and repeat nothing") {
  for (const char* list : {"layers.csv", "layers_gpu.csv", "rigors.csv"}) {
    CAPTURE(list);
    std::set<std::string> seen;
    for (const Shape& shape : read_shape_list(std::filesystem::path(TUNEDGEMM_SHAPES) / list)) {
      CAPTURE(shape.name);
      REQUIRE_FALSE(shape.name.empty());
      REQUIRE(seen.insert(fingerprint(shape.problem)).second);
    }
  }
}

TEST_CASE("A list file's complaint begins with its path") {
  const TemporaryFolder folder;
  const auto csv = folder.path() / "shapes.csv";
  std::ofstream(csv) << "f16,nn,1,2,x\n";
  REQUIRE_THROWS_WITH(read_shape_list(csv), ContainsSubstring("shapes.csv:1:12: k is \"x\""));
  const auto json = folder.path() / "shapes.json";
  std::ofstream(json) << "[]";
  REQUIRE_THROWS_WITH(read_shape_list(json), ContainsSubstring("has no shapes in it"));
  REQUIRE_THROWS_WITH(read_shape_list(folder.path() / "absent.csv"),
                      ContainsSubstring("cannot be read: No such file"));
  REQUIRE_THROWS_WITH(read_shape_list(folder.path()), ContainsSubstring("cannot be read"));
  REQUIRE_THROWS_WITH(read_shape_list("/dev/zero"), ContainsSubstring("/dev/zero has more than"));
}

}  // namespace
}  // namespace tunedgemm::internal
