#include "kernel_templates/problem/problem_grammar.h"

#include <array>
#include <random>
#include <set>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/seed.h"

using namespace tunedgemm::internal;

namespace {

Problem read(std::string_view text) {
  Problem written = default_problem();
  read_text(text, written);
  return written;
}

// A problem as written that is well formed, with all fields of the grammar.
Problem random_problem(std::mt19937_64& random) {
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  const auto one_of = [&](const auto& list) {
    return list[static_cast<std::size_t>(below(std::ssize(list)))];
  };
  while (true) {
    Problem written = default_problem();
    written.m = below(20);
    written.n = below(20);
    written.k = below(20);
    written.batch = below(4);
    written.a.type = one_of(kDataTypes).type;
    written.b.type = below(2) == 0 ? written.a.type : one_of(kDataTypes).type;
    written.c.type = written.d.type = one_of(kDataTypes).type;
    for (Matrix* matrix : {&written.a, &written.b, &written.c, &written.d}) {
      matrix->order = static_cast<Order>(below(2));
      matrix->leading_dimension = below(2) == 0 ? 0 : 20 + below(9);
      matrix->batch_stride =
          std::array<std::int64_t, 3>{0, kBroadcast, 600 + below(9)}[random() % 3];
    }
    written.c_is_d = below(2) == 0;
    written.alpha = static_cast<ScalarClass>(below(3));
    written.beta = static_cast<ScalarClass>(below(3));
    written.activation = one_of(kActivations.rows).activation;
    written.bias = static_cast<Bias>(below(3));
    written.numerics = static_cast<Numerics>(below(6) - 1);
    written.launch_regime = static_cast<LaunchRegime>(below(2));
    written.invariant = static_cast<std::int32_t>(below(2));
    written.sm_limit = static_cast<std::int32_t>(below(200));
    written.scaling_a = static_cast<Scaling>(below(4));
    written.scaling_b = static_cast<Scaling>(below(4));
    written.group_kind = static_cast<GroupKind>(below(5));
    written.rows_per_group = static_cast<std::int32_t>(below(1000));
    if (why_not(completed(written)).empty()) {
      return written;
    }
  }
}

}  // namespace

TEST_CASE("The text of a problem as written gives the same problem") {
  std::mt19937_64 random(test_seed());
  std::set<std::string_view> not_default;
  for (int round = 0; round < 2000; ++round) {
    const Problem written = random_problem(random);
    const std::string text = written_text(written);
    INFO(text);
    REQUIRE(read(text) == written);
    REQUIRE(written_text(read(text)) == text);
    for (const ProblemField& field : problem_fields()) {
      if (field.text(written) != field.text(default_problem())) {
        not_default.insert(field.name);
      }
    }
  }
  for (const ProblemField& field : problem_fields()) {
    INFO("random_problem() does not draw " << field.name);
    CHECK((not_default.contains(field.name) || field.name == "regime"));  // which is always "cold"
  }
}

TEST_CASE("Types have the names of other libraries, too") {
  const auto types_of = [](const std::string& types) { return types_text(read("types=" + types)); };
  CHECK(types_of("half") == types_of("f16"));
  CHECK(types_of("torch.float16") == types_of("f16"));
  CHECK(types_of("fp32") == types_of("f32"));
  CHECK(types_of("double") == types_of("f64"));
  CHECK(types_of("bfloat16->float32") == types_of("bf16->f32"));
  CHECK(types_of("torch.float8_e4m3fnxfloat8_e5m2->bf16") == types_of("e4m3xe5m2->bf16"));
  CHECK_THROWS(types_of("torch.torch.f16"));
}

TEST_CASE("A text leaves out the fields that have their defaults") {
  const std::string text = "types=bf16 layout=nt m=4096 n=6144 k=4096 activation=relu";
  CHECK(written_text(read(text)) == text);
  CHECK(written_text(read("types=e4m3xe5m2->bf16 m=0 n=2 k=3 batch=1 alpha=1 order_d=row")) ==
        "types=e4m3xe5m2->bf16 m=0 n=2 k=3");
  CHECK(written_text(read("types=tf32 batch_stride_b=0 lda=7")) ==
        "types=f32 m=0 n=0 k=0 lda=7 batch_stride_b=0 numerics=tf32");
}

TEST_CASE("The order of the fields does not matter, and the others keep their values") {
  Problem written = read("activation=relu numerics=emulated output=bf16 k=7 types=tf32");
  CHECK(written == read("types=f32->bf16 k=7 numerics=emulated activation=relu"));
  read_text("  m=5  k=6 ", written);
  CHECK(written == read("types=f32->bf16 m=5 k=6 numerics=emulated activation=relu"));
  read_text("types=s8", written);
  CHECK(written == read("types=s8 m=5 k=6 activation=relu"));
}

TEST_CASE("groups is the batch of a grouped product, of rows unless the kind says otherwise") {
  const Problem rows = read("types=bf16 m=64 n=32 k=16 groups=8");
  CHECK((rows.batch == 8 && rows.group_kind == GroupKind::kRows));
  CHECK(read(written_text(rows)) == rows);
  const Problem along_k = read("group_kind=k types=bf16 m=64 n=32 k=16 groups=8");
  CHECK((along_k.batch == 8 && along_k.group_kind == GroupKind::kDepth));
  CHECK_THROWS_WITH(
      read("types=bf16 m=64 n=32 k=16 groups=0"),
      Catch::Matchers::ContainsSubstring("groups is \"0\"; expected a whole number, at least 1"));
}

TEST_CASE("A text that is refused changes nothing, and the sentence names the field") {
  for (const auto& [text, sentence] : {
           std::pair("n=1 types=f17",
                     "types is \"f17\"; expected f64, f32, f16, bf16, e4m3, e5m2, "
                     "s8 or tf32, or in full \"e4m3xe5m2->bf16\""),
           {"n=1 n=1", "n is given twice; give it once"},
           {"n=1 relu",
            "\"relu\" is not a field of a problem; the fields are types, layout, m, n, "},
           {"n=1 m=-1", "m is \"-1\"; expected a whole number, at least 0 and below 2^63"},
           {"n=1 lda=0", "lda is \"0\"; expected a whole number, at least 1 and below 2^63"},
           {"n=1 batch_stride_c=-1", "batch_stride_c is \"-1\"; expected a whole number"},
           {"n=1 order_d=nt", "order_d is \"nt\"; expected row or col"},
           {"n=1 output=e5", "output is \"e5\"; expected f64, f32, f16, bf16 or s32"},
           {"n=1 bias", "bias is \"\"; expected none, row or col"},
       }) {
    Problem written = default_problem();
    CHECK_THROWS_WITH(read_text(text, written), Catch::Matchers::StartsWith(sentence));
    CHECK(written == default_problem());
  }
}

TEST_CASE("Each field of the grammar has a name of its own and a meaning") {
  std::set<std::string_view> names;
  for (const ProblemField& field : grammar_fields()) {
    INFO(field.name);
    CHECK(names.insert(field.name).second);
    CHECK_FALSE(field.meaning.empty());
    CHECK_FALSE(field.expected.empty());
  }
}
