#include "runtime/python/problem.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "runtime/python/context.h"
#include "runtime/python/layout.h"
#include "runtime/python/names.h"

namespace nb = nanobind;

namespace tunedgemm::python {
namespace {

constexpr std::array kActivations{
    std::pair{std::string_view("none"), TUNEDGEMM_ACTIVATION_NONE},
    std::pair{std::string_view("relu"), TUNEDGEMM_ACTIVATION_RELU},
    std::pair{std::string_view("leaky_relu"), TUNEDGEMM_ACTIVATION_LEAKY_RELU},
    std::pair{std::string_view("gelu_tanh"), TUNEDGEMM_ACTIVATION_GELU_TANH},
    std::pair{std::string_view("gelu_erf"), TUNEDGEMM_ACTIVATION_GELU_ERF},
    std::pair{std::string_view("silu"), TUNEDGEMM_ACTIVATION_SILU},
    std::pair{std::string_view("sigmoid"), TUNEDGEMM_ACTIVATION_SIGMOID},
    std::pair{std::string_view("tanh"), TUNEDGEMM_ACTIVATION_TANH},
    std::pair{std::string_view("relu_squared"), TUNEDGEMM_ACTIVATION_RELU_SQUARED},
};

constexpr std::array kNumerics{
    std::pair{std::string_view("default"), TUNEDGEMM_NUMERICS_DEFAULT},
    std::pair{std::string_view("ieee"), TUNEDGEMM_NUMERICS_IEEE},
    std::pair{std::string_view("tf32"), TUNEDGEMM_NUMERICS_TF32},
    std::pair{std::string_view("emulated"), TUNEDGEMM_NUMERICS_EMULATED},
    std::pair{std::string_view("fast"), TUNEDGEMM_NUMERICS_FAST},
    std::pair{std::string_view("promoted"), TUNEDGEMM_NUMERICS_PROMOTED},
};

/// A matrix, or a batch of them.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::int64_t batch = 1;  ///< 1 also for a single matrix
  bool is_batched = false;
  Layout layout;
  std::int64_t batch_stride = 0;
};

Matrix matrix_of(std::string_view argument, const Array& array) {
  const std::string name(argument);
  const int dimensions = array.dimensions();
  if (dimensions != 2 && dimensions != 3) {
    refuse(name + " has the shape " + array.shape() +
           "; it must be a matrix, or a batch of matrices with 3 dimensions");
  }
  const int last = dimensions - 1;
  Matrix matrix;
  matrix.rows = array.extent(last - 1);
  matrix.columns = array.extent(last);
  const std::int64_t row_stride = array.stride(last - 1), column_stride = array.stride(last);
  const std::optional<Layout> layout =
      layout_of(matrix.rows, matrix.columns, row_stride, column_stride);
  if (!layout && array.size() > 0) {
    refuse(name + " of shape " + array.shape() + " has strides of " + std::to_string(row_stride) +
           " and " + std::to_string(column_stride) +
           " elements; the elements of its rows or of its columns must be consecutive, and rows or "
           "columns must not overlap: pass a copy");
  }
  matrix.layout = layout.value_or(Layout{});
  if (dimensions == 3) {
    matrix.is_batched = true;
    matrix.batch = array.extent(0);
    const std::int64_t stride = array.stride(0);
    if (stride < 0) {
      refuse(name + " has a batch stride of " + std::to_string(stride) +
             " elements; it must not be negative: pass a copy");
    }
    matrix.batch_stride = matrix.batch == 1 ? 0 : stride == 0 ? TUNEDGEMM_BROADCAST : stride;
  }
  return matrix;
}

/// The batch of the call; `matrix` of a single matrix is used for each batch index.
void join_batch(std::string_view argument, Matrix& matrix, std::int64_t batch) {
  if (matrix.batch == batch) {
    return;
  }
  if (matrix.batch != 1) {
    refuse(std::string(argument) + " has " + std::to_string(matrix.batch) +
           " matrices, but the batch has " + std::to_string(batch));
  }
  matrix.batch_stride = TUNEDGEMM_BROADCAST;
}

void check_extents(std::string_view argument, const Array& array, const Matrix& matrix,
                   std::int64_t rows, std::int64_t columns) {
  if (matrix.rows != rows || matrix.columns != columns) {
    refuse(std::string(argument) + " has the shape " + array.shape() + ", but the product has " +
           std::to_string(rows) + " rows and " + std::to_string(columns) + " columns");
  }
}

void check_device(std::string_view argument, const Array& array, const Array& a) {
  const auto name = [](int device) {
    return device == kHost ? std::string("the CPU") : "GPU " + std::to_string(device);
  };
  if (array.device() != a.device()) {
    refuse(std::string(argument) + " is on another device than a: on " + name(array.device()) +
           ", not on " + name(a.device()));
  }
}

// The number of products, for which a batch of one is repeated.
std::int64_t products_of(const Matrix& a, const Matrix& b) {
  return a.batch == 0 || b.batch == 0 ? 0 : std::max(a.batch, b.batch);
}

// `out`, or a new array for the product.
nb::object given_or_new(const Arguments& arguments, const Array& array_a, const Array& array_b,
                        const Scalars& scalars) {
  if (!arguments.out.is_none()) {
    return nb::borrow(arguments.out);
  }
  if (scalars.beta != 0 && arguments.c.is_none()) {
    std::ostringstream beta;
    beta << scalars.beta;
    refuse("beta is " + beta.str() + ", so c or out must be given: the product is added to it");
  }
  const Matrix a = matrix_of("a", array_a), b = matrix_of("b", array_b);
  const std::array<std::int64_t, 3> shape{products_of(a, b), a.rows, b.columns};
  return array_a.make(std::span(shape).subspan(a.is_batched || b.is_batched ? 0 : 1),
                      scalars.type_of_out.value_or(result_type(array_a.type())));
}

std::optional<Array> array_if_given(std::string_view argument, nb::handle object) {
  return object.is_none() ? std::optional<Array>()
                          : std::optional<Array>(std::in_place, argument, object);
}

const float* scale_of(std::string_view argument, const std::optional<Array>& scale,
                      const Array& a) {
  if (!scale) {
    return nullptr;
  }
  check_device(argument, *scale, a);
  if (scale->size() != 1 || scale->type() != TUNEDGEMM_TYPE_F32) {
    refuse(std::string(argument) + " must be an array of one float32");
  }
  return static_cast<const float*>(scale->data());
}

tunedgemm_bias bias_of(const Array& bias, const tunedgemm_problem& problem) {
  const auto fits = [&](int dimension, std::int64_t extent) {
    return bias.extent(dimension) == extent && (extent <= 1 || bias.stride(dimension) == 1);
  };
  const int last = bias.dimensions() - 1;
  if (last == 1 && bias.extent(1) == 1 && fits(0, problem.m)) {
    return TUNEDGEMM_BIAS_PER_ROW;
  }
  if ((last == 0 || (last == 1 && bias.extent(0) == 1)) && fits(last, problem.n)) {
    return TUNEDGEMM_BIAS_PER_COLUMN;
  }
  refuse("bias has the shape " + bias.shape() + "; it must be packed, with the shape (" +
         std::to_string(problem.n) + ",) for a value per column, or (" + std::to_string(problem.m) +
         ", 1) for a value per row");
}

}  // namespace

nb::dict activation_numbers() {
  return numbers_of(kActivations);
}

nb::dict numerics_numbers() {
  return numbers_of(kNumerics);
}

tunedgemm_activation activation_of(std::string_view name) {
  return named("activation", name, kActivations);
}

tunedgemm_numerics numerics_of(std::string_view name) {
  return named("numerics", name, kNumerics);
}

Product::Product(const Arguments& arguments, const Scalars& scalars)
    : a_("a", arguments.a),
      b_("b", arguments.b),
      out_(given_or_new(arguments, a_, b_, scalars)),
      d_("out", out_, Array::Access::kWrite),
      c_(array_if_given("c", arguments.c)),
      bias_(array_if_given("bias", arguments.bias)),
      scale_a_(array_if_given("scale_a", arguments.scale_a)),
      scale_b_(array_if_given("scale_b", arguments.scale_b)) {
  tunedgemm_buffers_init(&buffers_);
  set_matrices(scalars);
  set_c(scalars.beta);
  set_bias();
  buffers_.alpha = scalars.alpha, buffers_.beta = scalars.beta;
  buffers_.slope = static_cast<float>(scalars.slope);
  buffers_.scale_a = scale_of("scale_a", scale_a_, a_);
  buffers_.scale_b = scale_of("scale_b", scale_b_, a_);
}

void Product::set_matrices(const Scalars& scalars) {
  Matrix a = matrix_of("a", a_), b = matrix_of("b", b_), d = matrix_of("out", d_);
  if (a.columns != b.rows) {
    refuse("a of shape " + a_.shape() + " has " + std::to_string(a.columns) +
           " columns, but b of shape " + b_.shape() + " has " + std::to_string(b.rows) + " rows");
  }
  const std::int64_t products = products_of(a, b);
  join_batch("a", a, products);
  join_batch("b", b, products);
  check_extents("out", d_, d, a.rows, b.columns);
  const bool is_batched = a.is_batched || b.is_batched;
  if (d.batch != products || d.is_batched != is_batched) {
    refuse("out has the shape " + d_.shape() + ", but there are " + std::to_string(products) +
           " products" + (is_batched ? " in a batch" : ""));
  }
  if (scalars.type_of_out && d_.type() != *scalars.type_of_out) {
    refuse("out_dtype is " + std::string(name_of(*scalars.type_of_out)) +
           ", but out has elements of " + std::string(name_of(d_.type())) +
           "; give one of the two");
  }
  check_device("b", b_, a_);
  check_device("out", d_, a_);

  tunedgemm_problem_init(&problem_, a.rows, b.columns, a.columns, a_.type(), b_.type(), d_.type());
  problem_.batch = products;
  problem_.order_a = a.layout.order, problem_.lda = a.layout.leading_dimension;
  problem_.order_b = b.layout.order, problem_.ldb = b.layout.leading_dimension;
  problem_.order_d = d.layout.order, problem_.ldd = d.layout.leading_dimension;
  problem_.batch_stride_a = a.batch_stride, problem_.batch_stride_b = b.batch_stride;
  problem_.batch_stride_d = d.batch_stride;
  problem_.activation = scalars.activation;
  problem_.numerics = scalars.numerics;
  buffers_.a = a_.data(), buffers_.b = b_.data(), buffers_.d = d_.data();
}

// Without c, out is added to the product if beta is not 0.
void Product::set_c(double beta) {
  if (c_) {
    check_device("c", *c_, a_);
    Matrix c = matrix_of("c", *c_);
    check_extents("c", *c_, c, problem_.m, problem_.n);
    join_batch("c", c, problem_.batch);
    if (c_->type() != d_.type()) {
      refuse("c must have the element type of out");
    }
    problem_.order_c = c.layout.order, problem_.ldc = c.layout.leading_dimension;
    problem_.batch_stride_c = c.batch_stride;
    buffers_.c = c_->data();
  } else if (beta != 0) {
    problem_.order_c = problem_.order_d, problem_.ldc = problem_.ldd;
    problem_.batch_stride_c = problem_.batch_stride_d;
    buffers_.c = buffers_.d;
  }
}

void Product::set_bias() {
  if (!bias_) {
    return;
  }
  check_device("bias", *bias_, a_);
  if (bias_->type() != d_.type()) {
    refuse("bias must have the element type of out");
  }
  problem_.bias = bias_of(*bias_, problem_);
  buffers_.bias = bias_->data();
}

}  // namespace tunedgemm::python
