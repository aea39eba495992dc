#pragma once

// Lists that PyTorch's TunableOp writes: tunableop_untuned*.csv and tunableop_results*.csv.

#include <span>
#include <string>
#include <vector>

#include "tools/shared/named_problem.h"

namespace tunedgemm::internal {

/// Whether the cells of a line begin like a line of such a list.
bool is_tunable_op(std::span<const std::string> cells);

/// The fields of a line such as "GemmTunableOp_BFloat16_TN,tn_4096_16_14336_ld_14336_14336_4096".
///
/// The lines describe column-major matrices, as BLAS does. The shape is the same multiplication of
/// row-major matrices, so A and B, M and N are exchanged. Packed leading dimensions have no field,
/// nor has an M that varies ("*"). Reads the texts of PyTorch 2.4 to 2.15 for CUDA and ROCm.
///
/// The lines have no batch strides. Where the leading dimension holds the rows of the whole batch,
/// the matrices are taken to lie side by side, as the heads of attention do; else packed.
/// Throws std::invalid_argument, or NotComputable.
std::vector<Field> fields_of_tunable_op(std::span<const std::string> cells);

}  // namespace tunedgemm::internal
