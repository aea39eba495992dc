// The shapes of tune-all: ladders of M over the layers of lists.

#include "tools/tune_all/work_list.h"

#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

WorkList work_of_file(const std::string& path, const std::string& m_ladder) {
  WorkRequest request;
  request.lists = {path};
  request.m_ladder = m_ladder;
  return make_work_list(request, {});
}

WorkList work_of(const std::string& text, const std::string& m_ladder) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "list.csv";
  std::ofstream(path) << text;
  return work_of_file(path, m_ladder);
}

std::vector<std::string> extents_of(const WorkList& work) {
  std::vector<std::string> extents;
  for (const Shape& shape : work.shapes) {
    extents.push_back(extents_text(shape.problem));
  }
  return extents;
}

using Extents = std::vector<std::string>;

TEST_CASE("A ladder gives each layer every M, one layer after the other") {
  const WorkList work =
      work_of("name,types,layout,n,k\nup,f32,nt,32,8\n,f32,nt,8,32\n", "64,1:9:8");
  REQUIRE_THAT(extents_of(work), Equals(Extents{"64x32x8", "1x32x8", "9x32x8",  //
                                                "64x8x32", "1x8x32", "9x8x32"}));
  REQUIRE(work.shapes[0].name == "up M=64");
  REQUIRE(work.shapes[3].name.empty());
  REQUIRE(layout_text(work.shapes[0].problem) == "nt");
}

TEST_CASE("With a ladder, lines that differ in M or in their name alone are one layer") {
  const WorkList work = work_of(
      "name,types,layout,m,n,k\na,f32,nt,1,32,8\nb,f32,nt,512,32,8\nc,f32,tt,1,32,8\nd,f32,tt,4,32,"
      "8\n",
      "1,4");
  REQUIRE(work.shapes.size() == 4);
  REQUIRE(work.shapes[1].name == "a M=4");
  REQUIRE(work.shapes[2].name == "c M=1");
  REQUIRE(work.duplicates == 2);
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

TEST_CASE("A layer that cannot be put on the ladder is refused with its line") {
  const auto [text, ladder, sentence] = GENERATE(table<const char*, const char*, const char*>({
      {"types,n,k\nf32,8,8\n", "",
       "list.csv: line 2: the shape has no m; expected at least types, m, n and k; tune-all "
       "--m-ladder"},
      {"types,n,k\nf32,8,8\n", "0", "\"0\" in \"0\" is not a whole number of at least 1"},
      {"types,n,k\nf32,8,8\n", "auto", "\"auto\" in \"auto\" is not a whole number"},
      {"types,n,k\nf32,8,8\nf32,8,9\n", "1:1000000:1", "more than a million shapes"},
      {"types,m,n,k\nf32,two,8,8\n", "1", "line 2: m is \"two\""},
      {"types,layout,n,k,lda\nf32,tn,8,8,16\n", "8,32", "line 2: the leading dimension of A"},
  }));
  CAPTURE(text, ladder);
  REQUIRE_THROWS_WITH(work_of(text, ladder), ContainsSubstring(sentence));
}

}  // namespace
}  // namespace tunedgemm::internal
