// Compiles the CUDA families' sources by NVRTC, without a GPU. They must compile for each
// architecture, rarely spill, and refuse the configs that their host halves refuse.

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <iostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/support/compile_check.h"
#include "tests/runtime/support/gemm_cases.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

namespace tunedgemm::internal {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Time for a sample: a machine with two cores compiles about 8 kernels per second.
constexpr std::chrono::seconds kSampleTime{60};
constexpr std::chrono::seconds kFullTime{300};
constexpr std::size_t kSamplesOfArchitecture = 24, kSamplesOfNarrowFamilies = 6;

// Practically unlimited resources, so that only the knobs can be the reason for a refusal.
DeviceLimits generous_limits() {
  DeviceLimits limits = limits_of(90);
  limits.max_threads_per_block = 1 << 20;
  limits.max_threads_per_sm = 1 << 20;
  limits.registers_per_sm = 1 << 30;
  limits.shared_bytes_per_block = limits.shared_bytes_per_sm = 1 << 30;
  return limits;
}

enum class Choice { kBestPredicted, kAny };

Config choose(const Family& family, const Problem& problem, const std::vector<Config>& legal,
              const DeviceLimits& limits, Choice choice, Random& random) {
  if (choice == Choice::kAny) {
    return legal[random() % legal.size()];
  }
  return *std::min_element(legal.begin(), legal.end(),
                           [&](const Config& left, const Config& right) {
                             return instance_of(family, problem, left, limits).predicted_us <
                                    instance_of(family, problem, right, limits).predicted_us;
                           });
}

// A problem for which the family has configs. It is small enough that split-K has a counter for
// each tile, even with tiles of 32 x 32. A family for few rows or columns gets one of each, since
// its kernel cannot assert their number, and a long K.
Problem problem_for(const Family& family) {
  for (const auto& [extent, depth] : {std::array{4032, 4096}, {1, 1 << 20}}) {
    for (const DataType type : {DataType::kF32, DataType::kF16}) {
      const CanonicalProblem problem =
          canonical(make_problem(extent, extent, depth, type, type, type, "nn"));
      if (!configs_of(family, problem, limits_of(90)).empty()) {
        return problem;
      }
    }
  }
  return {};
}

bool is_for_squares(const Family* family) {
  return problem_for(*family).m > 1;
}

// One sample of each of the families and element types, for an architecture chosen at random.
std::vector<CompileSample> draw_round(std::span<const Family* const> among, Choice choice,
                                      Random& random, std::span<const int> architectures) {
  std::vector<CompileSample> samples;
  for (const Family* family : among) {
    for (const TypeCase& types : all_type_cases()) {
      const int arch = architectures[random() % architectures.size()];
      const std::string_view layout =
          std::vector<std::string_view>{"nn", "nt", "tn", "tt"}[random() % 4];
      // Problems with few rows have other candidates. They are not drawn among the best predicted
      // candidates: there, simt spills a few bytes for fp8 with a transcendental activation and
      // split_k=16.
      const bool few_rows = choice != Choice::kBestPredicted && random() % 2 == 0;
      const std::int64_t m = few_rows ? 100 : 1000;
      const int activation = static_cast<int>(random() % std::size(kActivations.rows));
      const Problem problem_class =
          choice == Choice::kBestPredicted
              ? random_class(types, layout, activation, random)
              : random_class_of(*family, types, layout, activation, random);
      const Problem problem = is_for_squares(family) ? with_sizes(problem_class, m, 1000, 1000)
                                                     : narrow(problem_class, random);
      const std::vector<Config> legal = configs_of(*family, problem, limits_of(arch));
      if (!legal.empty()) {
        samples.push_back({family, arch, problem,
                           choose(*family, problem, legal, limits_of(arch), choice, random)});
      }
    }
  }
  return samples;
}

// Runs rounds until the time is over. Spills are limited only to save tuning time, since the tuner
// rejects configs that spill.
void compile_rounds(const cuda::Nvrtc& nvrtc, SteadyClock::duration time) {
  const SteadyClock::time_point end = SteadyClock::now() + time;
  Random random(1);  // always the same sample, so that failures repeat
  CompileReport all;
  do {
    const CompileReport round =
        compile_all(nvrtc, draw_round(families("cuda"), Choice::kAny, random, kArchitectures), end);
    all.compiled += round.compiled;
    all.spilling += round.spilling;
  } while (SteadyClock::now() < end);
  std::cout << all.compiled << " kernels compiled, " << all.spilling << " of them spill"
            << std::endl;
  CHECK(all.spilling * 10 <= all.compiled);
}

// The macro of a knob, spelled as in Family::common_defines.
std::string macro_of(std::string_view knob) {
  std::string macro(knob);
  std::transform(macro.begin(), macro.end(), macro.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return macro;
}

}  // namespace

TEST_CASE("a kernel with its includes in one text compiles alone", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  for (const Family* family : families("cuda")) {
    const Problem problem = problem_for(*family);
    const Config config = configs_of(*family, problem, limits_of(90)).front();
    Source source = instance_of(*family, problem, config, limits_of(90)).source();
    const std::string text = self_contained(source);
    source.file.text = text;
    source.includes = {};
    source.defines = {};
    const auto compiled = nvrtc.compile(source, 90);
    const auto* failure = std::get_if<CompileFailure>(&compiled);
    INFO(family->name() << ": " << (failure == nullptr ? "" : failure->log));
    CHECK(failure == nullptr);
  }
}

TEST_CASE("a family's best predicted configs compile for every architecture and hardly ever spill",
          "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  Random random(1);
  const auto never = SteadyClock::time_point::max();
  std::vector<CompileSample> samples;
  const auto draw = [&](std::span<const Family* const> among, std::size_t most) {
    for (const int arch : kArchitectures) {
      std::vector<CompileSample> round =
          draw_round(among, Choice::kBestPredicted, random, std::span(&arch, std::size_t{1}));
      std::shuffle(round.begin(), round.end(), random);
      // The first config of each family comes first, then the others.
      std::set<std::string_view> seen;
      std::stable_partition(round.begin(), round.end(), [&](const CompileSample& sample) {
        return seen.insert(sample.family->name()).second;
      });
      round.resize(std::min(round.size(), most));
      samples.insert(samples.end(), round.begin(), round.end());
    }
  };
  std::vector<const Family*> all(families("cuda").begin(), families("cuda").end());
  const auto for_few_rows = std::stable_partition(all.begin(), all.end(), is_for_squares);
  draw({all.begin(), for_few_rows}, kSamplesOfArchitecture);
  draw({for_few_rows, all.end()}, kSamplesOfNarrowFamilies);
  const CompileReport report = compile_all(nvrtc, samples, never);
  CHECK(report.spilling * 50 <= report.compiled);
}

TEST_CASE("a sample of each family's configs compiles", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  compile_rounds(nvrtc, kSampleTime);
}

TEST_CASE("many more of each family's configs compile", "[nvrtc][slow]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  compile_rounds(nvrtc, kFullTime);
}

TEST_CASE("kernels refuse a launch that differs from their host half's", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  const DeviceLimits limits = limits_of(90);
  for (const Family* family : families("cuda")) {
    const Problem problem = problem_for(*family);
    const std::vector<Config> legal = configs_of(*family, problem, limits);
    INFO(family->name());
    REQUIRE_FALSE(legal.empty());
    const Source source = instance_of(*family, problem, legal.front(), limits).source();
    const Launch launch = instance_of(*family, problem, legal.front(), limits).launch;
    const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    if (!legal.front().find("threads")) {  // else every number is valid
      CHECK(is_refused_by_assertion(nvrtc,
                                    with_define(source, "THREADS", std::to_string(threads + 32))));
    }
    CHECK(is_refused_by_assertion(
        nvrtc, with_define(source, "SHARED_BYTES", std::to_string(launch.shared_bytes + 16))));
  }
}

TEST_CASE("kernels refuse by static_assert the knobs that their host half refuses", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  const DeviceLimits limits = limits_of(90);
  const DeviceLimits generous = generous_limits();
  constexpr std::size_t kStarts = 3;
  for (const Family* family : families("cuda")) {
    const Problem problem = problem_for(*family);
    const std::vector<Config> legal = configs_of(*family, problem, limits);
    REQUIRE_FALSE(legal.empty());
    for (std::size_t start = 0; start < kStarts; ++start) {
      const Config& config = legal[start * (legal.size() - 1) / (kStarts - 1)];
      const Source source = instance_of(*family, problem, config, limits).source();
      for (const Knob& knob : family->knobs()) {
        for (const int value : knob.values) {
          Config changed = config;
          changed.set(knob.name, value);
          const std::string why_not = refusal(*family, problem, changed, generous);
          if (why_not.empty()) {
            continue;
          }
          INFO(family->name() << " " << to_text(changed) << ": " << why_not);
          CHECK(is_refused_by_assertion(
              nvrtc, with_define(source, macro_of(knob.name), std::to_string(value))));
        }
      }
    }
  }
}

}  // namespace tunedgemm::internal
