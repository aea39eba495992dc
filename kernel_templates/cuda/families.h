#pragma once

// The families of CUDA devices by name; families.cpp lists them.

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

const Family& naive_1d_family();
const Family& naive_2d_family();
const Family& row_per_block_family();
const Family& row_shared_family();
const Family& tiled_shared_family();
const Family& simt_family();
const Family& mma_family();
const Family& wgmma_family();

}  // namespace tunedgemm::internal
