#pragma once

// The arrays of a Python call as a problem and buffers of the C interface.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// An array of any framework, of which nanobind holds a reference: from the DLPack or the buffer
/// protocol. Memory is the producer's; nothing is copied.
using Array = nanobind::ndarray<nanobind::ro>;

/// The arguments of matmul() and plan(). `out` is D. The names of element types replace those of
/// arrays whose framework has no DLPack code for them: "bfloat16", "float8_e4m3fn", "float8_e5m2".
struct Call {
  Array a, b, out;
  std::optional<Array> c, bias, scale_a, scale_b;
  std::string type_of_a, type_of_b, type_of_out, type_of_c,
      type_of_bias;  ///< "" for the array's own
  double alpha = 1, beta = 0, slope = 0.01;
  std::string activation = "none";
  std::string numerics = "default";
};

/// A problem with its operands. The pointers live as long as the arrays of the call.
struct Operands {
  tunedgemm_problem problem;
  tunedgemm_buffers buffers;
  int device;  ///< as for default_context()
};

/// Throws ValueError if the arrays do not fit together: it names the argument, the value and the
/// remedy.
Operands operands_of(const Call& call);

}  // namespace tunedgemm::python
