#pragma once

// The families of CPUs by name; families.cpp lists them.

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

const Family& naive_mnk_family();
const Family& reordered_mkn_family();
const Family& transposed_b_family();
const Family& blocked_family();

}  // namespace tunedgemm::internal
