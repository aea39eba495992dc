// The fields of a problem that cut its candidates: invariant and sm_limit.

#include <algorithm>
#include <optional>
#include <vector>

#include "kernel_templates/family.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"

using namespace tunedgemm::internal;

namespace {

struct Types {
  DataType in, out;
  Numerics numerics = Numerics::kIeee;
  /// Of sm_90.
  AccumulationClass expected = AccumulationClass::kMma;
};
constexpr Types kTypes[] = {
    {DataType::kF32, DataType::kF32, Numerics::kIeee, AccumulationClass::kInOrder},
    {DataType::kF32, DataType::kF32, Numerics::kTf32, AccumulationClass::kWgmma},
    {DataType::kF32, DataType::kF32, Numerics::kEmulated},
    {DataType::kF64, DataType::kF64, Numerics::kIeee, AccumulationClass::kWgmma},
    {DataType::kF16, DataType::kF16},
    {DataType::kBF16, DataType::kF32},
    {DataType::kS8, DataType::kS32},
    {DataType::kE4M3, DataType::kF16, Numerics::kFast, AccumulationClass::kWgmma},
    {DataType::kE5M2, DataType::kBF16, Numerics::kPromoted, AccumulationClass::kWgmma}};
constexpr std::int64_t kSizesOfM[] = {1, 2, 17, 128, 4001};

// With rows of the natural alignment, or, as views of wider matrices, with the least one.
std::vector<Problem> problems_of(const Types& types, std::int64_t m) {
  std::vector<Problem> problems;
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{1000, 4096}, {3, 7}}) {
      Problem problem = make_problem(m, n, k, types.in, types.in, types.out, layout);
      problem.numerics = types.numerics;
      problem.bias = Bias::kPerColumn;
      problems.push_back(problem);
      for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
        matrix->leading_dimension += 1;
        matrix->alignment_bytes = static_cast<std::int32_t>(size_bytes(matrix->type));
      }
      problems.push_back(problem);
    }
  }
  return problems;
}

DeviceLimits device(std::string_view backend, int arch) {
  DeviceLimits limits = backend == "cuda" ? h200() : DeviceLimits();
  limits.arch = arch;
  return limits;
}

std::int64_t ctas(const Launch& launch) {
  return std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

}  // namespace

TEST_CASE("An invariant problem has candidates of one class, whatever M, layout and alignment") {
  for (const auto& [backend, arch] : {std::pair("cuda", 80), std::pair("cuda", 90),
                                      std::pair("cuda", 100), std::pair("host", 0)}) {
    const DeviceLimits limits = device(backend, arch);
    for (const Types& types : kTypes) {
      std::optional<AccumulationClass> only;
      for (const std::int64_t m : kSizesOfM) {
        for (Problem problem : problems_of(types, m)) {
          problem.invariant = 1;
          INFO(to_text(problem) << " on " << backend << " " << arch);
          const std::vector<Instance> candidates = ranked_candidates(canonical(problem), limits);
          REQUIRE_FALSE(candidates.empty());
          for (const Instance& candidate : candidates) {
            const AccumulationClass own =
                accumulation_class(candidate.candidate, candidate.problem, limits);
            only = only.value_or(own);
            REQUIRE(own == only);
          }
        }
      }
      REQUIRE(only != AccumulationClass::kNone);
      if (arch == 90) {
        CHECK(only == types.expected);
      }
    }
  }
}

TEST_CASE("An invariant problem refuses split-K and kernels of other classes by a sentence") {
  Problem problem =
      make_problem(16, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16, "nt");
  const std::vector<Instance> all = ranked_candidates(problem, h200());
  problem.invariant = 1;
  int refused = 0;
  for (const Instance& instance : all) {
    const Instantiation made = instantiate(problem, instance.candidate, h200());
    const bool splits = instance.candidate.config.find("split_k").value_or(1) > 1;
    if (splits) {
      REQUIRE(made.why_not() ==
              "invariant=1 needs a kernel of the accumulation class mma, and this one is of none");
    }
    refused += made ? 0 : 1;
  }
  CHECK(refused > 0);
  CHECK(refused < static_cast<int>(all.size()));
}

TEST_CASE("Sums of integers may be split: their bits are the same in any order") {
  Problem problem =
      make_problem(16, 4096, 16384, DataType::kS8, DataType::kS8, DataType::kS32, "nt");
  problem.invariant = 1;
  CHECK(std::ranges::any_of(ranked_candidates(problem, h200()), [](const Instance& instance) {
    return instance.candidate.config.find("split_k").value_or(1) > 1;
  }));
}

TEST_CASE("A launch has at most as many CTAs as its problem may use SMs") {
  for (const int arch : {80, 90}) {
    const DeviceLimits limits = device("cuda", arch);
    for (const Types& types : kTypes) {
      for (const std::int64_t m : kSizesOfM) {
        for (Problem problem : problems_of(types, m)) {
          for (const int sm_limit : {1, 7, 112, 1000}) {
            problem.sm_limit = sm_limit;
            INFO(to_text(problem) << " on " << arch);
            const std::vector<Instance> candidates = ranked_candidates(canonical(problem), limits);
            REQUIRE_FALSE(candidates.empty());
            for (const Instance& candidate : candidates) {
              REQUIRE(ctas(candidate.launch) <= sm_limit);
              REQUIRE(candidate.launch.prologue.grid <= static_cast<unsigned>(sm_limit));
              REQUIRE(candidate.predicted_us > 0);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("The source of a kernel with an sm_limit is the same for every M") {
  for (const DataType type : {DataType::kF16, DataType::kF32}) {
    Problem small = make_problem(64, 256, 512, type, type, type);
    Problem large = make_problem(8192, 8192, 512, type, type, type);
    small.sm_limit = large.sm_limit = 100;
    for (const Instance& instance : ranked_candidates(large, h200())) {
      const Instantiation same = instantiate(small, instance.candidate, h200());
      if (same && instance.candidate.config.find("split_k").value_or(1) == 1) {
        REQUIRE(fingerprint(same->source()) == fingerprint(instance.source()));
      }
    }
  }
}

TEST_CASE("invariant and sm_limit are parts of the text and the key, and absent by default") {
  Problem problem = make_problem(8, 8, 8, DataType::kF16, DataType::kF16, DataType::kF16);
  CHECK(to_text(problem).find("invariant") == std::string::npos);
  CHECK(to_text(problem).find("sm_limit") == std::string::npos);
  const std::string key = fingerprint(canonical(problem));
  problem.invariant = 1;
  const std::string invariant_key = fingerprint(canonical(problem));
  problem.sm_limit = 112;
  CHECK(to_text(problem).ends_with(" invariant=1 sm_limit=112"));
  CHECK(parse_problem(to_text(problem)) == problem);
  CHECK(key != invariant_key);
  CHECK(invariant_key != fingerprint(canonical(problem)));
  problem.sm_limit = -1;
  CHECK(why_not(problem) == "sm_limit is -1; use 0, for all SMs, or more");
}
