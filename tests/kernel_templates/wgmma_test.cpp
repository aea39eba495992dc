// The launches of the wgmma family's host half, checked without a GPU or a compiler.

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/wgmma/wgmma.h"
#include "tests/kernel_templates/support/wgmma_cases.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

Launch launch(const Problem& problem, const Knobs& changes = {},
              const DeviceLimits& limits = wgmma_device()) {
  const Config config = wgmma_config(changes);
  REQUIRE(refusal(wgmma_family(), problem, config, limits) == "");
  return instance_of(wgmma_family(), problem, config, limits).launch;
}

OperandPadding padding_of(const Launch& launch) {
  return launch.prologue.parameters.as<OperandPadding>();
}

/// The map of a single matrix, with boxes of this many rows of 128 bytes.
TensorMap map_of(TensorMap::Operand operand, DataType type, std::array<std::int64_t, 2> extent,
                 std::int64_t stride_bytes, int lines) {
  return {.operand = operand,
          .type = type,
          .extent = {extent[0], extent[1], 1},
          .stride_bytes = {stride_bytes, stride_bytes},
          .box = {static_cast<int>(128 / size_bytes(type)), lines},
          .span_bytes = 128};
}

/// "0, 1", or "16 to 256 by 8" for four or more values in equal steps.
std::string values_text(const std::vector<int>& values) {
  const int step = values[1] - values[0];
  bool equal_steps = values.size() >= 4;
  std::string list = std::to_string(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i) {
    equal_steps = equal_steps && values[i] - values[i - 1] == step;
    list += ", " + std::to_string(values[i]);
  }
  return !equal_steps ? list
                      : std::to_string(values.front()) + " to " + std::to_string(values.back()) +
                            (step == 1 ? "" : " by " + std::to_string(step));
}

}  // namespace

TEST_CASE("The README of wgmma has a row for every knob, with its values and meaning") {
  std::ostringstream expected;
  expected << "\n| knob | values | meaning |\n|---|---|---|\n";
  for (const Knob& knob : wgmma_family().knobs()) {
    INFO(knob.name);
    REQUIRE(knob.values.size() >= 2);
    expected << "| `" << knob.name << "` | " << values_text(knob.values) << " | " << knob.meaning
             << " |\n";
  }
  expected << '\n';
  std::ostringstream readme;
  readme << std::ifstream(TUNEDGEMM_SOURCE_FOLDER "/kernel_templates/cuda/wgmma/README.md").rdbuf();
  CHECK_THAT(readme.str(), ContainsSubstring(expected.str()));
}

TEST_CASE("wgmma's default config is legal") {
  const Problem problem = padded({}, {4096, 4096, 4096});
  const Config config = config_of(WgmmaShape(problem, wgmma::Shape{}));
  CHECK(refusal(wgmma_family(), problem, config, wgmma_device()) == "");
}

TEST_CASE("wgmma's refusals of a device name its compute capability") {
  const auto why = [](int arch) {
    return refusal(wgmma_family(), padded({}, {512, 512, 512}), wgmma_config(), wgmma_device(arch));
  };
  CHECK(why(90) == "");
  CHECK_THAT(why(89), ContainsSubstring("8.9") && ContainsSubstring("9.0"));
  CHECK_THAT(why(100), ContainsSubstring("10.0") && ContainsSubstring("9.0a"));
}

TEST_CASE("wgmma overlaps with earlier kernels if config and launch regime say so") {
  Problem problem =
      canonical(make_problem(4096, 4096, 4096, DataType::kF16, DataType::kF16, DataType::kF16));
  const auto instance = [&](int programmatic) {
    return instance_of(wgmma_family(), problem, wgmma_config({{"programmatic", programmatic}}),
                       wgmma_device());
  };
  CHECK(instance(1).launch.programmatic == ProgrammaticLaunch::kAfterOwn);
  CHECK(instance(0).launch.programmatic == ProgrammaticLaunch::kNever);
  problem.launch_regime = LaunchRegime::kBackToBack;
  CHECK(instance(1).launch.programmatic == ProgrammaticLaunch::kAlways);
  CHECK(instance(0).launch.programmatic == ProgrammaticLaunch::kNever);
  CHECK(instance(0).launch.triggers_next);

  // The machine code is the same.
  CHECK(fingerprint(instance(1).source()) == fingerprint(instance(0).source()));
  const auto variants = launch_variants(instance(0), wgmma_device());
  REQUIRE(variants.size() == 2);
  CHECK(variants[0] == instance(0));
  CHECK(variants[1] == instance(1));
}

TEST_CASE("wgmma's grid is whole clusters, no more than can run at once or have work") {
  for (const int sm_count : {132, 131, 3, 1}) {
    const DeviceLimits limits = wgmma_device(90, sm_count);
    for (const Size& size : {Size{4096, 4096, 4096}, {300, 200, 8192}, {64, 16, 64}}) {
      for (const std::int64_t batch : {1, 5}) {
        const Problem problem = batched(padded({}, size), batch);
        for (const Config& config : wgmma_candidates_for(problem, limits)) {
          INFO(to_text(config) << " for " << to_text(problem) << " on " << sm_count);
          const Launch started = instance_of(wgmma_family(), problem, config, limits).launch;
          const std::int64_t cluster = config.at("cluster_m") * config.at("cluster_n");
          const std::int64_t at_a_time = std::max(sm_count / cluster * cluster, cluster);
          const std::int64_t works = wgmma_works(problem, config);
          const std::int64_t most = std::min(at_a_time, works * cluster);
          CHECK(started.grid[0] >= 1);
          CHECK(started.grid[0] % cluster == 0);
          CHECK(started.grid[0] <= most);
          const auto rounds_of = [&](std::int64_t blocks) {
            return (works * cluster + blocks - 1) / blocks;
          };
          CHECK((cluster == 4 || rounds_of(started.grid[0]) == rounds_of(most)));
          CHECK(started.grid[1] == 1);
          CHECK(started.grid[2] == 1);
        }
      }
    }
  }
}

TEST_CASE("wgmma's tensor maps cut rows of 128 bytes, along K or across it") {
  using Operand = TensorMap::Operand;
  const TensorMap a_along_k = map_of(Operand::kA, DataType::kF16, {500, 300}, 1008, 128);
  const TensorMap a_across_k = map_of(Operand::kA, DataType::kF16, {300, 500}, 608, 64);
  const TensorMap b_along_k = map_of(Operand::kB, DataType::kF16, {500, 200}, 1008, 96);
  const TensorMap b_across_k = map_of(Operand::kB, DataType::kF16, {200, 500}, 400, 64);
  const auto maps = [](std::string_view layout) {
    const Problem problem = padded({.layout = layout}, {300, 200, 500});
    const auto all = launch(problem, {{"block_n", 96}}).tensor_maps;
    return std::array{all[0], all[1]};
  };
  CHECK(maps("nn") == std::array{a_along_k, b_across_k});
  CHECK(maps("nt") == std::array{a_along_k, b_along_k});
  CHECK(maps("tn") == std::array{a_across_k, b_across_k});
  CHECK(maps("tt") == std::array{a_across_k, b_along_k});
}

TEST_CASE("wgmma's tensor maps have an entry for each stored matrix of a batch") {
  const auto entries = [](const Problem& problem) {
    const auto maps = launch(problem).tensor_maps;
    return std::array{maps[0].extent[2], maps[1].extent[2], maps[2].extent[2]};
  };
  const auto strides_of_a = [](const Problem& problem) {
    return launch(problem).tensor_maps[0].stride_bytes;
  };
  using Entries = std::array<std::int64_t, 3>;
  using Strides = std::array<std::int64_t, 2>;
  Problem problem = batched(padded({}, {256, 128, 64}), 3);
  CHECK(entries(problem) == Entries{3, 3, 3});
  CHECK(strides_of_a(problem) == Strides{64 * 2, 64 * 256 * 2});
  problem.a.batch_stride = 0;
  CHECK(entries(problem) == Entries{1, 3, 3});
  problem.a.leading_dimension = 192;
  problem.a.batch_stride = 192 * 300;
  problem.b.batch_stride = 0;
  CHECK(entries(problem) == Entries{3, 1, 3});
  CHECK(strides_of_a(problem) == Strides{192 * 2, 192 * 300 * 2});
  problem.batch = 1;
  CHECK(entries(problem) == Entries{1, 1, 1});
}

TEST_CASE("wgmma's D is copied by columns if A and B are swapped") {
  using Operand = TensorMap::Operand;
  const Problem problem = padded({}, {300, 200, 500});
  const Launch swapped = launch(problem, {{"swap_ab", 1}, {"block_n", 80}});
  CHECK(swapped.swaps_operands);
  CHECK_FALSE(launch(problem).swaps_operands);
  // B, which is not K-major, becomes the kernel's A.
  CHECK(swapped.tensor_maps[0] == map_of(Operand::kA, DataType::kF16, {200, 500}, 400, 64));
  CHECK(swapped.tensor_maps[1] == map_of(Operand::kB, DataType::kF16, {500, 300}, 1008, 80));
  CHECK(swapped.tensor_maps[2] == map_of(Operand::kD, DataType::kF16, {200, 300}, 400, 16));
  // 200 columns in blocks of 128, 300 rows in blocks of 80.
  CHECK(swapped.grid[0] == 2 * 4);
  const Problem of_f32 = padded({.d = DataType::kF32}, {300, 200, 500});
  CHECK(launch(of_f32, {{"swap_ab", 1}, {"block_n", 80}}).tensor_maps[2] ==
        map_of(Operand::kD, DataType::kF32, {200, 300}, 800, 16));
  CHECK(launch(problem, {{"swap_ab", 1}, {"block_n", 88}}).tensor_maps[2] ==
        swapped.tensor_maps[2]);
}

TEST_CASE("wgmma needs a workspace only for split K, also for tiles outside D") {
  const Problem problem = batched(padded({}, {300, 200, 4096}), 3);
  const auto bytes_for = [](int tiles) {
    return kWorkspaceCounterBytes + std::int64_t{3} * tiles * 4 * 128 * 128 * 4;
  };
  CHECK(launch(problem).workspace_bytes == 0);
  CHECK(launch(problem, {{"split_k", 4}}).workspace_bytes == bytes_for(3 * 2));
  CHECK(launch(problem, {{"split_k", 4}, {"ping_pong", 1}}).workspace_bytes == bytes_for(3 * 2));
  CHECK(launch(problem, {{"split_k", 4}, {"cluster_m", 2}}).workspace_bytes == bytes_for(4 * 2));
  CHECK(launch(problem, {{"split_k", 4}, {"cluster_n", 4}}).workspace_bytes == bytes_for(3 * 4));
}

TEST_CASE("wgmma copies operands with unaligned rows to the workspace and pads each row") {
  Problem problem =
      canonical(make_problem(100, 67, 1003, DataType::kF16, DataType::kF16, DataType::kF16));
  REQUIRE(problem.a.alignment_bytes == 2);
  REQUIRE(problem.b.alignment_bytes == 2);
  problem.d.alignment_bytes = 2;
  const Launch both = launch(problem, {{"tensor_store", 0}});
  const std::int64_t bytes_a = 100 * 2048, bytes_b = 1003 * 256;  // rows of 2006 and of 134 bytes
  CHECK(padding_of(both).pitch_a == 2048);
  CHECK(padding_of(both).pitch_b == 256);
  CHECK(padding_of(both).offset_a == kWorkspaceCounterBytes);
  CHECK(padding_of(both).offset_b == kWorkspaceCounterBytes + bytes_a);
  CHECK(both.prologue.grid > 0);
  CHECK(both.needs_workspace());
  CHECK(both.workspace_bytes >= padding_of(both).offset_b + bytes_b);
  CHECK(both.tensor_maps[0].workspace_offset == padding_of(both).offset_a);
  CHECK(both.tensor_maps[1].workspace_offset == padding_of(both).offset_b);
  CHECK(both.tensor_maps[0].stride_bytes[0] == 2048);
  CHECK(both.tensor_maps[1].stride_bytes[0] == 256);
  CHECK(both.tensor_maps[0].extent == std::array<std::int64_t, 3>{1003, 100, 1});

  // The copies follow the partial tiles. An aligned operand is not copied. An operand that all
  // batch indices share is copied once.
  problem.a.alignment_bytes = 16;
  problem.a.leading_dimension = 1008;
  problem.batch = 3;
  problem.a.batch_stride = 100 * 1008;
  problem.b.batch_stride = 0;
  problem.d.batch_stride = 100 * 67;
  const Launch one = launch(problem, {{"tensor_store", 0}, {"split_k", 2}});
  CHECK(padding_of(one).pitch_a == 0);
  CHECK(one.tensor_maps[0].workspace_offset == 0);
  CHECK(one.tensor_maps[0].stride_bytes[0] == 2016);
  Problem aligned = problem;
  aligned.b.alignment_bytes = 16;
  aligned.b.leading_dimension = 72;
  const Launch unpadded = launch(aligned, {{"tensor_store", 0}, {"split_k", 2}});
  CHECK(unpadded.prologue == Prologue());
  CHECK(padding_of(one).offset_b >= unpadded.workspace_bytes);
  CHECK(padding_of(one).offset_b % 256 == 0);
  CHECK(one.workspace_bytes >= padding_of(one).offset_b + bytes_b);
  CHECK(one.workspace_bytes < padding_of(one).offset_b + 2 * bytes_b);
  CHECK(one.tensor_maps[1].extent[2] == 1);

  problem.b.batch_stride = 1003 * 67;
  const Launch each = launch(problem, {{"tensor_store", 0}});
  CHECK(each.tensor_maps[1].stride_bytes[1] == bytes_b);
  CHECK(each.tensor_maps[1].extent[2] == 3);
  CHECK(each.workspace_bytes >= padding_of(each).offset_b + 3 * bytes_b);

  DeviceLimits small = wgmma_device();
  small.memory_bytes = bytes_b;
  CHECK_THAT(refusal(wgmma_family(), problem, wgmma_config({{"tensor_store", 0}}), small),
             ContainsSubstring("quarter of the device's memory"));
}

TEST_CASE("Each wgmma cluster has an id, and the ids of a GPC are consecutive") {
  const Problem problem = padded({}, {4096, 4096, 4096});
  CHECK(launch(problem).parameters == ParameterBytes(GpcClusterRanges{}));
  for (const int cluster_m : {1, 2, 4}) {
    INFO("cluster_m=" << cluster_m);
    const Launch started = launch(problem, {{"gpc_aware", 1}, {"cluster_m", cluster_m}});
    CHECK(started.workspace_bytes == kWorkspaceCounterBytes);
    CHECK(started.workspace_is_optional);
    CHECK(without_workspace(started).workspace_bytes == 0);
    CHECK(without_workspace(started).parameters == ParameterBytes(GpcClusterRanges{}));
    const auto ranges = started.parameters.as<GpcClusterRanges>();
    REQUIRE(ranges.gpcs == 8);
    CHECK(ranges.first[0] == 0);
    CHECK(ranges.first[8] * cluster_m == static_cast<int>(started.grid[0]));
    for (std::size_t gpc = 0; gpc < 8; ++gpc) {
      const int room = (gpc < 2 ? 18 : 16) / cluster_m;  // 132 SMs, in pairs
      CHECK(ranges.first[gpc + 1] >= ranges.first[gpc]);
      CHECK(ranges.first[gpc + 1] - ranges.first[gpc] <= room);
    }
    CHECK(ranges.gpc_of_sm[17] == 0);
    CHECK(ranges.gpc_of_sm[131] == 1);
  }
  // With split-K slices, the workspace has the same size with and without gpc_aware.
  const Knobs parts{{"gpc_aware", 1}, {"split_k", 2}};
  CHECK(launch(problem, parts).workspace_bytes ==
        launch(problem, {{"split_k", 2}}).workspace_bytes);
  CHECK_FALSE(launch(problem, parts).workspace_is_optional);
  DeviceLimits unknown = wgmma_device(), too_many_gpcs = unknown, too_many_sms = unknown;
  unknown.gpc_of_sm.clear();
  too_many_gpcs.gpc_of_sm.back() = kMostGpcs;
  too_many_sms.gpc_of_sm.resize(kMostSms + 1);
  for (const DeviceLimits& limits : {unknown, too_many_gpcs, too_many_sms}) {
    const Launch by_number = launch(problem, {{"gpc_aware", 1}}, limits);
    CHECK(by_number.parameters == ParameterBytes(GpcClusterRanges{}));
    CHECK(by_number.workspace_bytes == 0);
    CHECK_FALSE(by_number.workspace_is_optional);
    for (const Config& config : wgmma_candidates_for(problem, limits)) {
      CHECK(config.at("gpc_aware") == 0);
    }
  }
}

TEST_CASE("Cluster ids are divided among all GPCs, and none is lost") {
  DeviceLimits limits = wgmma_device();
  limits.gpc_of_sm = {0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 2};  // 4, 6 and 1
  const auto firsts = [&](int clusters, int cluster) {
    const GpcClusterRanges ranges = gpc_cluster_ranges(clusters, cluster, limits);
    REQUIRE(ranges.gpcs == 3);
    for (int gpc = 3; gpc <= kMostGpcs; ++gpc) {
      CHECK(ranges.first[gpc] == clusters);  // the other GPCs have none
    }
    return std::vector<int>(ranges.first, ranges.first + 4);
  };
  CHECK(firsts(1, 1) == std::vector{0, 1, 1, 1});
  CHECK(firsts(5, 1) == std::vector{0, 2, 4, 5});
  CHECK(firsts(11, 1) == std::vector{0, 4, 10, 11});
  CHECK(firsts(5, 2) == std::vector{0, 2, 5, 5});
  CHECK(firsts(20, 2) == std::vector{0, 2, 5, 20});  // more clusters than room
}
