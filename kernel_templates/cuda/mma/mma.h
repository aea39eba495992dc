#pragma once

// What is known of the mma family beyond the Family interface.

#include <span>
#include <vector>

#include "kernel_templates/problem/config.h"

namespace tunedgemm {

/// A tile of D and how it is computed, as the tutorial gives it: K is stepped in elements.
struct TritonConfig {
  int block_m, block_n, block_k, stages, warps;
};

/// The 16 configs for NVIDIA GPUs of the public matrix multiplication tutorial of Triton
/// (triton-lang.org, "Matrix Multiplication"), all with group_m = 8; the last eight are meant for
/// fp8.
std::span<const TritonConfig> triton_tutorial_configs();
/// The same as configs of mma.
std::vector<Config> mma_configs_of_triton_tutorial();

}  // namespace tunedgemm
