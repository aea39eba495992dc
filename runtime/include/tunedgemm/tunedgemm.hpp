#pragma once

/// @file tunedgemm.hpp A header-only wrapper of tunedgemm.h for C++20, with default values,
/// ownership and exceptions.
///
///     using tunedgemm::Matrix;
///     tunedgemm::tuned_matmul(Matrix(a, 512, 256), Matrix(b, 256, 128), Matrix(d, 512, 128),
///                             {.activation = tunedgemm::Activation::kRelu});
///
/// The element types come from the pointers. For types that are known only at run time there are
/// the members of the C structs:
///
///     tunedgemm::tuned_matmul({.m = 512, .n = 128, .k = 256, .type_a = type, .type_b = type},
///                             {.a = a, .b = b, .d = d});
///
/// The contracts are those of tunedgemm.h. A function throws tunedgemm::Error when its C
/// counterpart returns a status other than TUNEDGEMM_STATUS_OK; it may also throw std::bad_alloc.
/// A function whose name begins with `try_` throws nothing and returns a tunedgemm::Result. With
/// -fno-exceptions the functions that throw are missing.

#if defined(__cplusplus) && __cplusplus < 202002L
#error "tunedgemm.hpp needs C++20: compile with -std=c++20, or include tunedgemm.h, which is C"
#else  // no other message than this one

#include <array>
#include <chrono>
#include <cinttypes>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tunedgemm/tunedgemm.h"

/// @cond
struct __half;  // of the CUDA toolkit
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
/// @endcond

/// The namespace of this library.
namespace tunedgemm {

/// The result of a call; see tunedgemm_status.
enum class Status : std::int32_t {
  kOk = TUNEDGEMM_STATUS_OK,                             ///< done; on CUDA: launched
  kInvalidArgument = TUNEDGEMM_STATUS_INVALID_ARGUMENT,  ///< the call is wrong
  kUnsupported = TUNEDGEMM_STATUS_UNSUPPORTED,           ///< no kernel for the problem
  kNotTuned = TUNEDGEMM_STATUS_NOT_TUNED,                ///< no permitted kernel is ready
  kOutOfMemory = TUNEDGEMM_STATUS_OUT_OF_MEMORY,         ///< of the host or the device
  kNoDevice = TUNEDGEMM_STATUS_NO_DEVICE,                ///< no GPU, driver or ordinal
  kDeviceFailed = TUNEDGEMM_STATUS_DEVICE_FAILED,        ///< the driver reported an error
  kInternal = TUNEDGEMM_STATUS_INTERNAL,                 ///< a bug in this library
};

/// Element types; see tunedgemm_type for the supported combinations.
enum class Type : std::int32_t {
  kF64 = TUNEDGEMM_TYPE_F64,    ///< IEEE 754 binary64
  kF32 = TUNEDGEMM_TYPE_F32,    ///< IEEE 754 binary32
  kF16 = TUNEDGEMM_TYPE_F16,    ///< IEEE 754 binary16
  kBF16 = TUNEDGEMM_TYPE_BF16,  ///< bfloat16
  kE4M3 = TUNEDGEMM_TYPE_E4M3,  ///< fp8 with 4 exponent bits; A and B only
  kE5M2 = TUNEDGEMM_TYPE_E5M2,  ///< fp8 with 5 exponent bits; A and B only
  kS8 = TUNEDGEMM_TYPE_S8,      ///< signed 8-bit integer; A and B only
  kS32 = TUNEDGEMM_TYPE_S32,    ///< signed 32-bit integer; C, D and the bias only
};

/// The layout of a matrix in memory.
enum class Order : std::int32_t {
  kRowMajor = TUNEDGEMM_ORDER_ROW_MAJOR,        ///< consecutive elements form a row
  kColumnMajor = TUNEDGEMM_ORDER_COLUMN_MAJOR,  ///< consecutive elements form a column
};

/// The function act(x); see tunedgemm_activation for the formulas.
enum class Activation : std::int32_t {
  kNone = TUNEDGEMM_ACTIVATION_NONE,                 ///< x
  kRelu = TUNEDGEMM_ACTIVATION_RELU,                 ///< x < 0 ? 0 : x
  kLeakyRelu = TUNEDGEMM_ACTIVATION_LEAKY_RELU,      ///< x < 0 ? slope * x : x
  kGeluTanh = TUNEDGEMM_ACTIVATION_GELU_TANH,        ///< gelu, approximated by tanh
  kGeluErf = TUNEDGEMM_ACTIVATION_GELU_ERF,          ///< gelu
  kSilu = TUNEDGEMM_ACTIVATION_SILU,                 ///< x / (1 + exp(-x))
  kSigmoid = TUNEDGEMM_ACTIVATION_SIGMOID,           ///< 1 / (1 + exp(-x))
  kTanh = TUNEDGEMM_ACTIVATION_TANH,                 ///< tanh(x)
  kReluSquared = TUNEDGEMM_ACTIVATION_RELU_SQUARED,  ///< x < 0 ? 0 : x * x
};

/// The bias: a packed vector of D's element type, shared by all batch indices.
enum class Bias : std::int32_t {
  kNone = TUNEDGEMM_BIAS_NONE,             ///< no bias
  kPerRow = TUNEDGEMM_BIAS_PER_ROW,        ///< M values, one for each row of D
  kPerColumn = TUNEDGEMM_BIAS_PER_COLUMN,  ///< N values, one for each column of D
};

/// The arithmetic of products and sums; see tunedgemm_numerics.
enum class Numerics : std::int32_t {
  kDefault = TUNEDGEMM_NUMERICS_DEFAULT,    ///< kFast for fp8, kIeee for all other types
  kIeee = TUNEDGEMM_NUMERICS_IEEE,          ///< full precision
  kTf32 = TUNEDGEMM_NUMERICS_TF32,          ///< f32 inputs rounded to tf32
  kEmulated = TUNEDGEMM_NUMERICS_EMULATED,  ///< f32 on tensor cores, no less accurate than kIeee
  kFast = TUNEDGEMM_NUMERICS_FAST,          ///< fp8, summed by the tensor core alone
  kPromoted = TUNEDGEMM_NUMERICS_PROMOTED,  ///< fp8, partial sums promoted to f32
};

/// The kind of device.
enum class Backend : std::int32_t {
  kAuto = TUNEDGEMM_BACKEND_AUTO,  ///< kCuda if there is any CUDA device, else kHost
  kHost = TUNEDGEMM_BACKEND_HOST,  ///< the CPU
  kCuda = TUNEDGEMM_BACKEND_CUDA,  ///< an NVIDIA GPU
};

/// How to handle a cache miss; see tunedgemm_policy.
enum class Policy : std::int32_t {
  kDefault = TUNEDGEMM_POLICY_DEFAULT,                      ///< of a plan: its context's
  kTune = TUNEDGEMM_POLICY_TUNE,                            ///< tune now, then run the winner
  kTuneInBackground = TUNEDGEMM_POLICY_TUNE_IN_BACKGROUND,  ///< tune in a thread
  kCompile = TUNEDGEMM_POLICY_COMPILE,                      ///< compile one kernel if need be
  kStored = TUNEDGEMM_POLICY_STORED,                        ///< neither tune nor compile
  kFail = TUNEDGEMM_POLICY_FAIL,                            ///< fail with Status::kNotTuned
};

/// The limit of one tuning; see tunedgemm_rigor.
enum class Rigor : std::int32_t {
  kDefault = TUNEDGEMM_RIGOR_DEFAULT,        ///< $TUNEDGEMM_RIGOR, else kNormal
  kQuick = TUNEDGEMM_RIGOR_QUICK,            ///< 5 seconds, 12 candidates
  kNormal = TUNEDGEMM_RIGOR_NORMAL,          ///< 30 seconds, 28 candidates
  kExhaustive = TUNEDGEMM_RIGOR_EXHAUSTIVE,  ///< without a time limit
};

/// The kernels around a launch on its stream; see tunedgemm_launch_regime.
enum class LaunchRegime : std::int32_t {
  kIsolated = TUNEDGEMM_LAUNCH_REGIME_ISOLATED,  ///< other kernels may run between the launches
  kBackToBack =
      TUNEDGEMM_LAUNCH_REGIME_BACK_TO_BACK,  ///< kernels of this library follow each other
};

/// Where the kernel of a plan comes from; see tunedgemm_plan_origin.
enum class PlanOrigin : std::int32_t {
  kNothing = TUNEDGEMM_PLAN_ORIGIN_NOTHING,           ///< no kernel: D has no elements
  kTuned = TUNEDGEMM_PLAN_ORIGIN_TUNED,               ///< the problem's winner
  kStale = TUNEDGEMM_PLAN_ORIGIN_STALE,               ///< a winner, with another compiler or driver
  kOtherM = TUNEDGEMM_PLAN_ORIGIN_OTHER_M,            ///< a stored kernel tuned for another M
  kOtherDevice = TUNEDGEMM_PLAN_ORIGIN_OTHER_DEVICE,  ///< a stored kernel tuned on a similar device
  kNearest = TUNEDGEMM_PLAN_ORIGIN_NEAREST,           ///< of the most similar tuned problem
  kModel = TUNEDGEMM_PLAN_ORIGIN_MODEL,               ///< the cost model's choice
  kLinkedIn = TUNEDGEMM_PLAN_ORIGIN_LINKED_IN,        ///< the kernel in the library
};

#ifdef __cpp_exceptions
/// A status other than Status::kOk. what() contains the name of the status and the message.
class Error : public std::runtime_error {
 public:
  /// The failure of a call, with its message.
  Error(Status status, const std::string& message)
      : std::runtime_error(tunedgemm_status_name(static_cast<tunedgemm_status>(status)) +
                           (": " + message)),
        status_(status) {}
  /// The status of the call that failed.
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};
#endif

template <class T = void>
class Result;

/// The outcome of a call that does not throw: success, or a status with a message.
template <>
class [[nodiscard]] Result<void> {
 public:
  /// A success.
  Result() noexcept = default;
  /// A failure. Without memory for the message, the message is empty.
  Result(Status status, const char* message) noexcept : status_(status), message_(text(message)) {}
  /// The outcome of a C function. Must be constructed on the thread of the call, right after it.
  explicit Result(tunedgemm_status status) noexcept {
    if (status != TUNEDGEMM_STATUS_OK) {
      *this = Result(static_cast<Status>(status), tunedgemm_error_message());
    }
  }
  /// Whether the call succeeded.
  explicit operator bool() const noexcept { return status_ == Status::kOk; }
  /// Status::kOk, or the kind of failure.
  Status status() const noexcept { return status_; }
  /// The failure as a sentence; "" on success.
  const std::string& message() const noexcept { return message_; }
#ifdef __cpp_exceptions
  /// Throws Error on failure.
  void value() const {
    if (!*this) {
      throw Error(status_, message_);
    }
  }
#endif

 private:
  static std::string text(const char* message) noexcept {
#ifdef __cpp_exceptions
    try {
      return message;
    } catch (const std::bad_alloc&) {
      return {};
    }
#else
    return message;
#endif
  }

  Status status_ = Status::kOk;
  std::string message_;
};

/// The outcome of a call that does not throw and returns a `T`: the value, or a failure.
template <class T>
class [[nodiscard]] Result {
 public:
  /// A success.
  Result(T value) noexcept : value_(std::move(value)) {}
  /// A failure.
  Result(Result<void> failure) noexcept : failure_(std::move(failure)) {}
  /// Whether the call succeeded.
  explicit operator bool() const noexcept { return value_.has_value(); }
  /// Status::kOk, or the kind of failure.
  Status status() const noexcept { return failure_.status(); }
  /// The failure as a sentence; "" on success.
  const std::string& message() const noexcept { return failure_.message(); }
  /// The failure without the value's type, to be returned by another function.
  Result<void> failure() && noexcept { return std::move(failure_); }
  /// The value; only on success.
  T& operator*() & noexcept { return *value_; }
  /// The value; only on success.
  const T& operator*() const& noexcept { return *value_; }
  /// The value, to be moved; only on success.
  T&& operator*() && noexcept { return *std::move(value_); }
  /// Access to the value; only on success.
  T* operator->() noexcept { return &*value_; }
  /// Access to the value; only on success.
  const T* operator->() const noexcept { return &*value_; }
#ifdef __cpp_exceptions
  /// The value. Throws Error on failure.
  T value() && {
    failure_.value();
    return *std::move(value_);
  }
#endif

 private:
  Result<void> failure_;
  std::optional<T> value_;
};

#ifdef __cpp_exceptions
/// Throws Error unless `status` is TUNEDGEMM_STATUS_OK. For programs that call the C functions.
inline void check(tunedgemm_status status) {
  Result<>(status).value();
}
#endif

/// The options of a context: the members of tunedgemm_context_options, with the same defaults.
struct ContextOptions {
  Backend backend = Backend::kAuto;  ///< where to compute
  int ordinal = 0;                   ///< of the CUDA device
  int host_threads = 0;              ///< 0: $TUNEDGEMM_THREADS, else all cores
  const char* cache_path = nullptr;  ///< null: the default file
  Policy policy = Policy::kDefault;  ///< for problems without a winner
  Rigor rigor = Rigor::kDefault;     ///< how much a tuning spends
  double tune_seconds = 0;           ///< 0: the rigor's
  int tune_candidates = 0;           ///< 0: the rigor's
};

/// The multiplication: the members of tunedgemm_problem. The defaults are f32, row-major, packed,
/// batch 1, no activation, no bias and default numerics.
struct Problem {
  std::int64_t m = 0,                         ///< rows of op(A), C and D
      n = 0,                                  ///< columns of op(B), C and D
      k = 0,                                  ///< columns of op(A) and rows of op(B)
      batch = 1;                              ///< number of products
  Type type_a = Type::kF32,                   ///< element type of A
      type_b = Type::kF32,                    ///< of B
      type_d = Type::kF32;                    ///< of D, C and the bias
  Order order_a = Order::kRowMajor,           ///< how op(A) lies in memory
      order_b = Order::kRowMajor;             ///< how op(B) lies in memory
  Order order_c = Order::kRowMajor,           ///< how C lies in memory
      order_d = Order::kRowMajor;             ///< how D lies in memory
  std::int64_t lda = 0,                       ///< leading dimension of A in elements; 0: packed
      ldb = 0,                                ///< of B
      ldc = 0,                                ///< of C
      ldd = 0;                                ///< of D
  std::int64_t batch_stride_a = 0,            ///< elements from one A to the next; 0: packed
      batch_stride_b = 0,                     ///< from one B to the next
      batch_stride_c = 0,                     ///< from one C to the next
      batch_stride_d = 0;                     ///< from one D to the next
  Activation activation = Activation::kNone;  ///< applied last
  Bias bias = Bias::kNone;                    ///< whether a bias is added
  Numerics numerics = Numerics::kDefault;     ///< of products and sums

  /// The same values as a C struct.
  tunedgemm_problem c_struct() const noexcept {
    return {.struct_size = sizeof(tunedgemm_problem),
            .m = m,
            .n = n,
            .k = k,
            .batch = batch,
            .type_a = static_cast<tunedgemm_type>(type_a),
            .type_b = static_cast<tunedgemm_type>(type_b),
            .type_d = static_cast<tunedgemm_type>(type_d),
            .order_a = static_cast<tunedgemm_order>(order_a),
            .order_b = static_cast<tunedgemm_order>(order_b),
            .order_c = static_cast<tunedgemm_order>(order_c),
            .order_d = static_cast<tunedgemm_order>(order_d),
            .lda = lda,
            .ldb = ldb,
            .ldc = ldc,
            .ldd = ldd,
            .batch_stride_a = batch_stride_a,
            .batch_stride_b = batch_stride_b,
            .batch_stride_c = batch_stride_c,
            .batch_stride_d = batch_stride_d,
            .activation = static_cast<tunedgemm_activation>(activation),
            .bias = static_cast<tunedgemm_bias>(bias),
            .numerics = static_cast<tunedgemm_numerics>(numerics)};
  }
};

/// The operands of one call: the members of tunedgemm_buffers. All pointers are to memory of the
/// context's device. The memory must stay valid during the call; on CUDA, until the kernel has run.
struct Buffers {
  const void* a = nullptr;          ///< A
  const void* b = nullptr;          ///< B
  const void* c = nullptr;          ///< C; read only if beta is not 0; may be d
  void* d = nullptr;                ///< D
  const void* bias = nullptr;       ///< read if the problem has one
  const float* scale_a = nullptr;   ///< one value; null: 1
  const float* scale_b = nullptr;   ///< one value; null: 1
  double alpha = 1,                 ///< factor of the product
      beta = 0;                     ///< factor of C
  float slope = 0.01f;              ///< of Activation::kLeakyRelu
  void* workspace = nullptr;        ///< see Plan::workspace_bytes()
  std::size_t workspace_bytes = 0;  ///< of `workspace`

  /// The same values as a C struct.
  tunedgemm_buffers c_struct() const noexcept {
    return {.struct_size = sizeof(tunedgemm_buffers),
            .a = a,
            .b = b,
            .c = c,
            .d = d,
            .bias = bias,
            .scale_a = scale_a,
            .scale_b = scale_b,
            .alpha = alpha,
            .beta = beta,
            .slope = slope,
            .workspace = workspace,
            .workspace_bytes = workspace_bytes};
  }
};

/// A batch stride of A, B or C: all batch indices use the same matrix.
inline constexpr std::int64_t kBroadcast = TUNEDGEMM_BROADCAST;

/// The element type of a Matrix<T>; Type{} if there is none. A program may specialise it for its
/// own type with the bits of a Type.
template <class T>
inline constexpr Type type_of = Type{};
/// @cond
template <>
inline constexpr Type type_of<double> = Type::kF64;
template <>
inline constexpr Type type_of<float> = Type::kF32;
template <>
inline constexpr Type type_of<__half> = Type::kF16;
template <>
inline constexpr Type type_of<__nv_bfloat16> = Type::kBF16;
template <>
inline constexpr Type type_of<__nv_fp8_e4m3> = Type::kE4M3;
template <>
inline constexpr Type type_of<__nv_fp8_e5m2> = Type::kE5M2;
template <>
inline constexpr Type type_of<std::int8_t> = Type::kS8;
template <>
inline constexpr Type type_of<std::int32_t> = Type::kS32;
/// @endcond

/// How a matrix lies in memory.
struct MatrixLayout {
  Order order = Order::kRowMajor;      ///< of the elements
  std::int64_t leading_dimension = 0;  ///< in elements; 0: packed
  std::int64_t batch_stride = 0;       ///< elements from one matrix to the next; 0: packed
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

/// All but the matrices A, B and D of a product whose D has elements of type `T`.
template <class T>
struct ProductOptions {
  std::optional<Matrix<const T> > c = {};     ///< C, which may be D
  double alpha = 1,                           ///< factor of the product
      beta = 1;                               ///< factor of C, if there is a C
  const T* bias_per_row = nullptr;            ///< M values, one for each row of D
  const T* bias_per_column = nullptr;         ///< N values, one for each column of D
  Activation activation = Activation::kNone;  ///< applied last
  float slope = 0.01f;                        ///< of Activation::kLeakyRelu
  const float* scale_a = nullptr;             ///< one value; null: 1
  const float* scale_b = nullptr;             ///< one value; null: 1
  Numerics numerics = Numerics::kDefault;     ///< of products and sums
  std::int64_t batch = 1;                     ///< number of products
};

/// A multiplication of matrices, for tuned_matmul(), Context::plan() and Plan::run().
struct Product {
  Problem problem;  ///< the shapes, types and layouts
  Buffers buffers;  ///< the pointers and factors
};

/// Like product(), but returns the failure.
template <class A, class B, class D>
Result<Product> try_product(
    const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
    const std::type_identity_t<ProductOptions<std::remove_const_t<D> > >& options = {}) noexcept {
  static_assert(!std::is_const_v<D>, "D is written, so its elements must not be const");
  std::array<char, 256> text;
  if (a.columns() != b.rows() || d.rows() != a.rows() || d.columns() != b.columns()) {
    std::snprintf(text.data(), text.size(),
                  "A is %" PRId64 " x %" PRId64 ", B is %" PRId64 " x %" PRId64 " and D is %" PRId64
                  " x %" PRId64 "; they must be M x K, K x N and M x N",
                  a.rows(), a.columns(), b.rows(), b.columns(), d.rows(), d.columns());
    return Result<>(Status::kInvalidArgument, text.data());
  }
  if (options.c && (options.c->rows() != d.rows() || options.c->columns() != d.columns())) {
    std::snprintf(text.data(), text.size(),
                  "C is %" PRId64 " x %" PRId64 " and D is %" PRId64 " x %" PRId64
                  "; they must be of one size",
                  options.c->rows(), options.c->columns(), d.rows(), d.columns());
    return Result<>(Status::kInvalidArgument, text.data());
  }
  const bool has_row_bias = options.bias_per_row != nullptr;
  const bool has_column_bias = options.bias_per_column != nullptr;
  if (has_row_bias && has_column_bias) {
    return Result<>(Status::kInvalidArgument,
                    "there are bias_per_row and bias_per_column; use one of them");
  }
  const MatrixLayout layout_c = options.c ? options.c->layout() : MatrixLayout();
  return Product{.problem = {.m = a.rows(),
                             .n = b.columns(),
                             .k = a.columns(),
                             .batch = options.batch,
                             .type_a = type_of<std::remove_const_t<A> >,
                             .type_b = type_of<std::remove_const_t<B> >,
                             .type_d = type_of<std::remove_const_t<D> >,
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
                             .bias = has_row_bias      ? Bias::kPerRow
                                     : has_column_bias ? Bias::kPerColumn
                                                       : Bias::kNone,
                             .numerics = options.numerics},
                 .buffers = {.a = a.data(),
                             .b = b.data(),
                             .c = options.c ? options.c->data() : nullptr,
                             .d = d.data(),
                             .bias = has_row_bias ? options.bias_per_row : options.bias_per_column,
                             .scale_a = options.scale_a,
                             .scale_b = options.scale_b,
                             .alpha = options.alpha,
                             .beta = options.c ? options.beta : 0,
                             .slope = options.slope}};
}

#ifdef __cpp_exceptions
/// The multiplication D = act(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias) of these
/// matrices: op(A) is M x K, op(B) is K x N, C and D are M x N. Throws Error if the sizes do not
/// fit.
template <class A, class B, class D>
Product product(
    const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
    const std::type_identity_t<ProductOptions<std::remove_const_t<D> > >& options = {}) {
  return try_product(a, b, d, options).value();
}
#endif

/// The options of a plan: the members of tunedgemm_plan_options, with the same defaults.
struct PlanOptions {
  Policy policy = Policy::kDefault;                      ///< kDefault: the context's
  LaunchRegime launch_regime = LaunchRegime::kIsolated;  ///< the kernels around a launch
  const char* name = nullptr;                            ///< for requests; null: none
  double accepted_loss = 0;  ///< with kTune or kCompile; 0.05 accepts a kernel within 5 %

  /// The same values as a C struct.
  tunedgemm_plan_options c_struct() const noexcept {
    return {.struct_size = sizeof(tunedgemm_plan_options),
            .policy = static_cast<tunedgemm_policy>(policy),
            .launch_regime = static_cast<tunedgemm_launch_regime>(launch_regime),
            .name = name,
            .accepted_loss = accepted_loss};
  }
};

/// The kernel that a plan runs now, and its tuning: the members of tunedgemm_plan_info.
struct PlanInfo {
  PlanOrigin origin = PlanOrigin::kNothing;  ///< where the kernel comes from
  int candidates = 0;                        ///< of the tuning: candidates tried
  double median_us = 0;                      ///< of the tuning: the kernel's median time
  double low_us = 0;                         ///< of the tuning: the 20th percentile
  double high_us = 0;                        ///< of the tuning: the 80th percentile
  double default_us = 0;                     ///< the untuned default; 0: not measured
  double naive_us = 0;                       ///< the naive kernel; 0: not measured
  double expected_loss = 0;                  ///< to the winner of a tuning; -1: unknown
  double expected_us = 0;                    ///< of kOtherM
  std::int64_t tuned_m = 0;                  ///< of kOtherM
  std::size_t workspace_bytes = 0;           ///< that launches can use
  std::chrono::sys_seconds tuned_at{};       ///< the end of the tuning
  double spent_seconds = 0;                  ///< how long the tuning took
  std::string_view tuned_with;               ///< the compiler; lives as long as the context
};

/// A problem with its kernel. A plain value that refers to a plan of a context; the context must
/// outlive it. Any number of threads may run a plan at once.
class Plan {
 public:
  /// Wraps a plan that tunedgemm_plan_create() made.
  explicit Plan(const tunedgemm_plan* plan) noexcept : plan_(plan) {}
  /// Like run(), but returns the failure.
  Result<> try_run(const Buffers& buffers, void* stream = nullptr) const noexcept {
    const tunedgemm_buffers c_buffers = buffers.c_struct();
    return Result<>(tunedgemm_run(plan_, &c_buffers, stream));
  }
  /// Bytes of workspace that launches can use; 0 for none. See tunedgemm_plan_workspace_bytes().
  std::size_t workspace_bytes() const noexcept { return tunedgemm_plan_workspace_bytes(plan_); }
  /// One line for people, which lives as long as the context.
  std::string_view description() const noexcept { return tunedgemm_plan_description(plan_); }
  /// For the C functions; the context still owns the plan.
  const tunedgemm_plan* get() const noexcept { return plan_; }

#ifdef __cpp_exceptions
  /// Launches on `stream`; see tunedgemm_run(). Throws Error.
  void run(const Buffers& buffers, void* stream = nullptr) const {
    try_run(buffers, stream).value();
  }
  /// The kernel that the plan runs now, and its tuning; see tunedgemm_plan_get_info(). Throws
  /// Error.
  PlanInfo info() const {
    tunedgemm_plan_info info;
    tunedgemm_plan_info_init(&info);
    check(tunedgemm_plan_get_info(plan_, &info));
    return {.origin = static_cast<PlanOrigin>(info.origin),
            .candidates = info.candidates,
            .median_us = info.median_us,
            .low_us = info.low_us,
            .high_us = info.high_us,
            .default_us = info.default_us,
            .naive_us = info.naive_us,
            .expected_loss = info.expected_loss,
            .expected_us = info.expected_us,
            .tuned_m = info.tuned_m,
            .workspace_bytes = info.workspace_bytes,
            .tuned_at = std::chrono::sys_seconds(std::chrono::seconds(info.tuned_at)),
            .spent_seconds = info.spent_seconds,
            .tuned_with = info.tuned_with};
  }
#endif

 private:
  const tunedgemm_plan* plan_;
};

/// The result for one problem of Context::prepare(): the members of tunedgemm_progress.
struct Progress {
  std::size_t index = 0;        ///< of the problem in the list
  std::size_t count = 0;        ///< of the problems
  std::optional<Plan> plan;     ///< empty on failure
  Status status = Status::kOk;  ///< of the problem
  std::string_view message;     ///< the failure; lives during the call
  double seconds = 0;           ///< since prepare() began
};

/// One device and one cache. Move-only. Any number of threads may use it at once, but not while it
/// is moved or destroyed. A const context makes plans and tunes, too, but cannot be frozen.
class Context {
 public:
  /// Like the constructor, but returns the failure.
  static Result<Context> try_create(const ContextOptions& options = {}) noexcept {
    tunedgemm_context_options c_options;
    tunedgemm_context_options_init(&c_options);
    c_options.backend = static_cast<tunedgemm_backend>(options.backend);
    c_options.ordinal = options.ordinal;
    c_options.host_threads = options.host_threads;
    c_options.cache_path = options.cache_path;
    c_options.policy = static_cast<tunedgemm_policy>(options.policy);
    c_options.rigor = static_cast<tunedgemm_rigor>(options.rigor);
    c_options.tune_seconds = options.tune_seconds;
    c_options.tune_candidates = options.tune_candidates;
    tunedgemm_context* made = nullptr;
    Result<> created(tunedgemm_context_create(&c_options, &made));
    return created ? Result(Context(made)) : Result<Context>(std::move(created));
  }

  /// Like plan(), but returns the failure.
  Result<Plan> try_plan(const Problem& problem, const Buffers& buffers,
                        const PlanOptions& options = {}) const noexcept {
    const tunedgemm_problem c_problem = problem.c_struct();
    const tunedgemm_buffers c_buffers = buffers.c_struct();
    const tunedgemm_plan_options c_options = options.c_struct();
    const tunedgemm_plan* made = nullptr;
    Result<> created(
        tunedgemm_plan_create(context_.get(), &c_problem, &c_buffers, &c_options, &made));
    return created ? Result(Plan(made)) : Result<Plan>(std::move(created));
  }

  /// Several lines for people: device, toolchain, cache, and plans by origin.
  std::string report() const {
    std::string text(tunedgemm_context_report(context_.get(), nullptr, 0), '\0');
    tunedgemm_context_report(context_.get(), text.data(), text.size());
    text.pop_back();
    return text;
  }

  /// For the C functions; this object still owns the context.
  tunedgemm_context* get() const noexcept { return context_.get(); }

#ifdef __cpp_exceptions
  /// Opens the device and the cache; see tunedgemm_context_create(). Throws Error.
  explicit Context(const ContextOptions& options = {}) : Context(try_create(options).value()) {}

  /// Finds or makes the plan for a problem; may read the cache, compile and tune. Only these
  /// properties of the buffers matter: the alignments, whether alpha and beta are 0, whether C is
  /// D, and whether the device can use the pointers that are not null. See tunedgemm_plan_create().
  /// Throws Error.
  Plan plan(const Problem& problem, const Buffers& buffers, const PlanOptions& options = {}) const {
    return try_plan(problem, buffers, options).value();
  }

  /// Makes the plans of a list of problems ahead of time; see tunedgemm_prepare(). Calls
  /// `on_progress` with the Progress after each problem. It returns nothing, or whether to stop.
  /// Throws Error for the first failure, after the other problems. An exception of `on_progress`
  /// ends the preparation and is passed on.
  template <std::invocable<const Progress&> OnProgress>
  void prepare(std::span<const Problem> problems, const PlanOptions& options,
               OnProgress&& on_progress) const {
    std::vector<tunedgemm_problem> c_problems;
    c_problems.reserve(problems.size());
    for (const Problem& problem : problems) {
      c_problems.push_back(problem.c_struct());
    }
    const tunedgemm_plan_options c_options = options.c_struct();
    struct Caller {
      std::remove_reference_t<OnProgress>& on_progress;
      std::exception_ptr exception;
    } caller{on_progress, nullptr};
    const auto call = [](void* user_data, const tunedgemm_progress* c_progress) -> std::int32_t {
      auto& [callers_function, exception] = *static_cast<Caller*>(user_data);
      try {
        Progress progress{.index = c_progress->index,
                          .count = c_progress->count,
                          .plan = std::nullopt,
                          .status = static_cast<Status>(c_progress->status),
                          .message = c_progress->message,
                          .seconds = c_progress->seconds};
        if (c_progress->plan != nullptr) {
          progress.plan.emplace(c_progress->plan);
        }
        if constexpr (std::is_void_v<std::invoke_result_t<OnProgress&, const Progress&> >) {
          callers_function(progress);
          return 0;
        } else {
          return callers_function(progress) ? 1 : 0;
        }
      } catch (...) {
        exception = std::current_exception();
        return 1;
      }
    };
    const tunedgemm_status status = tunedgemm_prepare(context_.get(), c_problems.data(),
                                                      c_problems.size(), &c_options, call, &caller);
    if (caller.exception) {
      std::rethrow_exception(caller.exception);
    }
    check(status);
  }
  /// The same without a progress function.
  void prepare(std::span<const Problem> problems, const PlanOptions& options = {}) const {
    prepare(problems, options, [](const Progress&) {});
  }

  /// Ends background tuning for good; see tunedgemm_context_freeze(). Throws Error.
  void freeze() {
    check(tunedgemm_context_freeze(context_.get()));
  }
#endif

 private:
  explicit Context(tunedgemm_context* context) noexcept : context_(context) {}

  struct Destroy {
    void operator()(tunedgemm_context* context) const noexcept {
      tunedgemm_context_destroy(context);
    }
  };
  std::unique_ptr<tunedgemm_context, Destroy> context_;
};

/// Like tuned_matmul(), but returns the failure.
inline Result<> try_matmul(const Context& context, const Problem& problem, const Buffers& buffers,
                           void* stream = nullptr) noexcept {
  const tunedgemm_problem c_problem = problem.c_struct();
  const tunedgemm_buffers c_buffers = buffers.c_struct();
  return Result<>(tunedgemm_matmul(context.get(), &c_problem, &c_buffers, stream));
}

/// Like tuned_matmul(), but returns the failure.
inline Result<> try_matmul(const Problem& problem, const Buffers& buffers,
                           void* stream = nullptr) noexcept {
  const tunedgemm_problem c_problem = problem.c_struct();
  const tunedgemm_buffers c_buffers = buffers.c_struct();
  return Result<>(tunedgemm_matmul(nullptr, &c_problem, &c_buffers, stream));
}

/// Like tuned_matmul(), but returns the failure.
template <class A, class B, class D>
Result<> try_matmul(
    const Context& context, const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
    const std::type_identity_t<ProductOptions<std::remove_const_t<D> > >& options = {},
    void* stream = nullptr) noexcept {
  Result<Product> made = try_product(a, b, d, options);
  return made ? try_matmul(context, made->problem, made->buffers, stream)
              : std::move(made).failure();
}

/// Like tuned_matmul(), but returns the failure.
template <class A, class B, class D>
Result<> try_matmul(
    const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
    const std::type_identity_t<ProductOptions<std::remove_const_t<D> > >& options = {},
    void* stream = nullptr) noexcept {
  Result<Product> made = try_product(a, b, d, options);
  return made ? try_matmul(made->problem, made->buffers, stream) : std::move(made).failure();
}

#ifdef __cpp_exceptions
/// D = act(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias) on the context's device,
/// for each batch index. Finds, tunes or chooses a kernel and launches it on `stream`; see
/// tunedgemm_matmul(). Throws Error.
inline void tuned_matmul(const Context& context, const Problem& problem, const Buffers& buffers,
                         void* stream = nullptr) {
  try_matmul(context, problem, buffers, stream).value();
}

/// Like the overload with a context, on the process's own context for the calling thread's device:
/// its current GPU, or the host if there is no GPU. The first call creates this context, with
/// default options. The context is never destroyed. Throws Error.
inline void tuned_matmul(const Problem& problem, const Buffers& buffers, void* stream = nullptr) {
  try_matmul(problem, buffers, stream).value();
}

/// Multiplies matrices on the context's device; see product() and the overload with a Problem.
/// Throws Error.
template <class A, class B, class D>
void tuned_matmul(
    const Context& context, const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
    const std::type_identity_t<ProductOptions<std::remove_const_t<D> > >& options = {},
    void* stream = nullptr) {
  try_matmul(context, a, b, d, options, stream).value();
}

/// Multiplies matrices on the process's own context; see product() and the overload with a Problem.
/// Throws Error.
template <class A, class B, class D>
void tuned_matmul(
    const Matrix<A>& a, const Matrix<B>& b, const Matrix<D>& d,
    const std::type_identity_t<ProductOptions<std::remove_const_t<D> > >& options = {},
    void* stream = nullptr) {
  try_matmul(a, b, d, options, stream).value();
}
#endif

}  // namespace tunedgemm

#endif
