#pragma once

/// @file tunedgemm.hpp Typed matrices, ownership and exceptions on top of tunedgemm.h, for C++20.
/// Header-only.
///
///     using tunedgemm::Matrix;
///     tunedgemm::tuned_matmul(Matrix(a, 512, 256), Matrix(b, 256, 128), Matrix(d, 512, 128),
///                             {.activation = TUNEDGEMM_ACTIVATION_RELU});
///
/// The element types come from the pointers. For types that are known only at run time there are
/// the structs of tunedgemm.h, whose members have default values in C++:
///
///     tunedgemm::tuned_matmul({.m = 512, .n = 128, .k = 256, .type_a = type, .type_b = type},
///                             {.a = a, .b = b, .d = d});
///
/// The contracts are those of tunedgemm.h. A function throws tunedgemm::Error when its C
/// counterpart returns a status other than TUNEDGEMM_STATUS_OK; it may also throw std::bad_alloc.
/// A program without exceptions makes the same calls in C:
///
///     const tunedgemm_problem problem{.m = 512, .n = 128, .k = 256};
///     const tunedgemm_buffers buffers{.a = a, .b = b, .d = d};
///     const tunedgemm_status status = tunedgemm_matmul(nullptr, &problem, &buffers, nullptr);

#if defined(__cplusplus) && __cplusplus < 202002L
#error "tunedgemm.hpp needs C++20: compile with -std=c++20, or include tunedgemm.h, which is C"
#elif !defined(__cpp_exceptions)
#error "tunedgemm.hpp needs exceptions: include tunedgemm.h, whose functions return a status"
#else  // no other message than these

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "tunedgemm/tunedgemm.h"

/// @cond
struct __half;  // of the CUDA toolkit
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
/// @endcond

/// The namespace of this library.
namespace tunedgemm {

using Status = tunedgemm_status;                   ///< The result of a call.
using Type = tunedgemm_type;                       ///< An element type.
using Order = tunedgemm_order;                     ///< The layout of a matrix in memory.
using Problem = tunedgemm_problem;                 ///< The multiplication.
using Buffers = tunedgemm_buffers;                 ///< The operands of one call.
using PlanOptions = tunedgemm_plan_options;        ///< The options of a plan.
using PlanOrigin = tunedgemm_plan_origin;          ///< Where the kernel of a plan comes from.
using PlanInfo = tunedgemm_plan_info;              ///< The kernel of a plan, and its tuning.
using Progress = tunedgemm_progress;               ///< The result for one problem of prepare().
using ContextOptions = tunedgemm_context_options;  ///< The options of a context.

/// "tuned", "other_m" and so on; see tunedgemm_plan_origin_name().
inline std::string to_string(PlanOrigin origin) {
  return tunedgemm_plan_origin_name(origin);
}
/// "ok", "invalid argument" and so on; see tunedgemm_status_name().
inline std::string to_string(Status status) {
  return tunedgemm_status_name(status);
}
/// Such as "bf16"; see tunedgemm_type_name().
inline std::string to_string(Type type) {
  return tunedgemm_type_name(type);
}
/// Such as "col"; see tunedgemm_order_name().
inline std::string to_string(Order order) {
  return tunedgemm_order_name(order);
}
/// Such as "gelu_tanh"; see tunedgemm_activation_name().
inline std::string to_string(tunedgemm_activation activation) {
  return tunedgemm_activation_name(activation);
}
/// Such as "row"; see tunedgemm_bias_name().
inline std::string to_string(tunedgemm_bias bias) {
  return tunedgemm_bias_name(bias);
}
/// Such as "tf32"; see tunedgemm_numerics_name().
inline std::string to_string(tunedgemm_numerics numerics) {
  return tunedgemm_numerics_name(numerics);
}
/// Such as "block_1x128"; see tunedgemm_scaling_name().
inline std::string to_string(tunedgemm_scaling scaling) {
  return tunedgemm_scaling_name(scaling);
}
/// Such as "k"; see tunedgemm_group_kind_name().
inline std::string to_string(tunedgemm_group_kind kind) {
  return tunedgemm_group_kind_name(kind);
}

/// A status other than TUNEDGEMM_STATUS_OK. what() has the name of the status and the message.
class Error : public std::runtime_error {
 public:
  /// The failure of a call, with its message.
  Error(Status status, const std::string& message)
      : std::runtime_error(tunedgemm_status_name(status) + (": " + message)), status_(status) {}
  /// The status of the call that failed.
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws Error unless `status` is TUNEDGEMM_STATUS_OK. Call it on the thread of the C function
/// that returned the status, right after it.
inline void check(Status status) {
  if (status != TUNEDGEMM_STATUS_OK) {
    throw Error(status, tunedgemm_error_message());
  }
}

/// The element type of a Matrix<T>; Type{} if there is none. A program may specialise it for its
/// own type with the bits of a Type.
template <class T>
inline constexpr Type type_of = Type{};
/// @cond
template <>
inline constexpr Type type_of<double> = TUNEDGEMM_TYPE_F64;
template <>
inline constexpr Type type_of<float> = TUNEDGEMM_TYPE_F32;
template <>
inline constexpr Type type_of<__half> = TUNEDGEMM_TYPE_F16;
template <>
inline constexpr Type type_of<__nv_bfloat16> = TUNEDGEMM_TYPE_BF16;
template <>
inline constexpr Type type_of<__nv_fp8_e4m3> = TUNEDGEMM_TYPE_E4M3;
template <>
inline constexpr Type type_of<__nv_fp8_e5m2> = TUNEDGEMM_TYPE_E5M2;
template <>
inline constexpr Type type_of<std::int8_t> = TUNEDGEMM_TYPE_S8;
template <>
inline constexpr Type type_of<std::int32_t> = TUNEDGEMM_TYPE_S32;
/// @endcond

/// How a matrix lies in memory.
struct MatrixLayout {
  Order order = TUNEDGEMM_ORDER_ROW_MAJOR;  ///< of the elements
  std::int64_t leading_dimension = 0;       ///< in elements; 0: packed
  std::int64_t batch_stride = 0;            ///< in elements; 0: packed; or TUNEDGEMM_BROADCAST
};

/// A matrix in the caller's memory: op(A), op(B), C or D. A plain value that owns nothing.
template <class T>
class Matrix {
  static_assert(type_of<std::remove_const_t<T> > != Type{},
                "the elements of a Matrix are float, double, std::int8_t, std::int32_t, __half, "
                "__nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2, or of a type for which the program "
                "specialises tunedgemm::type_of");

 public:
  /// A matrix of `rows` x `columns` elements; row-major and packed, unless `layout` says otherwise.
  constexpr Matrix(T* data, std::int64_t rows, std::int64_t columns,
                   const MatrixLayout& layout = {}) noexcept
      : data_(data), rows_(rows), columns_(columns), layout_(layout) {}
  /// The same matrix, to be read only.
  constexpr operator Matrix<const T>() const noexcept requires(!std::is_const_v<T>) {
    return {data_, rows_, columns_, layout_};
  }
  /// The first element, in memory of the context's device.
  constexpr T* data() const noexcept { return data_; }
  /// Rows of one matrix.
  constexpr std::int64_t rows() const noexcept { return rows_; }
  /// Columns of one matrix.
  constexpr std::int64_t columns() const noexcept { return columns_; }
  /// How the matrix lies in memory.
  constexpr const MatrixLayout& layout() const noexcept { return layout_; }

 private:
  T* data_;
  std::int64_t rows_, columns_;
  MatrixLayout layout_;
};

/// All but the matrices A, B and D of a call whose D has elements of type `T`.
template <class T>
struct CallOptions {
  std::optional<Matrix<const T> > c = {};                       ///< C, which may be D
  double alpha = 1;                                             ///< factor of the product
  double beta = 1;                                              ///< factor of C, if there is a C
  const T* bias_per_row = nullptr;                              ///< M values, one for each row
  const T* bias_per_column = nullptr;                           ///< N values, one for each column
  tunedgemm_activation activation = TUNEDGEMM_ACTIVATION_NONE;  ///< applied last
  float slope = 0.01f;                                          ///< of the leaky relu
  const float* scale_a = nullptr;                               ///< null: 1, with SCALING_TENSOR
  const float* scale_b = nullptr;                               ///< null: 1, with SCALING_TENSOR
  tunedgemm_scaling scaling_a = TUNEDGEMM_SCALING_TENSOR;       ///< what scale_a points to
  tunedgemm_scaling scaling_b = TUNEDGEMM_SCALING_TENSOR;       ///< what scale_b points to
  std::int64_t scale_stride_a = 0;                              ///< see Buffers, as the next ones
  std::int64_t scale_stride_b = 0;                              ///< from a column to the next
  std::int64_t scale_k_stride_a = 0;                            ///< from a block to the next
  std::int64_t scale_k_stride_b = 0;                            ///< likewise for B
  std::int64_t scale_batch_stride_a = 0;                        ///< from one A to the next
  std::int64_t scale_batch_stride_b = 0;                        ///< from one B to the next
  tunedgemm_numerics numerics = TUNEDGEMM_NUMERICS_DEFAULT;     ///< of products and sums
  std::int64_t batch = 1;                                       ///< number of products
  bool invariant = false;     ///< rows have the same bits for every M, in every place
  std::int32_t sm_limit = 0;  ///< SMs that the launch may use; 0: the context's
};

/// The options of a call with a Matrix<D> to write, not deduced from an argument.
template <class D>
using CallOptionsFor = std::type_identity_t<CallOptions<std::remove_const_t<D> > >;

/// A problem and its operands, for tuned_matmul(), Context::plan() and Plan::run().
struct Call {
  Problem problem;  ///< the sizes, types and layouts
  Buffers buffers;  ///< the pointers and factors
};

/// The call that multiplies these matrices: op(A) is M x K, op(B) is K x N, C and D are M x N.
/// Throws Error if their sizes do not fit.
template <class A, class B, class D>
Call call_of(const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
             const CallOptionsFor<D>& options = {}) {
  static_assert(!std::is_const_v<D>, "D is written, so its elements must not be const");
  const auto refuse = [](const std::string& message) {
    throw Error(TUNEDGEMM_STATUS_INVALID_ARGUMENT, message);
  };
  const auto size = [](const auto& matrix) {
    return std::to_string(matrix.rows()) + " x " + std::to_string(matrix.columns());
  };
  if (a.columns() != b.rows() || d.rows() != a.rows() || d.columns() != b.columns()) {
    refuse("A is " + size(a) + ", B is " + size(b) + " and D is " + size(d) +
           "; they must be M x K, K x N and M x N");
  }
  if (options.c && (options.c->rows() != d.rows() || options.c->columns() != d.columns())) {
    refuse("C is " + size(*options.c) + " and D is " + size(d) + "; they must be of one size");
  }
  const bool has_row_bias = options.bias_per_row != nullptr;
  const bool has_column_bias = options.bias_per_column != nullptr;
  if (has_row_bias && has_column_bias) {
    refuse("there are bias_per_row and bias_per_column; use one of them");
  }
  const MatrixLayout layout_c = options.c ? options.c->layout() : MatrixLayout();
  return {.problem = {.m = a.rows(),
                      .n = b.columns(),
                      .k = a.columns(),
                      .batch = options.batch,
                      .type_a = type_of<std::remove_const_t<A> >,
                      .type_b = type_of<std::remove_const_t<B> >,
                      .type_d = type_of<D>,
                      .numerics = options.numerics,
                      .order_a = a.layout().order,
                      .order_b = b.layout().order,
                      .order_c = layout_c.order,
                      .order_d = d.layout().order,
                      .lda = a.layout().leading_dimension,
                      .ldb = b.layout().leading_dimension,
                      .ldc = layout_c.leading_dimension,
                      .ldd = d.layout().leading_dimension,
                      .batch_stride_a = a.layout().batch_stride,
                      .batch_stride_b = b.layout().batch_stride,
                      .batch_stride_c = layout_c.batch_stride,
                      .batch_stride_d = d.layout().batch_stride,
                      .activation = options.activation,
                      .bias = has_row_bias      ? TUNEDGEMM_BIAS_PER_ROW
                              : has_column_bias ? TUNEDGEMM_BIAS_PER_COLUMN
                                                : TUNEDGEMM_BIAS_NONE,
                      .invariant = options.invariant ? 1 : 0,
                      .sm_limit = options.sm_limit,
                      .scaling_a = options.scaling_a,
                      .scaling_b = options.scaling_b},
          .buffers = {.a = a.data(),
                      .b = b.data(),
                      .c = options.c ? options.c->data() : nullptr,
                      .d = d.data(),
                      .bias = has_row_bias ? options.bias_per_row : options.bias_per_column,
                      .scale_a = options.scale_a,
                      .scale_b = options.scale_b,
                      .alpha = options.alpha,
                      .beta = options.c ? options.beta : 0,
                      .slope = options.slope,
                      .scale_stride_a = options.scale_stride_a,
                      .scale_stride_b = options.scale_stride_b,
                      .scale_k_stride_a = options.scale_k_stride_a,
                      .scale_k_stride_b = options.scale_k_stride_b,
                      .scale_batch_stride_a = options.scale_batch_stride_a,
                      .scale_batch_stride_b = options.scale_batch_stride_b}};
}

/// A problem with its kernel. A plain value that refers to a plan of a context; the context must
/// outlive it. Any number of threads may run a plan at once.
class Plan {
 public:
  /// Wraps a plan of tunedgemm_plan_create() or of a Progress.
  explicit Plan(const tunedgemm_plan* plan) noexcept : plan_(plan) {}
  /// Launches on `stream`; see tunedgemm_run(). Throws Error.
  void run(const Buffers& buffers, void* stream = nullptr) const {
    check(tunedgemm_run(plan_, &buffers, stream));
  }
  /// Launches with matrices; see call_of(). Throws Error, also if their problem is not the plan's.
  template <class A, class B, class D>
  void run(const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
           const CallOptionsFor<D>& options = {}, void* stream = nullptr) const {
    const Call call = call_of(a, b, d, options);
    check(tunedgemm_plan_check(plan_, &call.problem));
    run(call.buffers, stream);
  }
  /// The kernel that the plan runs now, and its tuning; see tunedgemm_plan_get_info(). Throws
  /// Error.
  PlanInfo info() const {
    PlanInfo info;
    check(tunedgemm_plan_get_info(plan_, &info));
    return info;
  }
  /// Bytes of workspace that launches can use; 0 for none. See tunedgemm_plan_workspace_bytes().
  std::size_t workspace_bytes() const noexcept { return tunedgemm_plan_workspace_bytes(plan_); }
  /// One line for people, which lives as long as the context.
  std::string_view description() const noexcept { return tunedgemm_plan_description(plan_); }
  /// For the C functions; the context still owns the plan.
  const tunedgemm_plan* get() const noexcept { return plan_; }

 private:
  const tunedgemm_plan* plan_;
};

/// One device and one cache. Move-only. Any number of threads may use it at once, but not while it
/// is moved or destroyed. A const context makes plans and tunes, too, but cannot be frozen.
class Context {
 public:
  /// Opens the device and the cache; see tunedgemm_context_create(). Throws Error.
  explicit Context(const ContextOptions& options = {}) {
    tunedgemm_context* created = nullptr;
    check(tunedgemm_context_create(&options, &created));
    context_.reset(created);
  }

  /// Finds or makes the plan for a problem; may read the cache, compile and tune. Only these
  /// properties of the buffers matter: the alignments, whether alpha and beta are 0, whether C is
  /// D, and whether the device can use the pointers that are not null. See tunedgemm_plan_create().
  /// Throws Error.
  Plan plan(const Problem& problem, const Buffers& buffers, const PlanOptions& options = {}) const {
    const tunedgemm_plan* made = nullptr;
    check(tunedgemm_plan_create(get(), &problem, &buffers, &options, &made));
    return Plan(made);
  }

  /// Makes the plans of a list of problems ahead of time; see tunedgemm_prepare(). Calls
  /// `on_progress` with the Progress after each problem. It returns nothing, or whether to stop.
  /// Throws Error for the first failure, after the other problems. An exception of `on_progress`
  /// ends the preparation and is passed on.
  template <std::invocable<const Progress&> OnProgress>
  void prepare(std::span<const Problem> problems, const PlanOptions& options,
               OnProgress&& on_progress) const {
    struct Caller {
      std::remove_reference_t<OnProgress>& on_progress;
      std::exception_ptr exception;
    } caller{on_progress, nullptr};
    const auto call = [](void* user_data, const Progress* progress) -> std::int32_t {
      auto& [callers_function, exception] = *static_cast<Caller*>(user_data);
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<OnProgress&, const Progress&> >) {
          callers_function(*progress);
          return 0;
        } else {
          return callers_function(*progress) ? 1 : 0;
        }
      } catch (...) {
        exception = std::current_exception();
        return 1;
      }
    };
    const Status status =
        tunedgemm_prepare(get(), problems.data(), problems.size(), &options, call, &caller);
    if (caller.exception) {
      std::rethrow_exception(caller.exception);
    }
    check(status);
  }
  /// The same without a progress function.
  void prepare(std::span<const Problem> problems, const PlanOptions& options = {}) const {
    check(tunedgemm_prepare(get(), problems.data(), problems.size(), &options, nullptr, nullptr));
  }

  /// Ends background tuning for good; see tunedgemm_context_freeze(). Throws Error.
  void freeze() { check(tunedgemm_context_freeze(get())); }

  /// Several lines for people: device, toolchain, cache, and plans by origin.
  std::string report() const {
    std::string text(tunedgemm_context_report(get(), nullptr, 0), '\0');
    tunedgemm_context_report(get(), text.data(), text.size() + 1);
    return text.c_str();  // another thread may have made it shorter
  }

  /// For the C functions; this object still owns the context.
  tunedgemm_context* get() const noexcept { return context_.get(); }

 private:
  struct Destroy {
    void operator()(tunedgemm_context* context) const noexcept {
      tunedgemm_context_destroy(context);
    }
  };
  std::unique_ptr<tunedgemm_context, Destroy> context_;
};

/// D = act(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias) on the context's device,
/// for each batch index. Finds, tunes or chooses a kernel and launches it on `stream`; see
/// tunedgemm_matmul(). Throws Error.
inline void tuned_matmul(const Context& context, const Problem& problem, const Buffers& buffers,
                         void* stream = nullptr) {
  check(tunedgemm_matmul(context.get(), &problem, &buffers, stream));
}

/// The same on the process's own context for the calling thread's device: its current GPU, or the
/// host if there is no GPU. The first call creates this context, with default options. The context
/// is never destroyed. Throws Error.
inline void tuned_matmul(const Problem& problem, const Buffers& buffers, void* stream = nullptr) {
  check(tunedgemm_matmul(nullptr, &problem, &buffers, stream));
}

/// Multiplies matrices on the context's device; see call_of(). Throws Error.
template <class A, class B, class D>
void tuned_matmul(const Context& context, const Matrix<A>& a, const Matrix<B>& b,
                  const Matrix<D>& d, const CallOptionsFor<D>& options = {},
                  void* stream = nullptr) {
  const Call call = call_of(a, b, d, options);
  tuned_matmul(context, call.problem, call.buffers, stream);
}

/// Multiplies matrices on the process's own context; see call_of(). Throws Error.
template <class A, class B, class D>
void tuned_matmul(const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
                  const CallOptionsFor<D>& options = {}, void* stream = nullptr) {
  const Call call = call_of(a, b, d, options);
  tuned_matmul(call.problem, call.buffers, stream);
}

}  // namespace tunedgemm

#endif
