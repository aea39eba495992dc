#include "runtime/python/problem.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/python/context.h"
#include "runtime/python/names.h"

namespace nb = nanobind;

namespace tunedgemm::python {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw nb::value_error(why.c_str());
}

struct ElementType {
  std::string_view name;
  nb::dlpack::dtype_code code;
  int bits;
  tunedgemm_type type;
};

using Code = nb::dlpack::dtype_code;
constexpr std::array kElementTypes{
    ElementType{"float64", Code::Float, 64, TUNEDGEMM_TYPE_F64},
    ElementType{"float32", Code::Float, 32, TUNEDGEMM_TYPE_F32},
    ElementType{"float16", Code::Float, 16, TUNEDGEMM_TYPE_F16},
    ElementType{"bfloat16", Code::Bfloat, 16, TUNEDGEMM_TYPE_BF16},
    ElementType{"float8_e4m3fn", Code::Float8_E4M3FN, 8, TUNEDGEMM_TYPE_E4M3},
    ElementType{"float8_e5m2", Code::Float8_E5M2, 8, TUNEDGEMM_TYPE_E5M2},
    ElementType{"int8", Code::Int, 8, TUNEDGEMM_TYPE_S8},
    ElementType{"int32", Code::Int, 32, TUNEDGEMM_TYPE_S32},
};

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

tunedgemm_type type_of(std::string_view argument, const Array& array, std::string_view name) {
  const nb::dlpack::dtype type = array.dtype();
  for (const ElementType& known : kElementTypes) {
    const bool is_it = name.empty() ? type.code == static_cast<std::uint8_t>(known.code) &&
                                          type.bits == known.bits && type.lanes == 1
                                    : name == known.name;
    if (is_it) {
      return known.type;
    }
  }
  refuse(std::string(argument) + " has elements of " +
         (name.empty() ? "DLPack code " + std::to_string(type.code) + " and " +
                             std::to_string(type.bits) + " bits"
                       : std::string(name)) +
         "; supported are float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8 "
         "and int32");
}

std::string shape_of(const Array& array) {
  std::ostringstream text;
  text << "(";
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    text << (i > 0 ? ", " : "") << array.shape(i);
  }
  text << ")";
  return text.str();
}

/// A matrix, or a batch of them.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::int64_t batch = 1;  ///< 1 also for a single matrix
  bool is_batched = false;
  tunedgemm_order order = TUNEDGEMM_ORDER_ROW_MAJOR;
  std::int64_t leading_dimension = 0;
  std::int64_t batch_stride = 0;
};

Matrix matrix_of(std::string_view argument, const Array& array) {
  const std::string name(argument);
  if (array.ndim() != 2 && array.ndim() != 3) {
    refuse(name + " has the shape " + shape_of(array) +
           "; it must be a matrix, or a batch of matrices with 3 dimensions");
  }
  const std::size_t last = array.ndim() - 1;
  Matrix matrix;
  matrix.rows = static_cast<std::int64_t>(array.shape(last - 1));
  matrix.columns = static_cast<std::int64_t>(array.shape(last));
  const std::int64_t row_stride = array.stride(last - 1), column_stride = array.stride(last);
  // The stride of a dimension with one element means nothing.
  const bool has_rows = matrix.rows > 1, has_columns = matrix.columns > 1;
  if ((!has_columns || column_stride == 1) && (!has_rows || row_stride >= matrix.columns)) {
    matrix.leading_dimension = has_rows ? row_stride : 0;
  } else if ((!has_rows || row_stride == 1) && (!has_columns || column_stride >= matrix.rows)) {
    matrix.order = TUNEDGEMM_ORDER_COLUMN_MAJOR;
    matrix.leading_dimension = has_columns ? column_stride : 0;
  } else if (array.size() > 0) {
    refuse(name + " of shape " + shape_of(array) + " has strides of " + std::to_string(row_stride) +
           " and " + std::to_string(column_stride) +
           " elements; the elements of its rows or of its columns must be consecutive, and rows or "
           "columns must not overlap: pass a copy");
  }
  if (array.ndim() == 3) {
    matrix.is_batched = true;
    matrix.batch = static_cast<std::int64_t>(array.shape(0));
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
    refuse(std::string(argument) + " has the shape " + shape_of(array) + ", but the product has " +
           std::to_string(rows) + " rows and " + std::to_string(columns) + " columns");
  }
}

// Whether the memory belongs to a GPU. Pinned host memory does not.
bool is_on_cuda(const Array& array) {
  switch (array.device_type()) {
    case nb::device::cpu::value:
    case nb::device::cuda_host::value:
      return false;
    case nb::device::cuda::value:
    case nb::device::cuda_managed::value:
      return true;
    default:
      refuse("a is on a device of DLPack type " + std::to_string(array.device_type()) +
             "; only the CPU and NVIDIA GPUs are supported");
  }
}

void check_device(std::string_view argument, const Array& array, const Array& a) {
  if (array.device_type() != a.device_type() || array.device_id() != a.device_id()) {
    refuse(std::string(argument) + " is on another device than a: DLPack device " +
           std::to_string(array.device_type()) + ":" + std::to_string(array.device_id()) +
           ", not " + std::to_string(a.device_type()) + ":" + std::to_string(a.device_id()));
  }
}

void set_bias(const Call& call, Operands& operands) {
  const Array& bias = *call.bias;
  const tunedgemm_problem& problem = operands.problem;
  check_device("bias", bias, call.a);
  if (type_of("bias", bias, call.type_of_bias) != problem.type_d) {
    refuse("bias must have the element type of out");
  }
  const std::size_t last = bias.ndim() - 1;
  const bool is_column = bias.ndim() == 2 && bias.shape(1) == 1;
  const auto fits = [&](std::size_t dimension, std::int64_t extent) {
    return static_cast<std::int64_t>(bias.shape(dimension)) == extent &&
           (extent <= 1 || bias.stride(dimension) == 1);
  };
  if (is_column && fits(0, problem.m)) {
    operands.problem.bias = TUNEDGEMM_BIAS_PER_ROW;
  } else if ((bias.ndim() == 1 || (bias.ndim() == 2 && bias.shape(0) == 1)) &&
             fits(last, problem.n)) {
    operands.problem.bias = TUNEDGEMM_BIAS_PER_COLUMN;
  } else {
    refuse("bias has the shape " + shape_of(bias) + "; it must be packed, with the shape (" +
           std::to_string(problem.n) + ",) for a value per column, or (" +
           std::to_string(problem.m) + ", 1) for a value per row");
  }
  operands.buffers.bias = bias.data();
}

const float* scale_of(std::string_view argument, const std::optional<Array>& scale,
                      const Array& a) {
  if (!scale) {
    return nullptr;
  }
  check_device(argument, *scale, a);
  if (scale->size() != 1 || scale->dtype() != nb::dtype<float>()) {
    refuse(std::string(argument) + " must be an array of one float32");
  }
  return static_cast<const float*>(scale->data());
}

}  // namespace

Operands operands_of(const Call& call) {
  Matrix a = matrix_of("a", call.a), b = matrix_of("b", call.b), d = matrix_of("out", call.out);
  if (a.columns != b.rows) {
    refuse("a of shape " + shape_of(call.a) + " has " + std::to_string(a.columns) +
           " columns, but b of shape " + shape_of(call.b) + " has " + std::to_string(b.rows) +
           " rows");
  }
  const std::int64_t products = a.batch == 0 || b.batch == 0 ? 0 : std::max(a.batch, b.batch);
  join_batch("a", a, products);
  join_batch("b", b, products);
  check_extents("out", call.out, d, a.rows, b.columns);
  if (d.batch != products || d.is_batched != (a.is_batched || b.is_batched)) {
    refuse("out has the shape " + shape_of(call.out) + ", but there are " +
           std::to_string(products) + " products" +
           (a.is_batched || b.is_batched ? " in a batch" : ""));
  }

  const tunedgemm_type type_a = type_of("a", call.a, call.type_of_a);
  const tunedgemm_type type_b = type_of("b", call.b, call.type_of_b);
  Operands operands;
  tunedgemm_problem& problem = operands.problem;
  tunedgemm_problem_init(&problem, a.rows, b.columns, a.columns, type_a, type_b,
                         type_of("out", call.out, call.type_of_out));
  problem.batch = products;
  problem.order_a = a.order, problem.lda = a.leading_dimension;
  problem.order_b = b.order, problem.ldb = b.leading_dimension;
  problem.order_d = d.order, problem.ldd = d.leading_dimension;
  problem.batch_stride_a = a.batch_stride, problem.batch_stride_b = b.batch_stride;
  problem.batch_stride_d = d.batch_stride;
  problem.activation = named("activation", call.activation, kActivations);
  problem.numerics = named("numerics", call.numerics, kNumerics);

  tunedgemm_buffers& buffers = operands.buffers;
  tunedgemm_buffers_init(&buffers);
  check_device("b", call.b, call.a);
  check_device("out", call.out, call.a);
  buffers.a = call.a.data(), buffers.b = call.b.data();
  buffers.d = const_cast<void*>(call.out.data());
  buffers.alpha = call.alpha, buffers.beta = call.beta;
  buffers.slope = static_cast<float>(call.slope);
  buffers.scale_a = scale_of("scale_a", call.scale_a, call.a);
  buffers.scale_b = scale_of("scale_b", call.scale_b, call.a);
  if (call.c) {
    check_device("c", *call.c, call.a);
    Matrix c = matrix_of("c", *call.c);
    check_extents("c", *call.c, c, a.rows, b.columns);
    join_batch("c", c, products);
    if (type_of("c", *call.c, call.type_of_c) != problem.type_d) {
      refuse("c must have the element type of out");
    }
    problem.order_c = c.order, problem.ldc = c.leading_dimension;
    problem.batch_stride_c = c.batch_stride;
    buffers.c = call.c->data();
  } else if (call.beta != 0) {  // C is D
    problem.order_c = problem.order_d, problem.ldc = problem.ldd;
    problem.batch_stride_c = problem.batch_stride_d;
    buffers.c = buffers.d;
  }
  if (call.bias) {
    set_bias(call, operands);
  }
  operands.device = is_on_cuda(call.a) ? call.a.device_id() : kHost;
  return operands;
}

}  // namespace tunedgemm::python
