#pragma once

// The arrays of a Python call as a problem and buffers of the C interface.

#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

#include "runtime/python/arrays.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// The arguments of a product that are no arrays.
struct Scalars {
  double alpha = 1, beta = 0, slope = 0.01;
  tunedgemm_activation activation = TUNEDGEMM_ACTIVATION_NONE;
  tunedgemm_numerics numerics = TUNEDGEMM_NUMERICS_DEFAULT;
  std::optional<tunedgemm_type> type_of_out;  ///< none: by the type of a
};

tunedgemm_activation activation_of(std::string_view name);
tunedgemm_numerics numerics_of(std::string_view name);
/// The names that these two know, with their numbers in the C interface.
nanobind::dict activation_numbers();
nanobind::dict numerics_numbers();

/// The arguments of a product that are arrays. Except for a and b they may be None.
struct Arguments {
  nanobind::handle a, b, out, c, bias, scale_a, scale_b;
};

/// The arrays of one call, as a problem with its operands. Makes `out` if there is none.
class Product {
 public:
  /// Throws ValueError if the arrays do not fit together: it names the argument, the value and the
  /// remedy; TypeError for what is no array.
  Product(const Arguments& arguments, const Scalars& scalars);

  const tunedgemm_problem& problem() const { return problem_; }
  const tunedgemm_buffers& buffers() const { return buffers_; }
  const nanobind::object& out() const { return out_; }
  /// As for default_context().
  int device() const { return a_.device(); }
  void* current_stream() const { return a_.current_stream(); }

 private:
  void set_matrices(const Scalars& scalars);
  void set_c(double beta);
  void set_bias();

  Array a_, b_;
  nanobind::object out_;
  Array d_;
  std::optional<Array> c_, bias_, scale_a_, scale_b_;
  tunedgemm_problem problem_;
  tunedgemm_buffers buffers_;
};

}  // namespace tunedgemm::python
