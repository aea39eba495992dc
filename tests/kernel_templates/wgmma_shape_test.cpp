// The shape of the wgmma family and its refusals, checked without a GPU or a compiler.

#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <string>
#include <vector>

#include "tests/kernel_templates/support/wgmma_cases.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

Problem square_f16() {
  return padded({}, {4096, 4096, 4096});
}

std::string why_not_with(const Knobs& changes, const Problem& problem = square_f16()) {
  return refusal(wgmma_family(), problem, wgmma_config(changes), wgmma_device());
}

std::string why_not_kind(const Kind& kind) {
  return why_not_with({}, padded(kind, {512, 512, 512}));
}

Knobs and_also(Knobs knobs, const Knobs& more) {
  knobs.insert(knobs.end(), more.begin(), more.end());
  return knobs;
}

std::string room(int needed, int most, int consumers) {
  return "the tile needs " + std::to_string(needed) +
         " accumulators per thread, and there is room " + "for " + std::to_string(most) +
         " with consumers=" + std::to_string(consumers);
}

/// An independent version of the kernel's shared memory formula.
std::int64_t shared_bytes(const Problem& original, const Config& config) {
  const Problem problem = config.at("swap_ab") != 0 ? transposed(original) : original;
  const std::int64_t element = size_bytes(problem.b.type);
  const std::int64_t columns = problem.b.order == Order::kColumnMajor
                                   ? config.at("block_n")
                                   : up_to_multiple(config.at("block_n"), 128 / element);
  const std::int64_t rows = problem.a.order == Order::kRowMajor
                                ? config.at("block_m")
                                : up_to_multiple(config.at("block_m"), 128 / element);
  return config.at("stages") * config.at("block_k") * element * (rows + columns) +
         config.at("consumers") * 4 * 2048 * config.at("epilogue_stages") + 1024;
}

}  // namespace

TEST_CASE("wgmma's refusals of types and layouts name them and the alternative") {
  REQUIRE_THAT(why_not_with({{"block_k", 16}, {"stages", 2}},
                            padded({DataType::kF64, DataType::kF64, DataType::kF64}, {64, 64, 64})),
               ContainsSubstring("in_flight=1: f64 needs 0"));
  for (const Numerics numerics : {Numerics::kIeee, Numerics::kEmulated}) {
    REQUIRE_THAT(why_not_kind({DataType::kF32, DataType::kF32, DataType::kF32, "nt", numerics}),
                 ContainsSubstring("multiplies f32 only as tf32: ask for the numerics tf32"));
  }
  const Problem transposed_in_shared = padded(fp8(Numerics::kFast, "nn"), {512, 512, 512});
  REQUIRE_THAT(why_not_with({{"block_k", 256}, {"block_n", 64}}, transposed_in_shared),
               ContainsSubstring("block_k=256 is 256 bytes") && ContainsSubstring("layout nn"));
  CHECK(why_not_with({{"block_k", 128}}, transposed_in_shared) == "");
  const Kind tf32{DataType::kF32, DataType::kF32, DataType::kF32, "tt", Numerics::kTf32};
  const Problem from_registers = padded(tf32, {512, 512, 512});
  CHECK(why_not_with({{"block_k", 32}}, from_registers) == "");
  REQUIRE_THAT(why_not_with({{"block_k", 64}, {"stages", 2}}, from_registers),
               ContainsSubstring("block_k=64") && ContainsSubstring("need 128"));
  REQUIRE_THAT(why_not_with({{"block_k", 32}, {"in_flight", 0}}, from_registers),
               ContainsSubstring("in_flight=0"));
  // With two row blocks, a consumer keeps a second set of A's fragments.
  const Knobs wide{{"block_m", 256}, {"block_k", 32}, {"stages", 2}};
  CHECK(why_not_with(and_also(wide, {{"block_n", 160}}), from_registers) == "");
  REQUIRE_THAT(why_not_with(and_also(wide, {{"block_n", 176}}), from_registers),
               ContainsSubstring(room(208, 192, 2)));
}

TEST_CASE("wgmma's refusals of sizes name the size") {
  REQUIRE_THAT(why_not_with({}, padded({}, {64, 64, 0})), ContainsSubstring("K=0"));

  constexpr std::int64_t kMost = 2147483647 - 1024;
  const Knobs one_team{{"ping_pong", 1}, {"tensor_store", 0}};
  for (const auto& [letter, extent] : {std::pair("M=", &Problem::m),
                                       {"N=", &Problem::n},
                                       {"K=", &Problem::k},
                                       {"batch=", &Problem::batch}}) {
    Problem problem = batched(padded({}, {64, 64, 64}), 1);
    problem.*extent = kMost;
    CHECK(why_not_with(one_team, problem) == "");
    problem.*extent = kMost + 1;
    REQUIRE_THAT(why_not_with(one_team, problem),
                 ContainsSubstring(letter + std::to_string(kMost + 1) + " exceeds the"));
  }
  for (Matrix Problem::*matrix : {&Problem::a, &Problem::b, &Problem::d}) {
    for (std::int64_t Matrix::*stride : {&Matrix::leading_dimension, &Matrix::batch_stride}) {
      const int batch = stride == &Matrix::batch_stride ? 2 : 1;
      Problem problem = batched(padded({}, {64, 64, 64}), batch);
      problem.*matrix.*stride = (1ll << 39) - 8;
      CHECK(why_not_with({}, problem) == "");
      problem.*matrix.*stride = 1ll << 39;
      REQUIRE_THAT(why_not_with({}, problem), ContainsSubstring("stride"));
    }
  }
}

TEST_CASE("wgmma refuses a batch of interleaved matrices") {
  Problem problem = batched(padded({}, {64, 64, 64}), 2);
  problem.a.leading_dimension = 192;
  problem.a.batch_stride = 64;  // interleaved row by row
  REQUIRE_THAT(
      why_not_with({}, problem),
      ContainsSubstring("the matrices A of the batch are 64 elements apart, its lines 192"));
  problem.a.batch_stride = 192;
  CHECK(why_not_with({}, problem) == "");
}

TEST_CASE("wgmma's refusals of a schedule name the knobs, their values and the limit") {
  CHECK(why_not_with({}) == "");
  REQUIRE_THAT(why_not_with({{"colour", 1}}), ContainsSubstring("colour"));
  for (const int block_n : {8, 20, 264}) {
    REQUIRE_THAT(why_not_with({{"block_n", block_n}}),
                 ContainsSubstring("block_n=" + std::to_string(block_n)));
  }
  REQUIRE_THAT(why_not_with({{"cluster_m", 4}, {"cluster_n", 2}}),
               ContainsSubstring("cluster_m=4 and cluster_n=2") && ContainsSubstring("at most 4"));
  REQUIRE_THAT(why_not_with({{"ping_pong", 1}, {"consumers", 1}}),
               ContainsSubstring("consumers=1: ping_pong=1 needs two"));
  for (const auto& [block_m, consumers] : {std::pair(64, 2), {192, 2}, {256, 3}, {64, 3}}) {
    REQUIRE_THAT(why_not_with({{"block_m", block_m}, {"consumers", consumers}}),
                 ContainsSubstring("block_m=" + std::to_string(block_m) + " and consumers=" +
                                   std::to_string(consumers) + ": block_m must be 64 rows"));
  }
  CHECK(why_not_with({{"block_m", 64}, {"ping_pong", 1}}) == "");
  REQUIRE_THAT(why_not_with({{"block_k", 32}}),
               ContainsSubstring("block_k=32 is 64 bytes: it must be 128 or 256"));
  REQUIRE_THAT(why_not_with({{"block_k", 256}}), ContainsSubstring("block_k=256 is 512 bytes"));
  CHECK(why_not_with({{"block_k", 128}, {"stages", 2}}) == "");

  const Problem promoted = padded(fp8(Numerics::kPromoted), {512, 512, 512});
  for (const int in_flight : {0, 1}) {
    CHECK(why_not_with({{"block_k", 128}, {"in_flight", in_flight}}, promoted) == "");
  }
  // With in_flight=1 there are two sets of partial sums.
  const Knobs wide{{"block_k", 128}, {"block_n", 192}, {"stages", 4}};
  CHECK(why_not_with(wide, promoted) == room(96 + 2 * 96, 192, 2) + "; make the tile smaller");
  CHECK(why_not_with(and_also(wide, {{"in_flight", 0}}), promoted) == "");
  Problem scaled = promoted;
  scaled.scaling_a = Scaling::kBlock1x128;
  scaled.scaling_b = Scaling::kBlock128x128;
  CHECK(why_not_with(and_also(wide, {{"in_flight", 0}}), scaled) == "");
  REQUIRE_THAT(why_not_with({{"block_k", 256}, {"stages", 2}}, scaled),
               ContainsSubstring("block_k=256: scales of blocks need 128"));
  // Each column of B has factors in registers.
  std::swap(scaled.scaling_a, scaled.scaling_b);
  REQUIRE_THAT(why_not_with({{"block_k", 128}}, scaled), ContainsSubstring(room(224, 192, 2)));
  CHECK(why_not_with({{"block_k", 128}, {"in_flight", 0}}, scaled) == "");
}

TEST_CASE("wgmma's tiles are any multiple of 8 or of 16 wide") {
  std::vector<Kind> kinds = wgmma_kinds();
  kinds.push_back(fp8(Numerics::kFast, "nn"));
  for (const Kind& kind : kinds) {
    const Problem problem = padded(kind, {512, 512, 512});
    const int block_k = 128 / static_cast<int>(size_bytes(kind.a));
    const bool is_f64 = kind.a == DataType::kF64;
    const int in_flight = kind.numerics == Numerics::kPromoted || is_f64 ? 0 : 1;
    for (const int block_n : {16, 24, 136, 144, 184}) {
      INFO(to_text(problem) << ", block_n=" << block_n);
      const std::string why = why_not_with(
          {{"block_n", block_n}, {"block_k", block_k}, {"in_flight", in_flight}, {"stages", 2}},
          problem);
      const bool bytes_follow_n = size_bytes(kind.b) == 1 && problem.b.order == Order::kRowMajor;
      if ((kind.a == DataType::kS8 || bytes_follow_n) && block_n % 16 != 0) {
        REQUIRE_THAT(why, ContainsSubstring("block_n=" + std::to_string(block_n) + ": ") &&
                              ContainsSubstring("need a multiple of 16"));
      } else if (is_f64 && block_n > 136) {  // an accumulator has two registers
        REQUIRE_THAT(why, ContainsSubstring(room(block_n, 136, 2)));
      } else {
        CHECK(why == "");
      }
    }
  }
}

TEST_CASE("wgmma refuses clusters whose CTAs would load parts of 8 rows") {
  const Problem along_k = padded({.layout = "nt"}, {512, 512, 512});
  const Problem across_k = padded({.layout = "nn"}, {512, 512, 512});
  for (const int block_n : {16, 48, 80, 240}) {
    const Knobs four{{"block_n", block_n}, {"cluster_m", 4}, {"stages", 3}, {"consumers", 2}};
    REQUIRE_THAT(why_not_with(four, along_k),
                 ContainsSubstring("block_n=" + std::to_string(block_n) + " and cluster_m=4") &&
                     ContainsSubstring("multiple of 8 columns"));
    CHECK(why_not_with(four, across_k) == "");
    CHECK(why_not_with(and_also(four, {{"cluster_m", 2}}), along_k) == "");
    CHECK(why_not_with(and_also(four, {{"cluster_m", 1}, {"cluster_n", 4}}), along_k) == "");
  }
}

TEST_CASE("wgmma refuses tensor_store for a D that TMA cannot store") {
  Problem problem = padded({}, {512, 500, 512});
  REQUIRE_THAT(why_not_with({}, problem),
               ContainsSubstring("tensor_store=1") && ContainsSubstring("N=500") &&
                   ContainsSubstring("1000 bytes: they must be a multiple of 16"));
  CHECK(why_not_with({{"tensor_store", 0}}, problem) == "");
  REQUIRE_THAT(why_not_with({{"swap_ab", 1}}, problem), ContainsSubstring("N=500"));
  REQUIRE_THAT(why_not_with({{"swap_ab", 1}, {"tensor_store", 0}}),
               ContainsSubstring("swap_ab=1 needs tensor_store=1"));
  REQUIRE_THAT(why_not_with({{"epilogue_stages", 1}, {"tensor_store", 0}}),
               ContainsSubstring("epilogue_stages=1 needs tensor_store=1"));
  CHECK(why_not_with({{"epilogue_stages", 1}}) == "");
  CHECK(why_not_with({{"swap_ab", 1}}, padded({}, {500, 512, 512})) == "");
  problem = square_f16();
  problem.activation = Activation::kGeluTanh;
  CHECK(why_not_with({}, problem) == "");
  problem = make_problem(512, 512, 512, DataType::kS8, DataType::kS8, DataType::kS32, "nt");
  problem.activation = Activation::kGeluTanh;
  const Knobs bytes{{"block_k", 128}};
  REQUIRE_THAT(why_not_with(bytes, problem), ContainsSubstring("tensor_store=1") &&
                                                 ContainsSubstring("gelu_tanh") &&
                                                 ContainsSubstring("tensor_store=0"));
  CHECK(why_not_with(and_also(bytes, {{"tensor_store", 0}}), problem) == "");
  problem.activation = Activation::kLeakyRelu;
  CHECK(why_not_with(bytes, problem) == "");
  problem = square_f16();
  problem.d.alignment_bytes = 8;
  REQUIRE_THAT(why_not_with({}, problem),
               ContainsSubstring("rows of D are aligned to 8 bytes, and TMA needs 16"));
}

TEST_CASE("wgmma refuses tiles that need more accumulators than there are") {
  const Knobs two{{"block_m", 256}, {"block_n", 192}, {"stages", 2}};
  CHECK(why_not_with(two) == "");
  REQUIRE_THAT(why_not_with(and_also(two, {{"block_n", 208}})),
               ContainsSubstring(room(208, 192, 2)));
  REQUIRE_THAT(why_not_with({{"block_n", 208}, {"stages", 2}, {"ping_pong", 1}}),
               ContainsSubstring(room(208, 192, 2)));
  REQUIRE_THAT(why_not_with({{"block_n", 208}, {"consumers", 1}}),
               ContainsSubstring(room(208, 192, 1)));
  const Knobs three{{"block_m", 192}, {"block_n", 200}, {"stages", 2}, {"consumers", 3}};
  CHECK(why_not_with(three) == "");
  REQUIRE_THAT(why_not_with(and_also(three, {{"block_n", 208}})),
               ContainsSubstring(room(104, 100, 3)));

  // Instructions that read A from registers limit the registers, too.
  const Problem from_registers = padded(
      {DataType::kF32, DataType::kF32, DataType::kF32, "tt", Numerics::kTf32}, {512, 512, 512});
  REQUIRE_THAT(why_not_with(and_also(three, {{"block_k", 32}}), from_registers),
               ContainsSubstring(room(100, 96, 3)));
  CHECK(why_not_with(and_also(three, {{"block_k", 32}, {"block_n", 192}}), from_registers) == "");

  CHECK(why_not_with(and_also(two, {{"split_k", 2}})) == "");
  REQUIRE_THAT(why_not_with(and_also(three, {{"split_k", 2}})),
               ContainsSubstring(room(100, 83, 3)));
  CHECK(why_not_with(and_also(three, {{"block_n", 160}, {"split_k", 2}})) == "");

  Problem with_c = square_f16(), with_bias = square_f16();
  with_c.beta = ScalarClass::kOther;
  with_bias.bias = Bias::kPerRow;
  REQUIRE_THAT(why_not_with(two, with_bias), ContainsSubstring(room(192, 160, 2)));
  CHECK(why_not_with(and_also(two, {{"block_n", 160}}), with_bias) == "");
  REQUIRE_THAT(why_not_with(and_also(two, {{"block_n", 120}}), with_c),
               ContainsSubstring(room(120, 112, 2)));
  CHECK(why_not_with(and_also(two, {{"block_n", 112}}), with_c) == "");
  CHECK(why_not_with({{"block_m", 128}, {"block_n", 256}, {"stages", 2}}, with_c) == "");
  for (const Problem& problem : {with_c, with_bias}) {
    REQUIRE_THAT(why_not_with(three, problem), ContainsSubstring(room(100, 83, 3)));
    CHECK(why_not_with(and_also(three, {{"block_n", 160}}), problem) == "");
  }

  // With promotion, a thread has two sets of accumulators for 64 rows.
  const Problem promoted = padded(fp8(Numerics::kPromoted), {512, 512, 512});
  const Knobs twice{{"block_n", 192}, {"block_k", 128}, {"stages", 2}, {"in_flight", 0}};
  CHECK(why_not_with(twice, promoted) == "");
  REQUIRE_THAT(why_not_with(and_also(twice, {{"block_n", 208}}), promoted),
               ContainsSubstring(room(208, 192, 2)));
}

TEST_CASE("wgmma refuses configs that do not fit an SM or the workspace") {
  REQUIRE_THAT(why_not_with({{"block_n", 256}, {"stages", 5}}),
               ContainsSubstring("279552 bytes of shared memory") && ContainsSubstring("232448"));
  REQUIRE_THAT(why_not_with({{"split_k", 16}}, padded({}, {64, 64, 960})),
               ContainsSubstring("split_k=16") && ContainsSubstring("K=960"));
  // Each of the 8191 tiles has a counter for each of its two consumers.
  CHECK(why_not_with({{"split_k", 2}}, padded({}, {128, 128 * 8191, 4096})) == "");
  REQUIRE_THAT(why_not_with({{"split_k", 2}}, padded({}, {128, 128 * 8191 + 8, 4096})),
               ContainsSubstring("split_k=2") && ContainsSubstring("the workspace has 16382"));
}

TEST_CASE("wgmma's stages have room for the scales of blocks") {
  // A scale for each of 128 rows and, if 128 columns have one, the three of the tile; one more for
  // alignment.
  for (const auto& [scaling_b, scales] :
       {std::pair(Scaling::kBlock128x128, 128 + 4), {Scaling::kBlock1x128, 128 + 64}}) {
    Problem problem = padded(fp8(Numerics::kPromoted), {512, 512, 512});
    const Config config = wgmma_config({{"block_k", 128}, {"block_n", 64}, {"stages", 8}});
    const std::int64_t without_scales = WgmmaShape(problem, config).shared_bytes();
    problem.scaling_a = Scaling::kBlock1x128;
    problem.scaling_b = scaling_b;
    CHECK(WgmmaShape(problem, config).shared_bytes() ==
          without_scales + up_to_multiple(4 * 8 * scales, 1024));
  }
}

TEST_CASE("wgmma's shared memory and threads match the kernel's formulas") {
  for (const Kind& kind : wgmma_kinds()) {
    const Problem problem = padded(kind, {4096, 4096, 4096});
    for (const Config& config : wgmma_candidates_for(problem)) {
      INFO(to_text(config) << " for " << to_text(problem));
      const WgmmaShape shape(problem_of_kernel(problem, config), config);
      CHECK(shape.shared_bytes() == shared_bytes(problem, config));
      CHECK(shape.shared_bytes() <= wgmma_device().shared_bytes_per_block);
      CHECK(shape.threads() == 128 * (1 + config.at("consumers")));
    }
  }
  // With block_n = 48, the tile of a row-major B has whole rows of 128 bytes, which are 64 columns.
  // The tile of a column-major B has 48 columns.
  const Config narrow = wgmma_config({{"block_n", 48}});
  CHECK(WgmmaShape(padded({.layout = "nn"}, {512, 512, 512}), narrow).shared_bytes() ==
        4 * 64 * 2 * (128 + 64) + 2 * 16384 + 1024);
  CHECK(WgmmaShape(padded({.layout = "nt"}, {512, 512, 512}), narrow).shared_bytes() ==
        4 * 64 * 2 * (128 + 48) + 2 * 16384 + 1024);
}
