// A family for another architecture needs only its own folder and a line in the list of families.
// The family in this test is for compute capability 10.0. Its base classes Family and CudaFamily
// suffice, although it has three tensor maps, a kernel that runs before the main kernel, and
// parameters that only its kernel interprets.

#include <array>
#include <cstdint>
#include <string>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/geometry.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;

namespace {

// Parameters, as kernel_parameters.cuh in the family's folder would declare them.
struct ClusterSchedule {
  int clusters_m, clusters_n;
  unsigned char preferred_cluster[8];
};
struct ScaleLayout {
  long long offset, pitch;
};

class Tcgen05 final : public CudaFamily {
 public:
  // The file stands for the family's own kernel.cu.
  Tcgen05()
      : CudaFamily("tcgen05", "cuda/naive/naive_1d.cu",
                   {{"block_n", {128, 256}, "columns of a tile", Knob::kTile},
                    {"programmatic", {1, 0}, "1: may start early", Knob::kLaunch}}) {}

  Instantiation make_instance(const Problem& problem, const Config& config,
                              const DeviceLimits& limits) const override {
    if (std::string why = why_not_device(config, limits, 100); !why.empty()) {
      return why;
    }
    const auto tiles_m = static_cast<std::uint32_t>(ceil_divide(problem.m, 128));
    const auto tiles_n = static_cast<std::uint32_t>(ceil_divide(problem.n, config.at("block_n")));
    Instance instance = begin_instance(problem, config);
    instance.launch = {
        .grid = {tiles_m * tiles_n, 1, 1},
        .block = {192, 1, 1},
        .shared_bytes = 200 << 10,
        .workspace_bytes = kWorkspaceCounterBytes + 4096,
        .programmatic = config.at("programmatic") == 1 ? ProgrammaticLaunch::kAfterOwn
                                                       : ProgrammaticLaunch::kNever,
        .triggers_next = true,
        .tensor_map_count = 3,
        .tensor_maps = {map(TensorMap::Operand::kA, problem.a, problem.m, problem.k),
                        map(TensorMap::Operand::kB, problem.b, problem.n, problem.k),
                        map(TensorMap::Operand::kC, problem.c, problem.m, problem.n)},
        .parameters = ParameterBytes(ClusterSchedule{.clusters_m = static_cast<int>(tiles_m),
                                                     .clusters_n = static_cast<int>(tiles_n),
                                                     .preferred_cluster = {4}}),
        .prologue = {.entry = "tunedgemm_tcgen05_scales",
                     .grid = 1,
                     .block = 256,
                     .parameters = ParameterBytes(
                         ScaleLayout{.offset = kWorkspaceCounterBytes, .pitch = 128})}};
    instance.predicted_us = 1;
    instance.needs_exact_architecture = true;
    return instance;
  }

 private:
  static TensorMap map(TensorMap::Operand operand, const Matrix& matrix, std::int64_t rows,
                       std::int64_t columns) {
    return {.operand = operand,
            .type = matrix.type,
            .extent = {columns, rows, 1},
            .stride_bytes = {matrix.leading_dimension * size_bytes(matrix.type), 0},
            .box = {64, 128},
            .span_bytes = 128};
  }
};

}  // namespace

TEST_CASE("A family of another architecture brings all that its launch needs in its own folder") {
  const Tcgen05 family;
  DeviceLimits b200;
  b200.backend = "cuda";
  b200.arch = 100;
  b200.sm_count = 148;
  Problem problem = make_problem(512, 1024, 256, DataType::kF16, DataType::kF16, DataType::kF16);
  problem.b.order = Order::kColumnMajor;
  problem.b.leading_dimension = 256;
  const std::vector<Instance> candidates = family.candidates(problem, b200);
  REQUIRE(candidates.size() == 4);
  const Launch& launch = candidates.front().launch;
  CHECK(launch.grid[0] == 4 * 8);
  CHECK(launch.tensor_map_count == 3);
  CHECK(launch.tensor_maps[2].operand == TensorMap::Operand::kC);
  CHECK(launch.parameters.as<ClusterSchedule>().clusters_n == 8);
  CHECK(launch.prologue.parameters.as<ScaleLayout>().pitch == 128);
  CHECK(launch_variants(candidates.front(), b200).size() == 2);
  CHECK(candidates.front().source().entry == "tunedgemm_tcgen05");
  b200.arch = 90;
  CHECK(family.candidates(problem, b200).empty());
}
