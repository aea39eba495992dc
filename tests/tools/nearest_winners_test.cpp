// The winners that `tunedgemm explain` names for a problem without one.

#include "tools/tunedgemm/nearest_winners.h"

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

CanonicalProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return canonical(make_problem(m, n, k, DataType::kF16, DataType::kF16, DataType::kF16));
}

DeviceIdentity gpu(const std::string& name) {
  return {.backend = "cuda", .name = name, .compute_capability = 90};
}

WinnerWithState winner(const Problem& of, const std::string& device = "NVIDIA H100",
                       const std::string& state = "confirmed") {
  WinnerWithState result{.record = {}, .state = state, .name = ""};
  result.record.problem = canonical(of);
  result.record.device = gpu(device);
  return result;
}

std::vector<MissedWinner> nearest(const Problem& asked, const std::vector<WinnerWithState>& winners,
                                  std::size_t count = 1) {
  return nearest_winners(asked, gpu("NVIDIA H100"), winners, count);
}

TEST_CASE("Packed matrices of other extents differ in the extents alone") {
  const auto found = nearest(problem(500, 768, 64), {winner(problem(512, 768, 64))});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].differences == std::vector<DifferingField>{{"m", "512", "500"}});
  REQUIRE(differences_text(found[0]) == "m is 512, not 500");
}

TEST_CASE("A stride, an alignment or a bias that differs is named with both values") {
  Problem asked = problem(512, 768, 64);
  asked.a.leading_dimension = 72;
  asked.b.alignment_bytes = 2;
  asked.bias = Bias::kPerRow;
  const auto found = nearest(asked, {winner(problem(512, 768, 64))});
  REQUIRE(found[0].differences ==
          std::vector<DifferingField>{{"leading_dimension_a", "64", "72"},
                                      {"alignment_b", "16", "2"},
                                      {"bias", "none", std::string(name(Bias::kPerRow))}});
}

TEST_CASE("A batch stride is a difference only if it does not follow from the extents") {
  Problem batched = problem(512, 768, 64);
  batched.batch = 4;
  batched.a.batch_stride = 512 * 64;
  batched.b.batch_stride = 64 * 768;
  batched.c.batch_stride = batched.d.batch_stride = 512 * 768;
  Problem smaller = problem(256, 768, 64);
  smaller.batch = 4;
  smaller.a.batch_stride = 256 * 64;
  smaller.b.batch_stride = 64 * 768;
  smaller.c.batch_stride = smaller.d.batch_stride = 256 * 768;
  CHECK(nearest(smaller, {winner(batched)})[0].differences ==
        std::vector<DifferingField>{{"m", "512", "256"}});
  smaller.a.batch_stride = 0;
  CHECK(nearest(smaller, {winner(batched)})[0].differences ==
        std::vector<DifferingField>{{"m", "512", "256"}, {"batch_stride_a", "32768", "0"}});
}

TEST_CASE("The nearest winner differs in few fields, then little in its extents") {
  Problem with_bias = problem(500, 768, 64);
  with_bias.bias = Bias::kPerRow;
  const std::vector<WinnerWithState> winners{
      winner(with_bias), winner(problem(4096, 768, 64)), winner(problem(512, 768, 64)),
      winner(problem(500, 768, 64), "NVIDIA H200"), winner(problem(500, 1536, 64))};
  const auto found = nearest(problem(500, 768, 64), winners, 10);
  REQUIRE(found.size() == 5);
  CHECK(found[0].record.problem->m == 512);
  CHECK(found[1].record.problem->n == 1536);
  CHECK(found[2].record.problem->m == 4096);
  CHECK(found[3].differences.front().field == "bias");
  CHECK(found[4].differences.front().field == "device");
  CHECK(nearest(problem(500, 768, 64), winners, 2).size() == 2);
  CHECK(nearest(problem(500, 768, 64), {}, 2).empty());
}

TEST_CASE("A void winner of the problem itself is named as such") {
  const auto found =
      nearest(problem(512, 768, 64), {winner(problem(512, 768, 64), "NVIDIA H100", "void")});
  REQUIRE(found[0].differences.empty());
  REQUIRE(differences_text(found[0]) == "its kernel's template has changed since");
}

}  // namespace
}  // namespace tunedgemm::internal
