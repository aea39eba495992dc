// Lists of shapes, as CSV and as JSON.

#include <fstream>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"
#include "tools/shared/shape.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("A CSV list without a header has types, layout, m, n, k and optionally batch") {
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

TEST_CASE("An error in a CSV list names its line") {
  const auto [text, sentence] = GENERATE(table<const char*, const char*>({
      {"f16,nn,1,2,3\nf16,nn,1,two,3\n", "line 2: n is \"two\"; expected a whole number"},
      {"f16,nn,1,2,3,1,9\n", "line 1: the line has 7 cells; expected at most 6"},
      {"types,layot,m,n,k\n",
       "line 1: the header has a column \"layot\"; did you mean \"layout\"?"},
      {"f32;nn;1;2;3\n",
       "line 1: there is no comma in \"f32;nn;1;2;3\"; separate the columns by commas"},
      {"f32\tnn\t1\t2\t3\n", "separate the columns by commas"},
      {"types,m,n,k,colour\n", "line 1: the header has a column \"colour\"; expected one of types"},
      {"types,m,m,k\n", "line 1: the header has the column \"m\" twice"},
      {"\n\nf32,nn,5,5\n", "line 3: the shape has no k"},
      {"types,m,n,k,name\nf32,1,2,3,\"open\n", "line 2: a quote is not closed"},
      {"f32,nn,0,5,5\n", "line 1: m is \"0\""},
  }));
  REQUIRE_THROWS_WITH(parse_csv_shapes(text), ContainsSubstring(sentence));
}

TEST_CASE("The lists that PyTorch's TunableOp writes are lists of shapes") {
  const auto shapes = parse_csv_shapes(
      "Validator,PT_VERSION,2.11.0\n"
      "GemmTunableOp_BFloat16_TN,tn_4096_16_14336_ld_14336_14336_4096\n"
      "GemmAndBiasTunableOp_Half_NT,nt_8_24_40_ld_8_32_8,Default,0.02\n"
      "GemmStridedBatchedTunableOp_float_NN,nn_8_24_40_B_3_ld_8_40_8\n"
      "GemmTunableOp_double_TT,tt_8_24_40_ld_40_24_8\n"
      "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e5m2_BFloat16_TN,"
      "tn_64_16_32_ld_32_32_64_rw_0_bias_BFloat16\n");
  REQUIRE(shapes.size() == 5);
  // y = x W^T with 16 rows of x: W is stored with one row per output.
  REQUIRE(shapes[0].problem ==
          make_problem(16, 4096, 14336, DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt"));
  REQUIRE(shapes[1].problem.bias == Bias::kPerColumn);
  REQUIRE(layout_text(shapes[1].problem) == "tn");
  REQUIRE(shapes[1].problem.a.leading_dimension == 32);
  REQUIRE(shapes[2].problem.batch == 3);
  REQUIRE(shapes[2].problem.a.batch_stride == 24 * 40);
  REQUIRE(layout_text(shapes[3].problem) == "tt");
  REQUIRE(shapes[4].problem.a.type == DataType::kE5M2);
  REQUIRE(shapes[4].problem.b.type == DataType::kE4M3);
  REQUIRE(shapes[4].problem.d.type == DataType::kBF16);
  REQUIRE(shapes[4].problem.bias == Bias::kPerColumn);
}

TEST_CASE("An error in a line of TunableOp names the wrong text") {
  const auto [text, sentence] = GENERATE(table<const char*, const char*>({
      {"GemmTunableOp_c10::complex<float>_NN,nn_1_2_3_ld_1_3_1", "line 1: the element type"},
      {"GemmTunableOp_Half_NN,nn_1_2", "\"nn_1_2\" ends too early"},
      {"GemmTunableOp_Half_NN,nn_1_2_3_dl_1_3_1", "has \"dl\"; expected \"ld\""},
      {"GemmTunableOp_Half_NN,n_1_2_3_ld_1_3_1", "begins with \"n\"; expected nn"},
      {"GemmTunableOp_Half_CN,cn_1_2_3_ld_1_3_1", "begins with \"cn\"; expected nn"},
      {"GemmTunableOp_Half_NN,nn_x_2_3_ld_1_3_1", "n is \"x\""},
      {"GemmTunableOp_Half_NN,nn_8_2_3_ld_4_3_8", "leading dimension"},
      {"ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_Half_TN,"
       "tn_64_16_32_ld_32_32_64_rw_1_bias_None",
       "scales for each row are not supported"},
  }));
  CAPTURE(text);
  REQUIRE_THROWS_WITH(parse_csv_shapes(text), ContainsSubstring(sentence));
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

TEST_CASE("An error in a JSON list names its entry") {
  const std::string deep(1'000'000, '[');
  const auto [text, sentence] = GENERATE_COPY(table<std::string, const char*>({
      {R"([{"types": "f16", "m": 1.5}])", "entry 1: m is \"1.5\"; expected a whole number"},
      {R"([{"types": "f16"}, 7])", "entry 1: the shape has no m"},
      {R"([{"types": "f16", "m": 1, "n": 1, "k": 1}, 7])", "entry 2: it is of type number"},
      {R"([{"m": [1]}])", "entry 1: m is of type array; expected a string, a number"},
      {R"([{"colour": 1}])", "\"colour\" is not a field of a shape"},
      {"{}", "the document is of type object; expected an array"},
      {"", "not valid JSON"},
      {"[\n{\"m\" 1}]", "line 2, column 6"},
      {R"([{"m": 1e999}])", "1e999"},
      {deep, "not valid JSON"},
      {deep + std::string(deep.size(), ']'), "entry 1: it is of type array"},
  }));
  REQUIRE_THROWS_WITH(parse_json_shapes(text), ContainsSubstring(sentence));
}

TEST_CASE("The shipped lists are well formed and have no duplicates") {
  const std::string list = GENERATE("layers.csv", "layers_gpu.csv", "rigors.csv");
  std::set<std::string> seen;
  for (const Shape& shape : read_shape_list(TUNEDGEMM_SHAPES "/" + list)) {
    CAPTURE(list, shape.name);
    REQUIRE_FALSE(shape.name.empty());
    REQUIRE(seen.insert(fingerprint(shape.problem)).second);
  }
}

TEST_CASE("An error in a list file begins with its path") {
  const TemporaryFolder folder;
  const std::string csv = folder.path() / "shapes.csv", json = folder.path() / "shapes.json";
  std::ofstream(csv) << "f16,nn,1,2,x\n";
  REQUIRE_THROWS_WITH(read_shape_list(csv), ContainsSubstring("shapes.csv: line 1: k is \"x\""));
  std::ofstream(json) << "[]";
  REQUIRE_THROWS_WITH(read_shape_list(json), ContainsSubstring("the shape list is empty"));
  REQUIRE_THROWS_WITH(read_shape_list(folder.path() / "absent.csv"),
                      ContainsSubstring("absent.csv cannot be read: No such file"));
  REQUIRE_THROWS_WITH(read_shape_list(folder.path()),
                      ContainsSubstring("cannot be read: Is a directory"));
}

}  // namespace
}  // namespace tunedgemm::internal
