#include "tests/kernel_templates/support/wgmma_cases.h"

#include <algorithm>

#include "tests/support/gpus.h"
#include "tests/support/instances.h"

namespace tunedgemm::internal {

DeviceLimits wgmma_device(int arch, int sm_count) {
  DeviceLimits limits = h200();
  limits.arch = arch;
  limits.sm_count = sm_count;
  limits.gpc_of_sm = eight_gpcs(sm_count);
  return limits;
}

std::vector<Kind> wgmma_kinds() {
  std::vector<Kind> all;
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    all.push_back({.layout = layout});
    all.push_back({DataType::kBF16, DataType::kBF16, DataType::kF32, layout});
    all.push_back({DataType::kF64, DataType::kF64, DataType::kF64, layout});
  }
  for (const Numerics numerics : {Numerics::kFast, Numerics::kPromoted}) {
    all.push_back(fp8(numerics));
    all.push_back({DataType::kE5M2, DataType::kE4M3, DataType::kBF16, "nt", numerics});
  }
  for (const std::string_view layout : {"nt", "nn", "tn", "tt"}) {  // the others are transposed
    all.push_back({DataType::kS8, DataType::kS8, DataType::kS32, layout});
    all.push_back({DataType::kF32, DataType::kF32, DataType::kF32, layout, Numerics::kTf32});
  }
  return all;
}

Kind fp8(Numerics numerics, std::string_view layout) {
  return {DataType::kE4M3, DataType::kE4M3, DataType::kF16, layout, numerics};
}

Problem padded(const Kind& kind, const Size& size) {
  Problem problem = make_problem(size[0], size[1], size[2], kind.a, kind.b, kind.d, kind.layout);
  problem.numerics = kind.numerics;
  for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    matrix->leading_dimension =
        up_to_multiple(matrix->leading_dimension, 16 / size_bytes(matrix->type));
    matrix->alignment_bytes = 16;
  }
  return problem;
}

Problem batched(Problem problem, std::int64_t batch) {
  problem.batch = batch;
  for (Matrix* matrix : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    const std::int64_t most_lines = std::max({problem.m, problem.n, problem.k});
    matrix->batch_stride = matrix->leading_dimension * most_lines;
  }
  return problem;
}

std::int64_t up_to_multiple(std::int64_t value, std::int64_t of) {
  return (value + of - 1) / of * of;
}

std::vector<Config> wgmma_candidates_for(const Problem& problem, const DeviceLimits& limits) {
  return configs_of(wgmma_family(), problem, limits);
}

std::int64_t wgmma_works(const Problem& problem, const Config& config) {
  const auto along = [](std::int64_t extent, std::int64_t cluster) {
    return up_to_multiple(extent, cluster) / cluster;
  };
  const bool swap_ab = config.at("swap_ab") != 0;
  return along(swap_ab ? problem.n : problem.m, config.at("block_m") * config.at("cluster_m")) *
         along(swap_ab ? problem.m : problem.n, config.at("block_n") * config.at("cluster_n")) *
         problem.batch * config.at("split_k");
}

}  // namespace tunedgemm::internal
