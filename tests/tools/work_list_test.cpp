// The shapes of tune-all: ladders of M and tensor parallelism over the layers of lists.

#include "tools/tune_all/work_list.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

WorkList work_of_file(const std::string& path, const std::string& m_ladder,
                      std::int64_t tensor_parallel = 1) {
  WorkRequest request;
  request.lists = {path};
  request.m_ladder = m_ladder;
  request.tensor_parallel = tensor_parallel;
  return make_work_list(request, {});
}

WorkList work_of(const std::string& text, const std::string& m_ladder,
                 std::int64_t tensor_parallel = 1) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "list.csv";
  std::ofstream(path) << text;
  return work_of_file(path, m_ladder, tensor_parallel);
}

std::vector<std::string> extents_of(const WorkList& work) {
  std::vector<std::string> extents;
  for (const NamedProblem& shape : work.shapes) {
    extents.push_back(extents_text(shape.problem));
  }
  return extents;
}

using Extents = std::vector<std::string>;

TEST_CASE("With a ladder, layers that cannot be computed are skipped") {
  const WorkList work = work_of(
      "GemmTunableOp_c10::complex<float>_NN,nn_8_24_40_ld_8_40_8\n"
      "GemmTunableOp_float_NN,nn_8_24_40_ld_8_40_8\n"
      "GemmTunableOp_float_TN,tn_16_*_40_ld_40_40_16\n",
      "1,4");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"1x8x40", "4x8x40", "1x16x40", "4x16x40"}));
  // A leading dimension of a column-major A of 2 rows is too small for 4.
  REQUIRE_THAT(extents_of(work_of("types,layout,n,k,lda\nf32,tn,8,40,2\nf32,nn,8,40,\n", "1,4")),
               Equals(Extents{"1x8x40", "4x8x40"}));
}

TEST_CASE("The greatest M of an automatic ladder has a bound") {
  const std::string layer = "types,n,k\nf32,8,8\n";
  REQUIRE(work_of(layer, "auto:2147483648").shapes.size() == 16);
  REQUIRE(first_rungs(1) == std::vector<std::int64_t>{1});
  REQUIRE(first_rungs(std::numeric_limits<std::int64_t>::max()).back() == std::int64_t{1} << 62);
  REQUIRE_THROWS_WITH(work_of(layer, "auto:5000000000000000000"),
                      ContainsSubstring("--m-ladder auto:5000000000000000000: the greatest M is at "
                                        "most 2147483648"));
}

TEST_CASE("Options of fields fill what lines leave out, and never replace it") {
  const TemporaryFolder folder;
  WorkRequest request;
  request.lists = {folder.path() / "list.csv"};
  std::ofstream(request.lists.front()) << "types,layout,m,n,k\n,,4,8,16\nf64,tn,4,8,16\n";
  request.types = {"f16", "bf16"};
  request.layouts = {"nt"};
  request.further_fields = {{"activation", "relu"}};
  const WorkList work = make_work_list(request, {});
  REQUIRE(work.shapes.size() == 3);
  REQUIRE(work.shapes[0].problem.a.type == DataType::kF16);
  REQUIRE(work.shapes[1].problem.a.type == DataType::kBF16);
  REQUIRE(layout_text(work.shapes[1].problem) == "nt");
  REQUIRE(work.shapes[2].problem.a.type == DataType::kF64);
  REQUIRE(layout_text(work.shapes[2].problem) == "tn");
  REQUIRE(work.shapes[2].problem.activation == Activation::kRelu);
  std::ofstream(request.lists.front()) << "f64,tn,4,8,16\n";
  REQUIRE_THROWS_WITH(make_work_list(request, {}),
                      ContainsSubstring("--types f16 changes nothing: each line of the lists"));
}

TEST_CASE("A ladder gives each layer every M, one layer after the other") {
  const WorkList work =
      work_of("name,types,layout,n,k\nup,f32,nt,32,8\n,f32,nt,8,32\n", "64,1:9:8");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"64x32x8", "1x32x8", "9x32x8",  //
                                                "64x8x32", "1x8x32", "9x8x32"}));
  REQUIRE(work.shapes[0].name == "up");
  REQUIRE(shape_text(work.shapes[0]) == "up M=64");
  REQUIRE(work.shapes[3].name.empty());
  REQUIRE(layout_text(work.shapes[0].problem) == "nt");
}

TEST_CASE("With a ladder, lines that differ in M or in their name alone are one layer") {
  const WorkList work = work_of(
      "name,types,layout,m,n,k\na,f32,nt,1,32,8\nb,f32,nt,512,32,8\nc,f32,tt,1,32,8\nd,f32,tt,4,32,"
      "8\n",
      "1,4");
  REQUIRE(work.shapes.size() == 4);
  REQUIRE(shape_text(work.shapes[1]) == "a, b M=4");
  REQUIRE(shape_text(work.shapes[2]) == "c, d M=1");
  REQUIRE(work.duplicates == 2);
}

TEST_CASE("A shape has the names of all its lines") {
  const std::string text = "name,types,m,n,k\nquery,f32,8,4,2\nup,f32,8,5,2\nkey,f32,8,4,2\n";
  const WorkList work = work_of(text, "");
  REQUIRE(work.shapes.size() == 2);
  REQUIRE(work.shapes[0].name == "query, key");
  REQUIRE(work.shapes[1].name == "up");
  const WorkList ladder = work_of(text, "auto:4");
  REQUIRE(ladder.layers.size() == 2);
  REQUIRE(shape_text(ladder.layers[0].at(3)) == "query, key M=3");
  REQUIRE(shape_text(ladder.layers[1].at(3)) == "up M=3");
}

TEST_CASE("A request's shape has the name that the program gave it") {
  WorkRequest request;
  request.from_requests = true;
  const std::vector<Request> requests{
      {canonical(make_problem(8, 4, 2, DataType::kF32, DataType::kF32, DataType::kF32)), 3,
       "decoder.mlp"}};
  REQUIRE(make_work_list(request, requests).shapes.front().name == "decoder.mlp");
}

TEST_CASE("A leading dimension that equals the largest M does not merge layers") {
  const WorkList work = work_of("types,layout,n,k,lda\nf32,tn,8,8,4\nf32,tn,8,8\n", "1,4");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"1x8x8", "4x8x8", "1x8x8"}));
}

TEST_CASE("A line of TunableOp is a layer: packed matrices stay packed at every M") {
  const WorkList work = work_of(
      "GemmTunableOp_BFloat16_TN,tn_4096_16_14336_ld_14336_14336_4096\n"
      "GemmTunableOp_BFloat16_TN,tn_4096_32_14336_ld_14336_14336_4096\n"
      "GemmTunableOp_float_NT,nt_8_24_40_ld_8_24_8\n"
      "GemmTunableOp_float_NN,nn_8_24_40_ld_8_48_8\n",
      "1,48");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"1x4096x14336", "48x4096x14336", "1x8x40",
                                                "48x8x40", "1x8x40", "48x8x40"}));
  REQUIRE(work.shapes[3].problem.a.leading_dimension == 48);
  REQUIRE(work.shapes[5].problem.a.leading_dimension == 48);
}

TEST_CASE("An automatic ladder begins with powers of four") {
  const std::string list = "name,types,layout,n,k\nup,f32,nt,32,8\n";
  WorkList work = work_of(list, "auto:20");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"1x32x8", "4x32x8", "16x32x8"}));
  REQUIRE(work.layers.size() == 1);
  REQUIRE(work.layers[0].most_m == 20);
  REQUIRE(shape_text(work.layers[0].at(20)) == "up M=20");
  work = work_of(list, "auto");
  REQUIRE(work.shapes.size() == 7);
  REQUIRE(work.layers[0].most_m == 8192);
  REQUIRE(work_of(list, "1,4").layers.empty());
}

TEST_CASE("If D is column-major, a ladder gives the values of N") {
  const WorkList work = work_of("name,types,layout,m,n,k,order_d\nup,f32,nn,32,5,8,col\n", "1,64");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"32x1x8", "32x64x8"}));
  REQUIRE(shape_text(work.shapes[1]) == "up N=64");
  REQUIRE_THROWS_WITH(work_of("types,layout,n,k,order_d\nf32,nn,32,8,col\n", "1,64"),
                      ContainsSubstring("the shape needs an m"));
}

TEST_CASE("Tensor parallelism divides N of column-parallel and K of row-parallel layers") {
  const std::string list =
      "types,layout,n,k,parallel,kv_heads\n"
      "f32,nt,96,64,column,2\nf32,nt,64,32,row\nf32,nt,5,64,none\n";
  REQUIRE_THAT(extents_of(work_of(list, "8", 2)), Equals(Extents{"8x48x64", "8x64x16", "8x5x64"}));
  REQUIRE_THAT(extents_of(work_of(list, "8")), Equals(Extents{"8x96x64", "8x64x32", "8x5x64"}));
  REQUIRE_THAT(extents_of(work_of("types,layout,m,n,k,parallel\nf32,nt,3,64,32,row\n", "", 4)),
               Equals(Extents{"3x64x8"}));
}

TEST_CASE("A layer that cannot be put on the ladder or divided is refused with its line") {
  const auto [text, ladder, parallel,
              sentence] = GENERATE(table<const char*, const char*, std::int64_t, const char*>({
      {"types,n,k\nf32,8,8\n", "", 1,
       "list.csv: line 2: the shape has no m; expected at least types, m, n and k; tune-all "
       "--m-ladder"},
      {"types,n,k\nf32,8,8\n", "0", 1, "\"0\" in \"0\" is not a whole number of at least 1"},
      {"types,n,k\nf32,8,8\nf32,8,9\n", "1:500001:1", 1, "more than a million shapes"},
      {"types,m,n,k\nf32,two,8,8\n", "1", 1, "line 2: m is \"two\""},
      {"types,layout,n,k,lda\nf32,tn,8,8,16\n", "8,32", 1, "line 2: the leading dimension of A"},
      {"types,n,k,parallel\nf32,8,8,rows\n", "1", 1,
       "line 2: parallel is \"rows\"; expected column, row or none"},
      {"types,n,k,kv_heads\nf32,8,8,0\n", "1", 1, "line 2: kv_heads is \"0\""},
      {"types,n,k\nf32,8,8\n", "1", 2, "line 2: --tensor-parallel 2 needs a column parallel"},
      {"types,n,k,parallel\nf32,8,8,row\nf32,9,8,column\n", "1", 2,
       "line 3: n is 9, which --tensor-parallel 2 does not divide"},
      {"types,n,k,parallel\nf32,8,9,row\n", "1", 4,
       "line 2: k is 9, which --tensor-parallel 4 does not divide"},
      {"types,n,k,parallel,kv_heads\nf32,64,8,column,8\n", "1", 16,
       "line 2: kv_heads is 8, which --tensor-parallel 16 does not divide"},
  }));
  CAPTURE(text, ladder);
  REQUIRE_THROWS_WITH(work_of(text, ladder, parallel), ContainsSubstring(sentence));
}

TEST_CASE("The shipped models have distinct layers and can be divided among two devices") {
  std::size_t models = 0;
  for (const auto& model : std::filesystem::directory_iterator(TUNEDGEMM_SHAPES "/models")) {
    CAPTURE(model.path().string());
    ++models;
    const WorkList whole = work_of_file(model.path(), "1,2048");
    REQUIRE(whole.shapes.size() >= 10);
    REQUIRE(whole.duplicates == 0);
    for (const NamedProblem& shape : whole.shapes) {
      REQUIRE_THAT(shape_text(shape), ContainsSubstring(" M="));
    }
    if (model.path().filename() == "gpt-2.csv") {
      REQUIRE_THROWS_WITH(work_of_file(model.path(), "1", 2), ContainsSubstring("n is 50257"));
    } else {
      REQUIRE(work_of_file(model.path(), "1,2048", 2).shapes.size() == whole.shapes.size());
    }
  }
  REQUIRE(models >= 5);
}

TEST_CASE("Llama-3-8B has seven layers") {
  const std::string list = TUNEDGEMM_SHAPES "/models/llama-3-8b.csv";
  REQUIRE_THAT(extents_of(work_of_file(list, "16")),
               Equals(Extents{"16x6144x4096", "16x1024x4096", "16x4096x4096", "16x28672x4096",
                              "16x14336x4096", "16x4096x14336", "16x128256x4096"}));
  REQUIRE_THAT(extents_of(work_of_file(list, "16", 8)),
               Equals(Extents{"16x768x4096", "16x128x4096", "16x4096x512", "16x3584x4096",
                              "16x1792x4096", "16x4096x1792", "16x16032x4096"}));
}

}  // namespace
}  // namespace tunedgemm::internal
