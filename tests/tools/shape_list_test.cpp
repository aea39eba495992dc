// Lists of shapes, as CSV and as JSON.

#include <fstream>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"
#include "tools/shared/shape_list.h"

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
      "tn_64_16_32_ld_32_32_64_rw_0_bias_BFloat16\n"
      "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_Half_TN,"
      "tn_64_16_32_ld_32_32_64_rw_1_bias_None\n");
  REQUIRE(shapes.size() == 6);
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
  REQUIRE(shapes[4].problem.scaling_b == Scaling::kTensor);
  REQUIRE(shapes[5].problem.scaling_a == Scaling::kRow);
  REQUIRE(shapes[5].problem.scaling_b == Scaling::kRow);
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
  }));
  CAPTURE(text);
  REQUIRE_THROWS_WITH(parse_csv_shapes(text), ContainsSubstring(sentence));
}

TEST_CASE("TunableOp's types of f32 tell the numerics") {
  const auto shapes = parse_csv_shapes(
      "GemmTunableOp_tf32_TN,tn_32_16_24_ld_24_24_32\n"
      "GemmAndBiasTunableOp_tf32_TN,tn_32_16_24_ld_24_24_32\n"
      "GemmTunableOp_bfx9_NN,nn_32_16_24_ld_32_24_32_compute_bf16x9_r\n"
      "GemmTunableOp_float_NN,nn_32_16_24_ld_32_24_32\n");
  REQUIRE(shapes.size() == 4);
  REQUIRE(shapes[0].problem.a.type == DataType::kF32);
  REQUIRE(shapes[0].problem.numerics == Numerics::kTf32);
  REQUIRE(shapes[1].problem.numerics == Numerics::kTf32);
  REQUIRE(shapes[1].problem.bias == Bias::kPerColumn);
  REQUIRE(shapes[2].problem.numerics == Numerics::kEmulated);
  REQUIRE(shapes[3].problem.numerics == Numerics::kIeee);
}

TEST_CASE("TunableOp's lines of older versions have packed matrices") {
  const auto shapes = parse_csv_shapes(
      "Validator,PT_VERSION,2.4.0\n"
      "GemmTunableOp_Half_TN,tn_32_16_24,Gemm_Hipblaslt_TN_1,0.18\n"
      "GemmStridedBatchedTunableOp_Half_NT,nt_8_24_40_B_3,Default,inf\n"
      "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_Half_TN,tn_64_16_32_rw_0,Default,0.1\n");
  REQUIRE(shapes.size() == 3);
  REQUIRE(shapes[0].problem ==
          make_problem(16, 32, 24, DataType::kF16, DataType::kF16, DataType::kF16, "nt"));
  REQUIRE(shapes[1].problem.batch == 3);
  REQUIRE(shapes[1].problem.d.batch_stride == 24 * 8);
  REQUIRE(shapes[2].problem.bias == Bias::kNone);
}

TEST_CASE("TunableOp's scaled products on NVIDIA GPUs tell numerics and bias") {
  const std::string start =
      "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e5m2_BFloat16_TN,"
      "tn_64_16_32_ld_32_32_64_a_Float8_e4m3fn_b_Float8_e5m2_c_BFloat16_";
  const auto shapes =
      parse_csv_shapes(start + "as_Float_bs_Float_ast_0_bst_0_dscale_0_fast_1_bias_None\n" + start +
                       "as_Float_bs_Float_ast_0_bst_0_dscale_0_fast_0_bias_BFloat16\n" + start +
                       "as_Float_bs_Float_ast_1_bst_0_dscale_0_fast_0_bias_None");
  REQUIRE(shapes.size() == 3);
  REQUIRE(shapes[0].problem.a.type == DataType::kE5M2);
  REQUIRE(shapes[0].problem.numerics == Numerics::kFast);
  REQUIRE(shapes[0].problem.bias == Bias::kNone);
  REQUIRE(shapes[1].problem.numerics == Numerics::kPromoted);
  REQUIRE(shapes[1].problem.bias == Bias::kPerColumn);
  REQUIRE(shapes[2].problem.scaling_a == Scaling::kTensor);  // BLAS's A is our B
  REQUIRE(shapes[2].problem.scaling_b == Scaling::kRow);
  const auto [end, sentence] = GENERATE(table<const char*, const char*>({
      {"as_Float_bs_Float_ast_4_bst_4_dscale_0_fast_0_bias_None", "scales for each block"},
      {"as_Float8_e8m0fnu_bs_Float8_e8m0fnu_ast_0_bst_0_dscale_0_fast_0_bias_None",
       "scales that are not of type float"},
      {"as_Float_bs_Float_ast_0_bst_0_dscale_1_fast_0_bias_None", "a scale of the result"},
  }));
  REQUIRE_THROWS_WITH(parse_csv_shapes(start + end), ContainsSubstring(sentence));
}

TEST_CASE("A batch within TunableOp's leading dimension lies side by side") {
  // Q K^T and P V of 3 heads of 16 columns: rows of Q, K and V lie 96 elements apart.
  const auto shapes = parse_csv_shapes(
      "GemmStridedBatchedTunableOp_float_TN,tn_12_12_16_B_3_ld_96_96_12\n"
      "GemmStridedBatchedTunableOp_float_NN,nn_16_12_12_B_3_ld_96_12_48\n"
      "GemmStridedBatchedTunableOp_float_NN,nn_16_12_12_B_3_ld_20_12_16\n");
  REQUIRE(shapes[0].problem.a.batch_stride == 16);
  REQUIRE(shapes[0].problem.b.batch_stride == 16);
  REQUIRE(shapes[0].problem.d.batch_stride == 144);
  REQUIRE(shapes[1].problem.a.batch_stride == 144);
  REQUIRE(shapes[1].problem.b.batch_stride == 16);
  REQUIRE(shapes[1].problem.d.leading_dimension == 48);
  REQUIRE(shapes[1].problem.d.batch_stride == 16);
  REQUIRE(shapes[2].problem.b.batch_stride == 20 * 12);
}

TEST_CASE("Lines that cannot be computed are skipped, unless all are") {
  const std::string complex = "GemmTunableOp_c10::complex<float>_NN,nn_1_2_3_ld_1_3_1\n";
  REQUIRE(parse_csv_shapes(complex + "GemmTunableOp_Half_NN,nn_1_2_3_ld_1_3_1\n").size() == 1);
  REQUIRE(parse_csv_shapes("types,m,n,k,numerics\nf16,8,8,8,tf32\nf16,8,8,8,\n").size() == 1);
  REQUIRE(parse_csv_shapes("f16->s32,nn,8,8,8\nf16,nn,8,8,8\n").size() == 1);
  REQUIRE(parse_json_shapes(R"([{"types": "f16", "m": 8, "n": 8, "k": 8, "numerics": "tf32"},
                                {"types": "f16", "m": 8, "n": 8, "k": 8}])")
              .size() == 1);
  REQUIRE_THROWS_WITH(
      parse_csv_shapes(complex + complex + "GemmTunableOp_Float8_e4m3fnuz_NN,nn_1_2_3\n"),
      ContainsSubstring("line 1: the element type c10::complex<float> is not supported; nothing is "
                        "left: 3 lines skipped, which cannot be computed: the element type "
                        "Float8_e4m3fnuz is not supported (1 line); the element type "
                        "c10::complex<float> is not supported (2 lines)"));
  // A malformed line is an error, even beside lines that are skipped.
  REQUIRE_THROWS_WITH(parse_csv_shapes("f61,nn,8,8,8\nf16,nn,8,8,8\n"), ContainsSubstring("f61"));
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
      {R"([{"types": "f16", "dtype": "f32", "m": 1, "n": 1, "k": 1}])", "types is given twice"},
      {"{}", "the document is of type object; expected an array"},
      {"", "not valid JSON"},
      {"[\n{\"m\" 1}]", "line 2, column 6"},
      {R"([{"m": 1e999}])", "1e999"},
      {deep, "not valid JSON"},
      {deep + std::string(deep.size(), ']'), "entry 1: it is of type array"},
  }));
  REQUIRE_THROWS_WITH(parse_json_shapes(text), ContainsSubstring(sentence));
}

// The products of a list, without M, as texts.
std::set<std::string> products_of(const std::string& list) {
  std::set<std::string> products;
  read_list(list, [&](const std::vector<Field>& fields) {
    std::string text;
    for (const char* const name : {"types", "layout", "n", "k", "parallel", "kv_heads"}) {
      text += value_of(fields, name) + " ";
    }
    const std::string bias = value_of(fields, "bias");
    products.insert(text + (bias.empty() ? "none" : bias));
  });
  return products;
}

TEST_CASE("A model's config and its built-in list have the same layers") {
  const auto [list, config] = GENERATE(table<const char*, const char*>({
      {"llama-3-8b",
       R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 4096,
           "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
           "vocab_size": 128256, "attention_bias": false})"},
      {"qwen2.5-7b",
       R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
           "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064})"},
      {"gemma-2-9b",
       R"({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "head_dim": 256,
           "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 256000})"},
      {"phi-3-mini",
       R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
           "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064})"},
      {"gpt-2",
       R"({"model_type": "gpt2", "torch_dtype": "float16", "n_embd": 768, "n_head": 12,
           "n_inner": null, "vocab_size": 50257})"},
  }));
  CAPTURE(list);
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "config.json").string();
  std::ofstream(path) << config;
  std::set<std::string> products = products_of(path);
  // On one device, query has the shape of attention output, which the list has.
  if (std::string(list) == "llama-3-8b") {
    REQUIRE(products.erase("bf16 nt 4096 4096 column  none") == 1);
  }
  REQUIRE(products == products_of(list));
}

TEST_CASE("A config that has not all of a known model's layers is an error") {
  const auto [config, sentence] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "mamba2"})", "of type \"mamba2\" are not known; known are llama"},
      {R"({"model_type": 3})", "of type \"\" are not known"},
      {R"({"model_type": "llama"})", "the config has no hidden_size"},
      {R"({"model_type": "llama", "hidden_size": 0})", "hidden_size is 0; expected a number"},
      {R"({"model_type": "gpt2", "n_embd": 9223372036854775807})",
       "n_embd is 9223372036854775807; expected a number from 1 to 1073741824"},
      {R"({"model_type": "bert", "hidden_size": 768, "num_attention_heads": "12"})",
       "num_attention_heads is \"12\"; expected a number"},
  }));
  REQUIRE_THROWS_WITH(parse_json_shapes(config), ContainsSubstring(sentence));
}

TEST_CASE("The shipped lists are well formed and have no duplicates") {
  const std::string list = GENERATE("layers.csv", "layers_gpu.csv", "rigors.csv");
  std::set<std::string> seen;
  for (const NamedProblem& shape : read_shape_list(TUNEDGEMM_SHAPES "/" + list)) {
    CAPTURE(list, shape.name);
    REQUIRE_FALSE(shape.name.empty());
    REQUIRE(seen.insert(fingerprint(canonical(shape.problem))).second);
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
