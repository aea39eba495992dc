#pragma once

// Problem: the requested multiplication, as a plain value.
//
//     D = act( alpha * (scale_a * op(A)) * (op(B) * scale_b) + beta * C + bias )  (per batch index)
//
// op(A) is M x K, op(B) K x N, C and D M x N. A transposed row-major matrix is a column-major one,
// so op() is part of the order: `a.order` is the memory order of the M x K matrix op(A). A property
// has a field if and only if it may change which kernel is legal or fastest. Pointers, the values
// of alpha and beta, and the activation's slope have no field: they are arguments of the call.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernel_templates/problem/activation.h"
#include "kernel_templates/problem/data_type.h"
#include "kernel_templates/problem/grouping.h"
#include "kernel_templates/problem/scaling.h"

namespace tunedgemm::internal {

inline constexpr ActivationTable kActivations = activation_table();

/// No address space is larger. The limit is far below 2^63, so that sums of offsets do not
/// overflow, for example if a tile ends beyond the last row.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

// Most enumerators below cross the C ABI or enter the fingerprints of kernels: never renumber any.

enum class Order : std::int32_t { kRowMajor = 0, kColumnMajor = 1 };

/// The bias has D's element type: M values, one for each row of D, or N values, one for each
/// column. All batch indices share it, but groups have their own.
enum class Bias : std::int32_t { kNone = 0, kPerRow = 1, kPerColumn = 2 };

/// The class of alpha or beta. Their values are not part of the problem. If `beta` is of class
/// kZero, C is never read.
enum class ScalarClass : std::int32_t { kZero = 0, kOne = 1, kOther = 2 };

/// The arithmetic of the products. f32 inputs have the first three choices, fp8 inputs the last
/// two, and other inputs only kIeee.
enum class Numerics : std::int32_t {
  kIeee = 0,      ///< f32 products and sums in f32; the only choice for f64, f16, bf16 and s8
  kTf32 = 1,      ///< f32 inputs rounded to tf32 (10 mantissa bits), accumulated in f32
  kEmulated = 2,  ///< f32 inputs split into three bf16; the same error bound as kIeee
  kFast = 3,      ///< fp8 accumulated in the tensor core's precision
  kPromoted = 4,  ///< fp8 partial sums added to f32 accumulators at short intervals
};

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

/// Calls have the members of tunedgemm_problem instead (runtime/context/call_key.h converts them).
struct Problem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Matrix a, b, c, d;    ///< c.type equals d.type
  bool c_is_d = false;  ///< C and D are the same memory with the same order and strides
  ScalarClass alpha = ScalarClass::kOne;
  ScalarClass beta = ScalarClass::kZero;
  Activation activation = Activation::kNone;
  Bias bias = Bias::kNone;
  Numerics numerics = Numerics::kIeee;
  LaunchRegime launch_regime = LaunchRegime::kIsolated;
  /// 1: an element of D has the same bits for every M, at every position. They depend only on a row
  /// of A, a column of B, the epilogue and what accumulation_class() reads.
  std::int32_t invariant = 0;
  std::int32_t sm_limit = 0;  ///< the SMs of the GPU that a launch may use; 0: all
  Scaling scaling_a = Scaling::kTensor, scaling_b = Scaling::kTensor;
  GroupKind group_kind = GroupKind::kNone;  ///< of a grouped product, whose groups are the batch
  /// The usual rows of a group, for which kernels are tuned; 0: an equal part of M (kRows), or M
  /// (kCounts).
  std::int32_t rows_per_group = 0;

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// How many scales A or B of one batch index has.
struct ScaleCounts {
  std::int64_t rows = 1;    ///< or groups of rows; for B, of columns
  std::int64_t blocks = 1;  ///< along K
};
/// `extent` is M for A and N for B.
ScaleCounts scale_counts(Scaling scaling, std::int64_t extent, std::int64_t k) noexcept;
/// Whether neither A nor B has more than one scale.
inline bool has_one_scale_each(const Problem& problem) {
  return problem.scaling_a == Scaling::kTensor && problem.scaling_b == Scaling::kTensor;
}
/// Whether the scales of A or of B change along K.
inline bool has_block_scales(const Problem& problem) {
  return is_of_blocks(problem.scaling_a) || is_of_blocks(problem.scaling_b);
}

/// A problem with batch = 1, packed matrices, the largest alignments that the sizes allow, alpha =
/// 1 and beta = 0. `layout` has a letter for A and one for B: n = row-major, t = column-major
/// ("nn", "nt", "tn", "tt"). Numerics is kIeee, or kFast for fp8. Throws std::invalid_argument with
/// a sentence if the layout, a type or a size is bad.
Problem make_problem(std::int64_t m, std::int64_t n, std::int64_t k, DataType a, DataType b,
                     DataType d, std::string_view layout = "nn");

/// Empty if the problem is well formed; otherwise a sentence with the bad value and the remedy.
/// Sizes may be zero. Leading dimensions must cover the rows (columns if column-major). No matrix,
/// leading dimension or batch stride may span more than kMostBytes. The numerics must suit the
/// types. D of one batch index must not overlap D of another. Grouped rows need a row-major D.
std::string why_not(const Problem& problem);

/// Whether all groups share A, C and D, or A and B. Their batch strides are then 0.
inline bool shares_rows(const Problem& problem) {
  return shares_rows(problem.group_kind);
}
inline bool groups_rows(const Problem& problem) {
  return groups_rows(problem.group_kind);
}
inline bool shares_depth(const Problem& problem) {
  return problem.group_kind == GroupKind::kDepth;
}
/// The rows of D of all batch indices together.
inline std::int64_t total_rows(const Problem& problem) {
  return shares_rows(problem) ? problem.m : problem.m * problem.batch;
}
/// The rows of each of equal groups: the usual number, within the M of the problem. M if no rows
/// are grouped.
std::int64_t usual_rows(const Problem& problem);
/// A grouped product with equal groups of the usual rows, or equal parts of K, as a batch, which
/// takes about as long; other problems unchanged.
Problem batch_of_equal_groups(const Problem& problem);
/// Grouped products are tuned for the mean time of launches that have equal groups, except for one
/// launch in kSkewedTurn. There, every fourth group is kLargestGroup times as large as the others.
constexpr int kSkewedTurn = 3;
constexpr std::int64_t kLargestGroup = 4;
/// The large ones of these skewed groups, and the others, as two batches. Precondition: rows are
/// grouped.
std::array<Problem, 2> batches_of_skewed_groups(const Problem& problem);
/// The bytes of the array of the groups.
inline std::int64_t group_bytes(const Problem& problem) {
  return problem.batch * numbers_of_group(problem.group_kind) * std::int64_t{sizeof(std::int32_t)};
}
/// From the bias of a batch index to that of the next one, in elements.
std::int64_t bias_batch_stride(const Problem& problem);
/// How many batch indices have scales of their own; the others use the first ones.
std::int64_t scaled_batch(const Problem& problem, Scaling scaling, bool is_of_a);

/// The same multiplication as its transpose: swaps A and B, M and N, and row and column bias, and
/// flips every order. Precondition: no rows are grouped.
Problem transposed(const Problem& problem);

/// A problem as the kernels compute it and as keys have it; only canonical() makes one. D is
/// row-major. Differences without effect are removed, so that equal work has equal keys: for the
/// usual rows of groups there are eight classes (1, 8, 16, 32, 64, 128, 512, 2048). Batch
/// strides are 0 if batch is 1; C equals D if beta is zero; K is 0 if alpha is zero; no scales are
/// read if K is 0; alpha is kOne; and beta is kZero or kOther.
class CanonicalProblem {
 public:
  CanonicalProblem() = default;  ///< without elements
  // NOLINTNEXTLINE(google-explicit-constructor): it is a Problem, wherever one is read
  operator const Problem&() const { return problem_; }
  const Problem* operator->() const { return &problem_; }
  friend bool operator==(const CanonicalProblem&, const CanonicalProblem&) = default;

 private:
  friend CanonicalProblem canonical(const Problem& problem);
  explicit CanonicalProblem(const Problem& problem) : problem_(problem) {}
  Problem problem_;
};

/// The same multiplication in canonical form: a column-major D is computed as its transpose.
CanonicalProblem canonical(const Problem& problem);
/// Whether canonical() swaps A and B, so that their pointers and scales must be swapped, too.
inline bool swaps_operands(const Problem& problem) {
  return problem.d.order == Order::kColumnMajor;
}

/// One line with the fields by name (see kFieldsAlwaysWritten), e.g. "m=512 n=768 k=64 batch=1
/// a=f16,row,64,0,16 b=... c=... d=... c_is_d=0 alpha=one beta=zero activation=none bias=none
/// numerics=ieee regime=cold". Parsing it gives the same Problem.
std::string to_text(const Problem& problem);
std::optional<Problem> parse_problem(std::string_view text);

/// The problem's key: 32 hexadecimal digits of the hash of its text. No other function computes
/// keys.
std::string fingerprint(const CanonicalProblem& problem);

/// "f16→f16", "e4m3×e5m2→bf16", with the numerics if there is a choice: "f32→f32 tf32".
std::string types_text(const Problem& problem);
/// "nn", "nt", "tn", "tt": a letter for A and one for B, n = row-major. " C:col" or " D:col" is
/// appended if C is read and column-major, or D is column-major; " groups:" and their kind if there
/// are groups.
std::string layout_text(const Problem& problem);
/// The fused operations, e.g. "beta·C bias/col gelu_tanh"; "" if there are none.
std::string epilogue_text(const Problem& problem);

/// 2 m n k batch, as a double since it may exceed 2^63. Groups count as equal ones.
double flops(const Problem& problem);
/// The bytes of A and B, and of D, which counts twice if C is read. A matrix that all batch indices
/// share counts once. Groups count as equal ones.
double minimum_bytes(const Problem& problem);

/// The number of elements from the first to the last element of a rows x columns matrix with this
/// order, stride and batch; empty if they take up more than kMostBytes bytes.
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
std::string_view name(LaunchRegime regime);
std::string_view name(Scaling scaling);
std::string_view name(GroupKind kind);
std::optional<Order> parse_order(std::string_view text);
std::optional<ScalarClass> parse_scalar_class(std::string_view text);
std::optional<LaunchRegime> parse_launch_regime(std::string_view text);
std::optional<Activation> parse_activation(std::string_view text);
std::optional<Bias> parse_bias(std::string_view text);
std::optional<Numerics> parse_numerics(std::string_view text);
std::optional<Scaling> parse_scaling(std::string_view text);
std::optional<GroupKind> parse_group_kind(std::string_view text);

}  // namespace tunedgemm::internal
