#include "kernel_templates/problem/problem.h"

#include <fstream>
#include <limits>
#include <string>

#include "kernel_templates/problem/problem_grammar.h"
#include "tests/support/catch.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

Problem f16_problem() {
  return make_problem(512, 768, 64, DataType::kF16, DataType::kF16, DataType::kF16, "nt");
}

}  // namespace

TEST_CASE("A problem's text has its launch regime only if that is unusual") {
  Problem problem = f16_problem();
  const std::string usual = to_text(problem);
  CHECK(usual.ends_with(" regime=cold"));
  CHECK_FALSE(parse_problem(usual.substr(0, usual.size() - 4) + "warm"));  // of earlier versions
  problem.launch_regime = LaunchRegime::kBackToBack;
  CHECK(to_text(problem).ends_with(" regime=cold launches=back_to_back"));
  CHECK(parse_problem(to_text(problem)) == problem);
  problem.launch_regime = static_cast<LaunchRegime>(2);
  CHECK_THAT(why_not(problem), ContainsSubstring("launches is") && ContainsSubstring("isolated"));
}

TEST_CASE("A text that is not a problem's is refused") {
  const std::string text = to_text(f16_problem());
  CHECK_FALSE(parse_problem("").has_value());
  CHECK_FALSE(parse_problem(text + " m=512").has_value());
  CHECK_FALSE(parse_problem(text.substr(0, text.rfind(' '))).has_value());
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"m=512", "m=5x2"},
                                 {"m=512", "n=512"},
                                 {"f16,row,64", "f17,row,64"},
                                 {"f16,row,64", "f16,row"},
                                 {"beta=zero", "beta=half"}}) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), from.size(), to);
    INFO(wrong);
    CHECK_FALSE(parse_problem(wrong).has_value());
  }
}

TEST_CASE("A column-major D becomes its row-major transpose") {
  Problem problem = make_problem(3, 5, 7, DataType::kF32, DataType::kF32, DataType::kF32, "nt");
  problem.d.order = Order::kColumnMajor;
  problem.d.leading_dimension = 4;
  problem.bias = Bias::kPerRow;
  const Problem same = canonical(problem);
  CHECK(swaps_operands(problem));
  CHECK_FALSE(swaps_operands(same));
  CHECK(same.m == 5);
  CHECK(same.n == 3);
  CHECK(same.d.order == Order::kRowMajor);
  CHECK(same.bias == Bias::kPerColumn);
  // The transpose of the column-major B is row-major; that of A is column-major.
  CHECK(same.a.order == Order::kRowMajor);
  CHECK(same.b.order == Order::kColumnMajor);
  CHECK(layout_text(same) == "nt");
  CHECK(canonical(same) == canonical(problem));
  CHECK(transposed(transposed(problem)) == problem);
  CHECK(transposed(problem).bias == Bias::kPerColumn);
}

TEST_CASE("Fields without effect do not change the key") {
  const Problem problem = f16_problem();
  Problem other = problem;
  other.c.leading_dimension = 10000;  // beta is zero
  other.a.batch_stride = 99;          // one entry
  other.alpha = ScalarClass::kOther;
  CHECK(fingerprint(canonical(other)) == fingerprint(canonical(problem)));
  Problem scaled = problem;
  scaled.beta = ScalarClass::kOne;
  Problem halved = problem;
  halved.beta = ScalarClass::kOther;
  CHECK(fingerprint(canonical(scaled)) == fingerprint(canonical(halved)));
}

TEST_CASE("Fields with an effect change the key") {
  const Problem problem = f16_problem();
  const auto differs = [&](auto change) {
    Problem other = problem;
    change(other);
    return fingerprint(canonical(other)) != fingerprint(canonical(problem));
  };
  CHECK(differs([](Problem& p) { p.m = 511; }));
  CHECK(differs([](Problem& p) { p.a.leading_dimension = 72; }));
  CHECK(differs([](Problem& p) { p.a.alignment_bytes = 8; }));
  CHECK(differs([](Problem& p) { p.b.order = Order::kRowMajor; }));
  CHECK(differs([](Problem& p) { p.d.type = p.c.type = DataType::kF32; }));
  CHECK(differs([](Problem& p) { p.beta = ScalarClass::kOne; }));
  CHECK(differs([](Problem& p) { p.activation = Activation::kRelu; }));
  CHECK(differs([](Problem& p) { p.bias = Bias::kPerRow; }));
  CHECK(differs([](Problem& p) { p.launch_regime = LaunchRegime::kBackToBack; }));
  CHECK(differs([](Problem& p) { p.alpha = ScalarClass::kZero; }));
  CHECK(fingerprint(canonical(problem)).size() == 32);
}

TEST_CASE("Alpha zero makes a problem without K") {
  Problem problem = f16_problem();
  problem.alpha = ScalarClass::kZero;
  CHECK(canonical(problem)->k == 0);
}

TEST_CASE("Scales of rows belong to fp8, to their matrix, and to a product that is read") {
  Problem problem = make_problem(8, 4, 16, DataType::kE4M3, DataType::kE5M2, DataType::kF32);
  problem.scaling_a = Scaling::kRow;
  CHECK(to_text(problem).ends_with(" scaling_a=row"));
  CHECK(parse_problem(to_text(problem)) == problem);
  CHECK(epilogue_text(problem) == "scales/row·tensor");
  problem.d.order = Order::kColumnMajor;
  problem.d.leading_dimension = 8;
  CHECK(why_not(problem).empty());
  CHECK(canonical(problem)->scaling_b == Scaling::kRow);
  CHECK(canonical(problem)->scaling_a == Scaling::kTensor);
  problem.alpha = ScalarClass::kZero;
  CHECK(canonical(problem)->scaling_b == Scaling::kTensor);
  Problem f16 = f16_problem();
  f16.scaling_b = Scaling::kRow;
  CHECK_THAT(why_not(f16), ContainsSubstring("f16") && ContainsSubstring("only fp8 has more"));
}

TEST_CASE("Scales of blocks are promoted") {
  Problem problem = make_problem(8, 4, 16, DataType::kE4M3, DataType::kE4M3, DataType::kF32);
  problem.scaling_a = Scaling::kBlock1x128;
  problem.scaling_b = Scaling::kBlock128x128;
  CHECK_THAT(why_not(problem), ContainsSubstring("numerics fast cannot scale blocks"));
  problem.numerics = kDefaultNumerics;
  problem = completed(problem);
  CHECK(problem.numerics == Numerics::kPromoted);
  CHECK(why_not(problem).empty());
  CHECK(to_text(problem).ends_with(" scaling_a=block_1x128 scaling_b=block_128x128"));
  CHECK(parse_problem(to_text(problem)) == problem);
  CHECK(transposed(problem).scaling_a == Scaling::kBlock128x128);
  problem.k = 0;
  CHECK(canonical(problem)->scaling_a == Scaling::kTensor);
}

TEST_CASE("Groups share the matrices whose rows or depth they divide") {
  Problem written = default_problem();
  read_text("types=bf16 layout=nt m=100 n=48 k=64 batch=5 group_kind=rows rows_per_group=9",
            written);
  const Problem rows = completed(written);
  CHECK(why_not(rows).empty());
  CHECK((rows.a.batch_stride == 0 && rows.d.batch_stride == 0));
  CHECK(rows.b.batch_stride == 64 * 48);
  CHECK(to_text(rows).ends_with(" group_kind=rows rows_per_group=9"));
  CHECK(canonical(rows)->rows_per_group == 16);
  CHECK(usual_rows(canonical(rows)) == 16);
  CHECK(total_rows(rows) == 100);
  CHECK(flops(rows) == 2.0 * 5 * 9 * 48 * 64);
  CHECK(minimum_bytes(rows) == 2.0 * 5 * (9 * 64 + 64 * 48 + 9 * 48));
  CHECK(why_not(batch_of_equal_groups(rows)).empty());

  Problem column_major = rows;
  column_major.d.order = Order::kColumnMajor;
  column_major.d.leading_dimension = 100;
  CHECK_THAT(why_not(column_major), ContainsSubstring("groups of rows need a row-major D"));
  Problem strided = rows;
  strided.a.batch_stride = 6400;
  CHECK_THAT(why_not(strided), ContainsSubstring("the batch stride of A is 6400, but the groups"));
  Problem negative = rows;
  negative.rows_per_group = -1;
  CHECK_THAT(why_not(negative), ContainsSubstring("rows_per_group is -1"));

  written.group_kind = GroupKind::kCounts;
  written.rows_per_group = 600;
  const Problem counts = completed(written);
  CHECK(counts.a.batch_stride == 100 * 64);
  CHECK(total_rows(counts) == 500);
  CHECK(canonical(counts)->rows_per_group == 2048);
  CHECK(usual_rows(canonical(counts)) == 100);

  written.group_kind = GroupKind::kDepth;
  const Problem depth = completed(written);
  CHECK((depth.a.batch_stride == 0 && depth.b.batch_stride == 0));
  CHECK(depth.d.batch_stride == 100 * 48);
  CHECK(canonical(depth)->rows_per_group == 0);
  CHECK(why_not(transposed(depth)).empty());
}

TEST_CASE("The range of a group lies inside the matrix, whatever the numbers are") {
  const int ends[] = {3, 3, 9, 5, -7, 400};
  const auto range = [&](GroupKind kind, int group) {
    const GroupRange found = range_of_group(kind, ends, group, 8);
    return std::pair(found.begin, found.end);
  };
  CHECK(range(GroupKind::kRows, 0) == std::pair(0LL, 3LL));
  CHECK(range(GroupKind::kRows, 1) == std::pair(3LL, 3LL));
  CHECK(range(GroupKind::kRows, 2) == std::pair(3LL, 8LL));
  CHECK(range(GroupKind::kRows, 3) == std::pair(8LL, 8LL));
  CHECK(range(GroupKind::kDepth, 4) == std::pair(5LL, 5LL));
  CHECK(range(GroupKind::kDepth, 5) == std::pair(0LL, 8LL));
  CHECK(range(GroupKind::kRanges, 0) == std::pair(3LL, 3LL));
  CHECK(range(GroupKind::kRanges, 1) == std::pair(8LL, 8LL));
  CHECK(range(GroupKind::kRanges, 2) == std::pair(0LL, 8LL));
  CHECK(range(GroupKind::kCounts, 2) == std::pair(0LL, 8LL));
  CHECK(range(GroupKind::kCounts, 4) == std::pair(0LL, 0LL));
}

TEST_CASE("The message about a bad problem has the bad value") {
  const auto reason = [](auto change) {
    Problem problem = f16_problem();
    change(problem);
    return why_not(problem);
  };
  CHECK(reason([](Problem&) {}).empty());
  CHECK_THAT(reason([](Problem& p) { p.m = -3; }), ContainsSubstring("M is -3"));
  CHECK_THAT(reason([](Problem& p) { p.batch = -1; }), ContainsSubstring("batch is -1"));
  CHECK_THAT(reason([](Problem& p) { p.a.leading_dimension = 63; }),
             ContainsSubstring("leading dimension of A is 63") && ContainsSubstring("have 64"));
  CHECK_THAT(reason([](Problem& p) { p.a.type = DataType::kF32; }),
             ContainsSubstring("A is f32, B is f16"));
  CHECK_THAT(reason([](Problem& p) { p.numerics = Numerics::kTf32; }), ContainsSubstring("tf32"));
  CHECK_THAT(reason([](Problem& p) { p.a.alignment_bytes = 1; }),
             ContainsSubstring("aligned to 1"));
  CHECK_THAT(reason([](Problem& p) { p.m = kHuge / 4; }), ContainsSubstring("2^56"));
  CHECK_THAT(reason([](Problem& p) {
               p.batch = 2;
               p.d.batch_stride = 100;
             }),
             ContainsSubstring("overlap") && ContainsSubstring("393216"));
}

TEST_CASE("Sizes beyond 2^31 elements are well formed") {
  const Problem problem =
      make_problem(1 << 20, 1 << 14, 1 << 13, DataType::kF16, DataType::kF16, DataType::kF16);
  CHECK(why_not(problem).empty());
  CHECK(span_elements(problem.d, problem.m, problem.n, 1) == std::int64_t{1} << 34);
}

TEST_CASE("The matrices of a batched D may be interleaved") {
  Problem problem = make_problem(8, 16, 4, DataType::kF32, DataType::kF32, DataType::kF32);
  problem.batch = 3;
  problem.a.batch_stride = 32;
  problem.b.batch_stride = 64;
  problem.d.leading_dimension = 48;
  problem.d.batch_stride = 16;
  CHECK(why_not(problem).empty());
  problem.d.leading_dimension = 47;
  CHECK_FALSE(why_not(problem).empty());
}

TEST_CASE("The alignment combines those of the address, the rows and the batch stride") {
  Matrix matrix{.type = DataType::kF16, .leading_dimension = 64, .batch_stride = 4};
  CHECK(alignment_class(0x1000, matrix, 1) == 16);
  CHECK(alignment_class(0x1004, matrix, 1) == 4);
  CHECK(alignment_class(0x1000, matrix, 2) == 8);
  matrix.leading_dimension = 63;
  CHECK(alignment_class(0x1000, matrix, 1) == 2);
}

TEST_CASE("Work and bytes are counted once") {
  Problem problem = make_problem(2, 3, 4, DataType::kF32, DataType::kF32, DataType::kF32);
  CHECK(flops(problem) == 48);
  CHECK(minimum_bytes(problem) == 4 * (8 + 12 + 6));
  problem.batch = 10;
  problem.a.batch_stride = 8;
  problem.d.batch_stride = 6;
  CHECK(minimum_bytes(problem) == 4 * (80 + 12 + 60));  // one B for all batch indices
}

// Existing caches have these problems under these keys.
TEST_CASE("The texts and keys of problems are those that version 0.1 wrote") {
  std::ifstream file(std::string(TUNEDGEMM_SOURCE_FOLDER) + "/tests/data/problem_keys.txt");
  int problems = 0;
  for (std::string line; std::getline(file, line); ++problems) {
    const std::size_t end = line.rfind(' ');
    const std::string text = line.substr(0, end);
    INFO(text);
    const auto problem = parse_problem(text);
    REQUIRE(problem);
    CHECK(to_text(*problem) == text);
    CHECK(fingerprint(canonical(*problem)) == line.substr(end + 1));
  }
  CHECK(problems == 50);
}
