#pragma once

// The declarations that the .cpp files of this folder share, and the configs of Triton's tutorial.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/mma/shape.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// A config as Triton's tutorial writes it: a tile of D and its pipeline. block_k is in elements.
struct TritonConfig {
  int block_m, block_n, block_k, stages, warps;
};

/// The 16 configs for NVIDIA GPUs in Triton's public matrix multiplication tutorial
/// (triton-lang.org, "Matrix Multiplication"). All have group_m = 8; the last eight are meant for
/// fp8.
std::span<const TritonConfig> triton_tutorial_configs();
/// The tutorial's configs, translated to configs of this family.
std::vector<Config> mma_configs_of_triton_tutorial();

/// How mma.sync multiplies the elements. Precondition: why_not_mma_products() is empty.
mma::Products mma_products(const Problem& problem, const DeviceLimits& limits);
/// Why mma.sync does not multiply the elements with these numerics; empty if it does.
std::string why_not_mma_products(const Problem& problem);

/// The kernel's Shape for a problem and a config. Precondition: the config sets every knob of the
/// family. A plain value.
struct MmaShape : mma::Shape {
  MmaShape(const Problem& problem, const Config& config, const DeviceLimits& limits);

  Tiling tiles(const Problem& problem) const;

  int group_m;
};

/// The values of the knob split_k.
inline constexpr std::array kMmaSplits{1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

/// The configs worth trying, not all of them legal: good tile shapes, with few split-K slices if
/// there are many tiles, and the tutorial's configs.
std::vector<Config> mma_candidates(const Problem& problem, const DeviceLimits& limits);

/// The predicted time of a launch, good for ranking.
double mma_us(const Problem& problem, const MmaShape& shape, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
