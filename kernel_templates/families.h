#pragma once

// Every family by name. families.cpp in a backend's folder lists them in teaching order, the
// simplest first.

#include "kernel_templates/family.h"

namespace tunedgemm {

// CUDA
const Family& naive_1d_family();
const Family& naive_2d_family();
const Family& row_per_block_family();
const Family& row_shared_family();
const Family& tiled_shared_family();
const Family& simt_family();
const Family& mma_family();
const Family& wgmma_family();

// Host
const Family& naive_mnk_family();
const Family& reordered_mkn_family();
const Family& transposed_b_family();
const Family& blocked_family();

}  // namespace tunedgemm
