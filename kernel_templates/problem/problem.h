#pragma once

// Problem: the requested multiplication, as a plain value.
//
//     D = act( alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias ),   per batch entry
//
// op(A) is M x K, op(B) K x N, C and D M x N. A transposed row-major matrix is a column-major one,
// so op() is part of the order: `a.order` is the memory order of the M x K matrix op(A). Exactly
// those properties have a field that may change which kernel is legal or fastest. Pointers, alpha's
// value and the activation's slope have none: they are arguments of the call.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernel_templates/problem/activation.h"
#include "kernel_templates/problem/data_type.h"

namespace tunedgemm::internal {

inline constexpr ActivationTable kActivations = activation_table();

/// More than any program's address space. It is far below 2^63, so that sums of offsets do not
/// overflow, for example if a tile ends beyond the last row.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

// All enumerators below are stored on disk and cross the C ABI: never renumber.

enum class Order : std::int32_t { kRowMajor = 0, kColumnMajor = 1 };

/// The bias has D's element type: M values, one for each row of D, or N values, one for each
/// column.
enum class Bias : std::int32_t { kNone = 0, kPerRow = 1, kPerColumn = 2 };

/// Only a scalar's class is part of the problem. If `beta` is of class kZero, C is never read.
enum class ScalarClass : std::int32_t { kZero = 0, kOne = 1, kOther = 2 };

/// The arithmetic of the products. Only f32 inputs (the first three) and fp8 inputs (the last two)
/// have a choice.
enum class Numerics : std::int32_t {
  kIeee = 0,      ///< f32 products and sums in f32; the only one for f64, f16, bf16 and s8
  kTf32 = 1,      ///< f32 inputs rounded to tf32 (10 mantissa bits), accumulated in f32
  kEmulated = 2,  ///< f32 inputs split into parts; the error is at most that of kIeee
  kFast = 3,      ///< fp8 accumulated in the tensor core's precision
  kPromoted = 4,  ///< fp8 partial sums added to f32 accumulators at short intervals
};

/// The inputs with which tuning measures: inputs that are not in the cache (the usual case), or the
/// same inputs again.
enum class Regime : std::int32_t { kCold = 0, kWarm = 1 };

/// The kernel that precedes a launch, in tuning and in a program: an unrelated kernel (the usual
/// case), or a kernel of this library, with which the launch may overlap.
enum class LaunchRegime : std::int32_t { kIsolated = 0, kBackToBack = 1 };

/// The memory layout of a matrix: element type, order, leading dimension and batch stride in
/// elements, and the largest power of two up to 16 that divides the address of every row (column if
/// column-major), in bytes.
struct Matrix {
  DataType type = DataType::kF32;
  Order order = Order::kRowMajor;
  std::int64_t leading_dimension = 0;
  std::int64_t batch_stride = 0;
  std::int32_t alignment_bytes = 16;

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

struct Problem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Matrix a, b, c, d;    ///< c.type equals d.type
  bool c_is_d = false;  ///< C and D are the same memory with the same order and strides
  ScalarClass alpha = ScalarClass::kOne;
  ScalarClass beta = ScalarClass::kZero;
  Activation activation = Activation::kNone;
  Bias bias = Bias::kNone;
  Numerics numerics = Numerics::kIeee;
  Regime regime = Regime::kCold;
  LaunchRegime launch_regime = LaunchRegime::kIsolated;

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// A problem with packed matrices, 16-byte aligned if the sizes allow it, alpha = 1 and beta = 0.
/// `layout` has a letter for A and one for B: n = row-major, t = column-major ("nn", "nt", "tn",
/// "tt"). Numerics is kIeee, or kFast for fp8. Throws std::invalid_argument with a sentence if the
/// layout or the types are bad.
Problem make_problem(std::int64_t m, std::int64_t n, std::int64_t k, DataType a, DataType b,
                     DataType d, std::string_view layout = "nn");

/// Empty if the problem is well formed; otherwise a sentence with the bad value and the remedy.
/// Sizes may be zero. Leading dimensions must cover the rows. No matrix, leading dimension or batch
/// stride may span more than kMostBytes. Types and numerics must match.
std::string why_not(const Problem& problem);

/// The same multiplication as its transpose: swaps A and B, M and N, and row and column bias, and
/// flips every order.
Problem transposed(const Problem& problem);

/// The same multiplication with D row-major: a column-major D is computed as its transpose. Fields
/// without effect are reset, so that equal work has equal keys. These are the batch strides if
/// batch is 1, and all of C if beta is zero.
struct Canonical {
  Problem problem;
  bool swapped = false;  ///< A and B were swapped: swap their pointers and scales too
};
Canonical canonical(const Problem& problem);

/// One line with every field by name, e.g.
/// "m=512 n=768 k=64 batch=1 a=f16,row,64,0,16 b=... c=... d=... c_is_d=0 alpha=one beta=zero
/// activation=none bias=none numerics=ieee regime=cold". Parsing it gives the same Problem.
std::string to_text(const Problem& problem);
std::optional<Problem> parse_problem(std::string_view text);

/// The problem's key: 32 hexadecimal digits of the hash of to_text(canonical(problem).problem). No
/// other function computes keys.
std::string fingerprint(const Problem& problem);

/// "f16→f16", "e4m3×e5m2→bf16", with the numerics if there is a choice: "f32→f32 tf32".
std::string types_text(const Problem& problem);
/// "nn", "nt", "tn", "tt": a letter for A and one for B, n = row-major; " C:col" is appended for a
/// column-major C.
std::string layout_text(const Problem& problem);
/// The fused operations, or "": "beta bias/col gelu_tanh".
std::string epilogue_text(const Problem& problem);

/// 2 m n k batch, as a double since it may exceed 2^63.
double flops(const Problem& problem);
/// Bytes of A, B and D (and C if it is read), each counted once.
double minimum_bytes(const Problem& problem);

/// The number of elements that a rows x columns matrix with this order, stride and batch spans,
/// from its first to its last element; empty if they are more than kMostBytes.
std::optional<std::int64_t> span_elements(const Matrix& matrix, std::int64_t rows,
                                          std::int64_t columns, std::int64_t batch);

/// The alignment class of a matrix at `address`: the largest of 16, 8, 4, 2, 1 that divides the
/// address, the leading dimension in bytes and (if batch > 1) the batch stride in bytes.
std::int32_t alignment_class(std::uintptr_t address, const Matrix& matrix, std::int64_t batch);

std::string_view name(Order order);
std::string_view name(Activation activation);
std::string_view name(Bias bias);
std::string_view name(ScalarClass scalar);
std::string_view name(Numerics numerics);
std::string_view name(Regime regime);
std::string_view name(LaunchRegime regime);
std::optional<Order> parse_order(std::string_view text);
std::optional<ScalarClass> parse_scalar_class(std::string_view text);
std::optional<Regime> parse_regime(std::string_view text);
std::optional<LaunchRegime> parse_launch_regime(std::string_view text);
std::optional<Activation> parse_activation(std::string_view text);
std::optional<Bias> parse_bias(std::string_view text);
std::optional<Numerics> parse_numerics(std::string_view text);

}  // namespace tunedgemm::internal
