#include "runtime/python/call.h"

#include <algorithm>
#include <array>
#include <string>

namespace tunedgemm::python {
namespace {

struct Matrix {
  Layout layout;
  std::int64_t batch = 1;  ///< 1 also for a single matrix
  std::int64_t batch_stride = 0;
};

void check_dimensions(const View& view) {
  if (view.dimensions != 2 && view.dimensions != 3) {
    refuse(std::string(view.name) + " has the shape " + view.shape() +
           "; it must be a matrix, or a batch of matrices with 3 dimensions");
  }
}

std::int64_t batch_of(const View& view) {
  return view.dimensions == 3 ? view.size(0) : 1;
}

bool shares_rows(const Grouping& grouping) {
  return grouping.kind == TUNEDGEMM_GROUP_KIND_ROWS || grouping.kind == TUNEDGEMM_GROUP_KIND_RANGES;
}

// The number of products, for which a batch of one is repeated.
std::int64_t products_of(const View& a, const View& b, const Grouping& grouping) {
  if (grouping.kind != TUNEDGEMM_GROUP_KIND_NONE) {
    return grouping.count;
  }
  return batch_of(a) == 0 || batch_of(b) == 0 ? 0 : std::max(batch_of(a), batch_of(b));
}

// A single matrix is used for each index of the batch. Groups share it in parts.
Matrix matrix_of(const View& view, std::int64_t products, tunedgemm_group_kind group_kind) {
  check_dimensions(view);
  const bool is_divided = group_kind != TUNEDGEMM_GROUP_KIND_NONE && view.dimensions == 2;
  const std::int64_t batch = is_divided ? 1 : products;
  const std::optional<Layout> layout = layout_of(view);
  if (!layout) {
    refuse(std::string(view.name) + " of shape " + view.shape() + " has strides of " +
           std::to_string(view.stride(view.dimensions - 2)) + " and " +
           std::to_string(view.stride(view.dimensions - 1)) +
           " elements; the elements of its rows or of its columns must be consecutive, and rows or "
           "columns must not overlap: pass a copy");
  }
  Matrix matrix{.layout = *layout, .batch = batch_of(view)};
  if (matrix.batch != batch && matrix.batch != 1) {
    refuse(std::string(view.name) + " has " + std::to_string(matrix.batch) +
           " matrices, but the batch has " + std::to_string(batch));
  }
  const std::int64_t stride = view.dimensions == 3 ? view.stride(0) : 0;
  if (stride < 0) {
    refuse(std::string(view.name) + " has a batch stride of " + std::to_string(stride) +
           " elements; it must not be negative: pass a copy");
  }
  const bool is_packed = layout->leading_dimension == 0 && stride == view.rows() * view.columns();
  if (batch != 1 && (matrix.batch == 1 || stride == 0)) {
    matrix.batch_stride = TUNEDGEMM_BROADCAST;
  } else if (batch != 1 && !is_packed) {
    matrix.batch_stride = stride;
  }
  return matrix;
}

void check_extents(const View& view, std::int64_t rows, std::int64_t columns) {
  if (view.rows() != rows || view.columns() != columns) {
    refuse(std::string(view.name) + " has the shape " + view.shape() + ", but the product has " +
           std::to_string(rows) + " rows and " + std::to_string(columns) + " columns");
  }
}

// A matrix of scales, or a batch of them, with rows of op(A) or columns of op(B) as `rows`.
struct Scales {
  const View& view;
  bool of_b;
  std::int64_t rows, k;                 // of the operand
  std::int64_t batch, batch_of_blocks;  // how many matrices of scales there may be, beside one

  int row_dimension() const { return view.dimensions - (of_b ? 1 : 2); }
  int k_dimension() const { return view.dimensions - (of_b ? 2 : 1); }

  // The scaling that the shape says. If it says two, they mean the same.
  std::optional<tunedgemm_scaling> scaling() const {
    if (view.dimensions != 2 && view.dimensions != 3) {
      return std::nullopt;
    }
    const std::int64_t given_rows = view.size(row_dimension()), given = view.size(k_dimension());
    const bool is_of_rows = given_rows == rows && given == 1;
    if (batch_of(view) != 1 && batch_of(view) != (is_of_rows ? batch : batch_of_blocks)) {
      return std::nullopt;
    }
    if (is_of_rows) {
      return TUNEDGEMM_SCALING_ROW;
    }
    // cuBLASLt pads the blocks along K to a multiple of 4.
    if (given != blocks(k) && given != (blocks(k) + 3) / 4 * 4) {
      return std::nullopt;
    }
    return given_rows == rows           ? std::optional(TUNEDGEMM_SCALING_BLOCK_1X128)
           : given_rows == blocks(rows) ? std::optional(TUNEDGEMM_SCALING_BLOCK_128X128)
                                        : std::nullopt;
  }

  static std::int64_t blocks(std::int64_t extent) { return (extent + 127) / 128; }

  std::string expected_shapes() const {
    const auto shape = [&](std::int64_t along_rows, std::int64_t along_k) {
      return "(" + std::to_string(of_b ? along_k : along_rows) + ", " +
             std::to_string(of_b ? along_rows : along_k) + ")";
    };
    return std::string("one for each ") + (of_b ? "column of b" : "row of a") + ", " +
           shape(rows, 1) + ", for 128 elements of it, " + shape(rows, blocks(k)) +
           ", or for 128 x 128 elements, " + shape(blocks(rows), blocks(k));
  }
};

// A single value of shape (1, 1) may be that of a matrix or of its only row. It belongs to a row if
// the other matrix has a value for each of its rows: then the problem is one of a family in M.
void set_scale(const Scales* scales, const Scales* other, const View& a, Call& call) {
  if (scales == nullptr) {
    return;
  }
  const View& view = scales->view;
  check_device(view, a);
  tunedgemm_problem& problem = call.problem;
  const bool is_one = view.elements() == 1;
  std::optional<tunedgemm_scaling> scaling = scales->scaling();
  if (is_one && !(scaling && other != nullptr && other->view.elements() > 1 &&
                  other->scaling() == TUNEDGEMM_SCALING_ROW)) {
    scaling = TUNEDGEMM_SCALING_TENSOR;
  }
  if (view.type != TUNEDGEMM_TYPE_F32 || !scaling) {
    refuse(std::string(view.name) + " must be an array of one float32, or of " +
           scales->expected_shapes() + "; its shape is " + view.shape());
  }
  tunedgemm_buffers& buffers = call.buffers;
  const bool of_b = scales->of_b;
  (of_b ? buffers.scale_b : buffers.scale_a) = static_cast<const float*>(view.data);
  if (scaling == TUNEDGEMM_SCALING_TENSOR) {
    return;
  }
  const auto stride_of = [&](int dimension) {
    const std::int64_t stride = view.stride(dimension);
    return view.size(dimension) == 1 || stride == 0 ? TUNEDGEMM_BROADCAST : stride;
  };
  (of_b ? problem.scaling_b : problem.scaling_a) = *scaling;
  (of_b ? buffers.scale_stride_b : buffers.scale_stride_a) = stride_of(scales->row_dimension());
  (of_b ? buffers.scale_k_stride_b : buffers.scale_k_stride_a) = stride_of(scales->k_dimension());
  (of_b ? buffers.scale_batch_stride_b : buffers.scale_batch_stride_a) =
      view.dimensions == 3 ? stride_of(0) : TUNEDGEMM_BROADCAST;
}

void set_matrices(const View& a, const View& b, const View& d, const Grouping& grouping,
                  Call& call) {
  check_device(b, a);
  check_device(d, a);
  check_factors(a, b);
  const bool is_batched = shape_of_result(a, b, grouping).size() == 3;
  const std::int64_t m = a.rows(), n = b.columns(), products = products_of(a, b, grouping);
  const Matrix left = matrix_of(a, products, grouping.kind);
  const Matrix right = matrix_of(b, products, grouping.kind);
  check_dimensions(d);
  check_extents(d, m, n);
  const bool shares_d = shares_rows(grouping);
  if ((!shares_d && batch_of(d) != products) || d.dimensions != (is_batched ? 3 : 2)) {
    refuse(std::string(d.name) + " has the shape " + d.shape() + ", but there are " +
           std::to_string(products) + " products" +
           (is_batched ? " in a batch"
            : shares_d ? " in one matrix"
                       : ""));
  }
  const Matrix result = matrix_of(d, products, grouping.kind);

  tunedgemm_problem& problem = call.problem;
  tunedgemm_problem_init(&problem, m, n, a.columns(), a.type, b.type, d.type);
  problem.batch = products;
  problem.group_kind = grouping.kind;
  call.buffers.groups = grouping.numbers;
  problem.order_a = left.layout.order, problem.lda = left.layout.leading_dimension;
  problem.order_b = right.layout.order, problem.ldb = right.layout.leading_dimension;
  problem.order_d = result.layout.order, problem.ldd = result.layout.leading_dimension;
  problem.batch_stride_a = left.batch_stride, problem.batch_stride_b = right.batch_stride;
  problem.batch_stride_d = result.batch_stride;
  call.buffers.a = a.data, call.buffers.b = b.data, call.buffers.d = d.data;
}

void set_c(const View* c, const View& a, const View& d, double beta, Call& call) {
  tunedgemm_problem& problem = call.problem;
  if (c != nullptr) {
    check_device(*c, a);
    const Matrix matrix = matrix_of(*c, problem.batch, problem.group_kind);
    check_extents(*c, problem.m, problem.n);
    check_type(*c, d);
    problem.order_c = matrix.layout.order, problem.ldc = matrix.layout.leading_dimension;
    problem.batch_stride_c = matrix.batch_stride;
    call.buffers.c = c->data;
  } else if (beta != 0) {
    problem.order_c = problem.order_d, problem.ldc = problem.ldd;
    problem.batch_stride_c = problem.batch_stride_d;
    call.buffers.c = call.buffers.d;
  }
}

void set_bias(const View& bias, const View& a, const View& d, const Grouping& grouping,
              Call& call) {
  check_device(bias, a);
  check_type(bias, d);
  const std::int64_t m = call.problem.m, n = call.problem.n;
  const std::optional<tunedgemm_bias> kind = bias_of(bias, m, n, grouping);
  if (!kind && grouping.kind != TUNEDGEMM_GROUP_KIND_NONE) {
    refuse(std::string(bias.name) + " has the shape " + bias.shape() +
           "; it must be packed, with the shape " + shape_text(std::array{grouping.count, n}) +
           " for a value per group and column");
  }
  if (!kind) {
    refuse(std::string(bias.name) + " has the shape " + bias.shape() +
           "; it must be packed, with the shape (" + std::to_string(n) +
           ",) for a value per column, or (" + std::to_string(m) + ", 1) for a value per row");
  }
  call.problem.bias = *kind;
  call.buffers.bias = bias.data;
}

}  // namespace

void check_device(const View& view, const View& a) {
  const auto name = [](int device) {
    return device == kHost ? std::string("the CPU") : "GPU " + std::to_string(device);
  };
  if (view.device != a.device) {
    refuse(std::string(view.name) + " is on another device than " + std::string(a.name) + ": on " +
           name(view.device) + ", not on " + name(a.device));
  }
}

void check_type(const View& view, const View& d) {
  if (view.type != d.type) {
    refuse(std::string(view.name) + " must have the element type of " + std::string(d.name));
  }
}

void check_factors(const View& a, const View& b) {
  check_dimensions(a);
  check_dimensions(b);
  if (a.columns() != b.rows()) {
    refuse(std::string(a.name) + " of shape " + a.shape() + " has " + std::to_string(a.columns()) +
           " columns, but " + std::string(b.name) + " of shape " + b.shape() + " has " +
           std::to_string(b.rows()) + " rows");
  }
}

Grouping grouping_of(const View& a, const View& b, const View& numbers, tunedgemm_group_kind kind) {
  const std::string name(numbers.name);
  const bool are_counts = kind == TUNEDGEMM_GROUP_KIND_COUNTS;
  const bool are_ranges = kind == TUNEDGEMM_GROUP_KIND_RANGES;
  check_device(numbers, a);
  if (a.dimensions != (are_counts ? 3 : 2) || ((are_counts || are_ranges) && b.dimensions != 3)) {
    refuse(name + " divide " +
           (are_counts   ? "batches a and b of 3 dimensions"
            : are_ranges ? "an a of 2 dimensions for a b of 3"
                         : "an a of 2 dimensions") +
           ", but the shape of " + std::string(a.name) + " is " + a.shape() + " and that of " +
           std::string(b.name) + " is " + b.shape());
  }
  const bool is_along_k = b.dimensions == 2;
  const int width = are_ranges ? 2 : 1;
  const bool is_list = numbers.dimensions == width && (width == 1 || numbers.size(1) == width);
  const std::int64_t given = is_list ? numbers.size(0) : -1;
  const std::int64_t count = is_along_k ? std::max<std::int64_t>(given, 0) : b.size(0);
  const bool has_leading_zero = kind == TUNEDGEMM_GROUP_KIND_ROWS && given == count + 1;
  if ((given != count && !has_leading_zero) || (width == 2 && numbers.stride(1) != 1) ||
      (given > 1 && numbers.stride(0) != width)) {
    refuse(name + " has the shape " + numbers.shape() + "; it must be packed, with " +
           (are_ranges ? "a begin and an end" : "a number") + " for each " +
           (is_along_k
                ? "group"
                : "of the " + std::to_string(count) + " matrices of " + std::string(b.name)));
  }
  if (are_counts && a.size(0) != count) {
    refuse(std::string(a.name) + " has " + std::to_string(a.size(0)) + " matrices, but " +
           std::string(b.name) + " has " + std::to_string(count));
  }
  return {.kind = is_along_k ? TUNEDGEMM_GROUP_KIND_K : kind,
          .count = count,
          .numbers = static_cast<const std::int32_t*>(numbers.data) + (has_leading_zero ? 1 : 0)};
}

std::vector<std::int64_t> shape_of_result(const View& a, const View& b, const Grouping& grouping) {
  const bool are_matrices = a.dimensions == 2 && b.dimensions == 2;
  if (grouping.kind == TUNEDGEMM_GROUP_KIND_NONE ? are_matrices : shares_rows(grouping)) {
    return {a.rows(), b.columns()};
  }
  return {products_of(a, b, grouping), a.rows(), b.columns()};
}

std::optional<tunedgemm_bias> bias_of(const View& bias, std::int64_t m, std::int64_t n,
                                      const Grouping& grouping) {
  const auto fits = [&](int dimension, std::int64_t extent) {
    return bias.size(dimension) == extent && (extent <= 1 || bias.stride(dimension) == 1);
  };
  const int last = bias.dimensions - 1;
  if (grouping.kind != TUNEDGEMM_GROUP_KIND_NONE) {
    const bool is_packed = last == 1 && bias.size(0) == grouping.count && fits(1, n) &&
                           (grouping.count <= 1 || n == 0 || bias.stride(0) == n);
    return is_packed ? std::optional(TUNEDGEMM_BIAS_PER_COLUMN) : std::nullopt;
  }
  if (last == 1 && bias.size(1) == 1 && fits(0, m)) {
    return TUNEDGEMM_BIAS_PER_ROW;
  }
  if ((last == 0 || (last == 1 && bias.size(0) == 1)) && fits(last, n)) {
    return TUNEDGEMM_BIAS_PER_COLUMN;
  }
  return std::nullopt;
}

Call call_of(const Operands& operands, const Scalars& scalars) {
  const View &a = *operands.a, &d = *operands.d;
  const Grouping& grouping = operands.grouping;
  Call call;
  tunedgemm_buffers_init(&call.buffers);
  set_matrices(a, *operands.b, d, grouping, call);
  set_c(operands.c, a, d, scalars.beta, call);
  if (operands.bias != nullptr) {
    set_bias(*operands.bias, a, d, grouping, call);
  }
  call.problem.activation = scalars.activation;
  call.problem.numerics = scalars.numerics;
  call.problem.invariant = scalars.invariant ? 1 : 0;
  call.problem.sm_limit = scalars.sm_limit;
  call.problem.rows_per_group = scalars.rows_per_group;
  call.buffers.alpha = scalars.alpha, call.buffers.beta = scalars.beta;
  call.buffers.slope = static_cast<float>(scalars.slope);
  const auto scales_of = [&](const View* view, bool of_b) {
    const tunedgemm_problem& problem = call.problem;
    const std::int64_t batch = !of_b && shares_rows(grouping) ? 1 : problem.batch;
    return view == nullptr
               ? std::nullopt
               : std::optional<Scales>({*view, of_b, of_b ? problem.n : problem.m, problem.k, batch,
                                        grouping.kind == TUNEDGEMM_GROUP_KIND_K ? 1 : batch});
  };
  const std::optional<Scales> scale_a = scales_of(operands.scale_a, false);
  const std::optional<Scales> scale_b = scales_of(operands.scale_b, true);
  set_scale(scale_a ? &*scale_a : nullptr, scale_b ? &*scale_b : nullptr, a, call);
  set_scale(scale_b ? &*scale_b : nullptr, scale_a ? &*scale_a : nullptr, a, call);
  return call;
}

tunedgemm_type result_type(tunedgemm_type type_of_a) {
  switch (type_of_a) {
    case TUNEDGEMM_TYPE_E4M3:
    case TUNEDGEMM_TYPE_E5M2:
      return TUNEDGEMM_TYPE_F16;
    case TUNEDGEMM_TYPE_S8:
      return TUNEDGEMM_TYPE_S32;
    default:
      return type_of_a;
  }
}

}  // namespace tunedgemm::python
