#include "kernel_templates/problem/problem.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernel_templates/base/division.h"
#include "kernel_templates/base/sha256.h"
#include "kernel_templates/problem/problem_fields.h"
#include "kernel_templates/problem/problem_grammar.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kFingerprintDigits = 32;

Order flipped(Order order) {
  return order == Order::kRowMajor ? Order::kColumnMajor : Order::kRowMajor;
}

// A matrix is `count` lines (rows, or columns if column-major) of `length` elements.
struct MatrixLines {
  std::int64_t count = 0;
  std::int64_t length = 0;
};

MatrixLines lines_of(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  return matrix.order == Order::kRowMajor ? MatrixLines{rows, columns} : MatrixLines{columns, rows};
}

std::string why_not_sizes(const Problem& problem) {
  const std::array<std::pair<std::string_view, std::int64_t>, 4> sizes{
      {{"M", problem.m}, {"N", problem.n}, {"K", problem.k}, {"batch", problem.batch}}};
  for (const auto& [letter, size] : sizes) {
    if (size < 0) {
      return std::string(letter) + " is " + std::to_string(size) + "; sizes must be 0 or more";
    }
  }
  return "";
}

std::string why_not_numerics(const Problem& problem) {
  const Numerics numerics = problem.numerics;
  const std::string refused = "numerics " + std::string(name(numerics));
  if (is_fp8(problem.a.type)) {
    const bool applies = numerics == Numerics::kFast || numerics == Numerics::kPromoted;
    return applies ? "" : refused + " does not apply to fp8 inputs; use fast or promoted";
  }
  if (problem.a.type == DataType::kF32) {
    const bool applies = numerics == Numerics::kIeee || numerics == Numerics::kTf32 ||
                         numerics == Numerics::kEmulated;
    return applies ? "" : refused + " does not apply to f32 inputs; use ieee, tf32 or emulated";
  }
  return numerics == Numerics::kIeee ? ""
                                     : refused + " does not apply to " +
                                           std::string(name(problem.a.type)) + " inputs; use ieee";
}

std::string why_not_scaling(const Problem& problem) {
  if (!has_one_scale_each(problem) && !is_fp8(problem.a.type)) {
    return "the scales of " + std::string(name(problem.a.type)) +
           " inputs are one value for each matrix; only fp8 has more";
  }
  if (has_block_scales(problem) && problem.numerics != Numerics::kPromoted) {
    return "numerics " + std::string(name(problem.numerics)) +
           " cannot scale blocks, whose sums must be added in f32; use promoted";
  }
  return "";
}

// The upper end of the class of the usual rows.
std::int32_t class_of_usual_rows(const Problem& problem) {
  if (!groups_rows(problem) || problem.rows_per_group == 0) {
    return 0;
  }
  constexpr std::array kClasses{1, 8, 16, 32, 64, 128, 512};
  const auto* const end = std::ranges::lower_bound(kClasses, problem.rows_per_group);
  return end == kClasses.end() ? 4 * kClasses.back() : *end;
}

std::string why_not_groups(const Problem& problem) {
  if (problem.rows_per_group < 0) {
    return "rows_per_group is " + std::to_string(problem.rows_per_group) +
           "; use 0, if it is not known, or more";
  }
  if (groups_rows(problem) && problem.d.order != Order::kRowMajor) {
    return "groups of rows need a row-major D; this D is column-major";
  }
  const auto why_not_shared = [&](std::string_view letter, const Matrix& matrix, bool is_shared) {
    return is_shared && matrix.batch_stride != 0
               ? "the batch stride of " + std::string(letter) + " is " +
                     std::to_string(matrix.batch_stride) + ", but the groups share one " +
                     std::string(letter) + "; leave it out"
               : std::string();
  };
  for (const std::string& reason :
       {why_not_shared("A", problem.a, shares_rows(problem) || shares_depth(problem)),
        why_not_shared("B", problem.b, shares_depth(problem)),
        why_not_shared("C", problem.c, shares_rows(problem)),
        why_not_shared("D", problem.d, shares_rows(problem))}) {
    if (!reason.empty()) {
      return reason;
    }
  }
  return "";
}

// A number outside its enumeration is written as a name that cannot be parsed.
std::string why_not_enumerators(const Problem& problem) {
  for (const ProblemField& field : problem_fields()) {
    Problem read_back;
    const std::string text = field.text(problem);
    if (!field.read(text, read_back)) {
      return std::string(field.name) + " is " + text + "; use " + std::string(field.expected);
    }
  }
  return "";
}

std::string why_not_matrix(std::string_view letter, const Matrix& matrix, std::int64_t rows,
                           std::int64_t columns, std::int64_t batch) {
  const MatrixLines lines = lines_of(matrix, rows, columns);
  const std::int64_t needed = std::max<std::int64_t>(lines.length, 1);
  const std::string letter_text(letter);
  if (matrix.leading_dimension < needed) {
    return "the leading dimension of " + letter_text + " is " +
           std::to_string(matrix.leading_dimension) + " elements, but its " +
           (matrix.order == Order::kRowMajor ? "rows" : "columns") + " have " +
           std::to_string(needed) + "; give at least that";
  }
  if (matrix.batch_stride < 0) {
    return "the batch stride of " + letter_text + " is " + std::to_string(matrix.batch_stride) +
           "; it must be 0 (the same matrix for every entry) or more";
  }
  const std::int64_t most = kMostBytes / size_bytes(matrix.type);
  if (matrix.leading_dimension > most || matrix.batch_stride > most ||
      !span_elements(matrix, rows, columns, batch)) {
    return letter_text + " of " + std::to_string(rows) + " x " + std::to_string(columns) +
           ", leading dimension " + std::to_string(matrix.leading_dimension) + ", batch " +
           std::to_string(batch) + ", batch stride " + std::to_string(matrix.batch_stride) +
           " spans more than 2^56 bytes; make it smaller";
  }
  const std::int32_t alignment = matrix.alignment_bytes;
  const bool power_of_two = alignment >= 1 && alignment <= 16 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment < size_bytes(matrix.type)) {
    return letter_text + " of " + std::string(name(matrix.type)) + " is aligned to " +
           std::to_string(alignment) + " bytes; every element must lie at a multiple of its size";
  }
  return "";
}

// The matrices D of a batch must not overlap; otherwise the result would depend on the order of
// writes. They may be consecutive, or interleaved row by row.
std::string why_not_batch_of_d(const Problem& problem) {
  if (problem.batch <= 1 || problem.m == 0 || problem.n == 0 || shares_rows(problem)) {
    return "";
  }
  const MatrixLines lines = lines_of(problem.d, problem.m, problem.n);
  const std::int64_t stride = problem.d.batch_stride;
  const std::int64_t one_matrix = *span_elements(problem.d, problem.m, problem.n, 1);
  const bool behind_each_other = stride >= one_matrix;
  const bool interleaved = stride >= lines.length && (problem.d.leading_dimension - lines.length) /
                                                             std::max<std::int64_t>(stride, 1) >=
                                                         problem.batch - 1;
  return behind_each_other || interleaved
             ? ""
             : "the batch stride of D is " + std::to_string(stride) +
                   " elements, so the matrices D of the batch overlap; give at least " +
                   std::to_string(one_matrix);
}

template <class Enum, std::size_t Count>
using Names = std::array<std::pair<Enum, std::string_view>, Count>;

constexpr Names<Order, 2> kOrders{{{Order::kRowMajor, "row"}, {Order::kColumnMajor, "col"}}};
constexpr Names<Bias, 3> kBiases{
    {{Bias::kNone, "none"}, {Bias::kPerRow, "row"}, {Bias::kPerColumn, "col"}}};
constexpr Names<ScalarClass, 3> kScalars{
    {{ScalarClass::kZero, "zero"}, {ScalarClass::kOne, "one"}, {ScalarClass::kOther, "other"}}};
constexpr Names<Numerics, 5> kNumerics{{{Numerics::kIeee, "ieee"},
                                        {Numerics::kTf32, "tf32"},
                                        {Numerics::kEmulated, "emulated"},
                                        {Numerics::kFast, "fast"},
                                        {Numerics::kPromoted, "promoted"}}};
constexpr Names<Scaling, 4> kScalings{{{Scaling::kTensor, "tensor"},
                                       {Scaling::kRow, "row"},
                                       {Scaling::kBlock1x128, "block_1x128"},
                                       {Scaling::kBlock128x128, "block_128x128"}}};
constexpr Names<GroupKind, 5> kGroupKinds{{{GroupKind::kNone, "none"},
                                           {GroupKind::kRows, "rows"},
                                           {GroupKind::kCounts, "counts"},
                                           {GroupKind::kDepth, "k"},
                                           {GroupKind::kRanges, "ranges"}}};
constexpr Names<LaunchRegime, 2> kLaunchRegimes{
    {{LaunchRegime::kIsolated, "isolated"}, {LaunchRegime::kBackToBack, "back_to_back"}}};

template <class Enum, std::size_t Count>
std::string_view name_in(const Names<Enum, Count>& names, Enum value) {
  for (const auto& [enumerator, text] : names) {
    if (enumerator == value) {
      return text;
    }
  }
  return "unknown";
}

template <class Enum, std::size_t Count>
std::optional<Enum> value_in(const Names<Enum, Count>& names, std::string_view text) {
  for (const auto& [value, name] : names) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Order order) {
  return name_in(kOrders, order);
}
std::string_view name(Activation activation) {
  for (const ActivationTraits& row : kActivations.rows) {
    if (row.activation == activation) {
      return row.name;
    }
  }
  return "unknown";
}
std::string_view name(Bias bias) {
  return name_in(kBiases, bias);
}
std::string_view name(ScalarClass scalar) {
  return name_in(kScalars, scalar);
}
std::string_view name(Numerics numerics) {
  return name_in(kNumerics, numerics);
}
std::string_view name(LaunchRegime regime) {
  return name_in(kLaunchRegimes, regime);
}
std::string_view name(Scaling scaling) {
  return name_in(kScalings, scaling);
}
std::string_view name(GroupKind kind) {
  return name_in(kGroupKinds, kind);
}
std::optional<Order> parse_order(std::string_view text) {
  return value_in(kOrders, text);
}
std::optional<Activation> parse_activation(std::string_view text) {
  for (const ActivationTraits& row : kActivations.rows) {
    if (row.name == text) {
      return row.activation;
    }
  }
  return std::nullopt;
}
std::optional<Bias> parse_bias(std::string_view text) {
  return value_in(kBiases, text);
}
std::optional<ScalarClass> parse_scalar_class(std::string_view text) {
  return value_in(kScalars, text);
}
std::optional<Numerics> parse_numerics(std::string_view text) {
  return value_in(kNumerics, text);
}
std::optional<LaunchRegime> parse_launch_regime(std::string_view text) {
  return value_in(kLaunchRegimes, text);
}
std::optional<Scaling> parse_scaling(std::string_view text) {
  return value_in(kScalings, text);
}
std::optional<GroupKind> parse_group_kind(std::string_view text) {
  return value_in(kGroupKinds, text);
}

Problem make_problem(std::int64_t m, std::int64_t n, std::int64_t k, DataType a, DataType b,
                     DataType d, std::string_view layout) {
  const bool two_letters = layout.size() == 2 && layout.find_first_not_of("nt") == layout.npos;
  if (!two_letters) {
    throw std::invalid_argument("the layout \"" + std::string(layout) +
                                "\" is not one of nn, nt, tn, tt");
  }
  Problem problem = default_problem();
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.a.type = a;
  problem.b.type = b;
  problem.c.type = problem.d.type = d;
  problem.a.order = layout[0] == 'n' ? Order::kRowMajor : Order::kColumnMajor;
  problem.b.order = layout[1] == 'n' ? Order::kRowMajor : Order::kColumnMajor;
  problem = completed(problem);
  if (const std::string reason = why_not(problem); !reason.empty()) {
    throw std::invalid_argument(reason);
  }
  return problem;
}

std::string why_not(const Problem& problem) {
  if (std::string reason = why_not_sizes(problem); !reason.empty()) {
    return reason;
  }
  const auto& [m, n, k, batch] = std::array{problem.m, problem.n, problem.k, problem.batch};
  const Matrix &a = problem.a, &b = problem.b, &c = problem.c, &d = problem.d;
  if (const auto reason = why_not_types(a.type, b.type, d.type); !reason.empty()) {
    return "A is " + std::string(name(a.type)) + ", B is " + std::string(name(b.type)) + ", D is " +
           std::string(name(d.type)) + ": " + std::string(reason);
  }
  if (c.type != d.type) {
    return "C is " + std::string(name(c.type)) + " and D is " + std::string(name(d.type)) +
           "; they must have the same element type";
  }
  for (const std::string& reason :
       {why_not_numerics(problem), why_not_enumerators(problem), why_not_scaling(problem),
        why_not_groups(problem), why_not_matrix("A", a, m, k, batch),
        why_not_matrix("B", b, k, n, batch),
        problem.beta == ScalarClass::kZero ? std::string() : why_not_matrix("C", c, m, n, batch),
        why_not_matrix("D", d, m, n, batch)}) {
    if (!reason.empty()) {
      return reason;
    }
  }
  if (problem.invariant != 0 && problem.invariant != 1) {
    return "invariant is " + std::to_string(problem.invariant) + "; use 0 or 1";
  }
  if (problem.sm_limit < 0) {
    return "sm_limit is " + std::to_string(problem.sm_limit) + "; use 0, for all SMs, or more";
  }
  return why_not_batch_of_d(problem);
}

ScaleCounts scale_counts(Scaling scaling, std::int64_t extent, std::int64_t k) noexcept {
  if (scaling == Scaling::kTensor) {
    return {};
  }
  return {ceil_divide(extent, rows_of_scale(scaling)),
          is_of_blocks(scaling) ? ceil_divide(k, kScaledDepth) : 1};
}

std::int64_t usual_rows(const Problem& problem) {
  const bool has_groups = shares_rows(problem) && problem.batch > 0;
  const std::int64_t most = has_groups ? ceil_divide(problem.m, problem.batch) : problem.m;
  return problem.rows_per_group == 0 ? most : std::min<std::int64_t>(problem.rows_per_group, most);
}

Problem batch_of_equal_groups(const Problem& problem) {
  if (problem.group_kind == GroupKind::kNone) {
    return problem;
  }
  Problem same = problem;
  same.group_kind = GroupKind::kNone;
  same.rows_per_group = 0;
  if (shares_depth(problem)) {
    same.k = ceil_divide(problem.k, std::max<std::int64_t>(problem.batch, 1));
  } else {
    same.m = usual_rows(problem);
  }
  const auto place = [](Matrix& matrix, std::int64_t rows, std::int64_t columns) {
    if (matrix.batch_stride == 0) {
      const bool row_major = matrix.order == Order::kRowMajor;
      matrix.batch_stride = (row_major ? rows : columns) * matrix.leading_dimension;
    }
  };
  place(same.a, same.m, same.k);
  if (shares_depth(problem)) {
    place(same.b, same.k, same.n);
  }
  place(same.c, same.m, same.n);
  place(same.d, same.m, same.n);
  return same;
}

std::array<Problem, 2> batches_of_skewed_groups(const Problem& problem) {
  const Problem equal = batch_of_equal_groups(problem);
  Problem large = equal, small = equal;
  large.batch = ceil_divide(equal.batch, 4);
  small.batch = equal.batch - large.batch;
  const std::int64_t shares = kLargestGroup * large.batch + small.batch;
  small.m = ceil_divide(equal.m * equal.batch, std::max<std::int64_t>(shares, 1));
  large.m = kLargestGroup * small.m;
  return {large, small};
}

std::int64_t bias_batch_stride(const Problem& problem) {
  if (problem.group_kind == GroupKind::kNone || problem.bias == Bias::kNone) {
    return 0;
  }
  return problem.bias == Bias::kPerColumn ? problem.n : shares_rows(problem) ? 0 : problem.m;
}

std::int64_t scaled_batch(const Problem& problem, Scaling scaling, bool is_of_a) {
  const bool is_shared = scaling == Scaling::kTensor || (is_of_a && shares_rows(problem)) ||
                         (is_of_blocks(scaling) && shares_depth(problem));
  return is_shared ? 1 : problem.batch;
}

Problem transposed(const Problem& problem) {
  Problem same = problem;
  std::swap(same.m, same.n);
  std::swap(same.a, same.b);
  std::swap(same.scaling_a, same.scaling_b);
  for (Matrix* matrix : {&same.a, &same.b, &same.c, &same.d}) {
    matrix->order = flipped(matrix->order);
  }
  if (same.bias != Bias::kNone) {
    same.bias = same.bias == Bias::kPerRow ? Bias::kPerColumn : Bias::kPerRow;
  }
  return same;
}

CanonicalProblem canonical(const Problem& problem) {
  Problem same = swaps_operands(problem) ? transposed(problem) : problem;
  if (same.batch <= 1) {
    for (Matrix* matrix : {&same.a, &same.b, &same.c, &same.d}) {
      matrix->batch_stride = 0;
    }
  }
  if (same.alpha == ScalarClass::kZero) {
    same.k = 0;
  }
  if (same.k == 0) {
    same.scaling_a = same.scaling_b = Scaling::kTensor;
  }
  same.rows_per_group = class_of_usual_rows(same);
  // A group that begins inside the rows (columns) of a matrix may begin at any element.
  const auto align_to_elements = [](Matrix& matrix, Order order) {
    if (matrix.order == order) {
      matrix.alignment_bytes = static_cast<std::int32_t>(size_bytes(matrix.type));
    }
  };
  if (shares_depth(same)) {
    align_to_elements(same.a, Order::kRowMajor);
    align_to_elements(same.b, Order::kColumnMajor);
  }
  if (shares_rows(same)) {
    align_to_elements(same.a, Order::kColumnMajor);
    align_to_elements(same.c, Order::kColumnMajor);
  }
  same.alpha = ScalarClass::kOne;
  if (same.beta == ScalarClass::kZero) {
    same.c = same.d;
    same.c_is_d = false;
  } else {
    same.beta = ScalarClass::kOther;
  }
  return CanonicalProblem(same);
}

std::string fingerprint(const CanonicalProblem& problem) {
  return sha256_hex(to_text(problem), kFingerprintDigits);
}

std::string types_text(const Problem& problem) {
  std::string text(name(problem.a.type));
  if (problem.a.type != problem.b.type) {
    text += "×" + std::string(name(problem.b.type));
  }
  text += "→" + std::string(name(problem.d.type));
  const bool choice = problem.a.type == DataType::kF32 || is_fp8(problem.a.type);
  return choice ? text + " " + std::string(name(problem.numerics)) : text;
}

std::string layout_text(const Problem& problem) {
  std::string text;
  text += problem.a.order == Order::kRowMajor ? 'n' : 't';
  text += problem.b.order == Order::kRowMajor ? 'n' : 't';
  const bool column_major_c =
      problem.beta != ScalarClass::kZero && problem.c.order == Order::kColumnMajor;
  text += column_major_c ? " C:col" : "";
  text += problem.d.order == Order::kColumnMajor ? " D:col" : "";
  if (problem.group_kind != GroupKind::kNone) {
    text.append(" groups:").append(name(problem.group_kind));
  }
  return text;
}

std::string epilogue_text(const Problem& problem) {
  std::string text;
  const auto add = [&](std::string_view word) {
    text += text.empty() ? "" : " ";
    text += word;
  };
  if (!has_one_scale_each(problem)) {
    add("scales/" + std::string(name(problem.scaling_a)) + "·" +
        std::string(name(problem.scaling_b)));
  }
  if (problem.beta != ScalarClass::kZero) {
    add(problem.c_is_d ? "beta·D" : "beta·C");
  }
  if (problem.bias != Bias::kNone) {
    add("bias/" + std::string(name(problem.bias)));
  }
  if (problem.activation != Activation::kNone) {
    add(name(problem.activation));
  }
  return text;
}

double flops(const Problem& problem) {
  const Problem even = batch_of_equal_groups(problem);
  return 2.0 * static_cast<double>(even.m) * static_cast<double>(even.n) *
         static_cast<double>(even.k) * static_cast<double>(even.batch);
}

double minimum_bytes(const Problem& requested) {
  const Problem problem = batch_of_equal_groups(requested);
  const auto bytes = [&](const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
    const bool shared_by_all = matrix.batch_stride == 0;
    return static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(size_bytes(matrix.type)) *
           (shared_by_all ? 1.0 : static_cast<double>(problem.batch));
  };
  const double d_bytes = bytes(problem.d, problem.m, problem.n);
  return bytes(problem.a, problem.m, problem.k) + bytes(problem.b, problem.k, problem.n) +
         (problem.beta == ScalarClass::kZero ? d_bytes : 2 * d_bytes);
}

std::optional<std::int64_t> span_elements(const Matrix& matrix, std::int64_t rows,
                                          std::int64_t columns, std::int64_t batch) {
  const MatrixLines lines = lines_of(matrix, rows, columns);
  if (lines.count == 0 || lines.length == 0 || batch == 0) {
    return 0;
  }
  std::int64_t between_lines = 0;
  std::int64_t between_matrices = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(lines.count - 1, matrix.leading_dimension, &between_lines) ||
      __builtin_mul_overflow(batch - 1, matrix.batch_stride, &between_matrices) ||
      __builtin_add_overflow(between_lines, between_matrices, &elements) ||
      __builtin_add_overflow(elements, lines.length, &elements) ||
      __builtin_mul_overflow(elements, size_bytes(matrix.type), &bytes);
  return overflows || bytes > kMostBytes ? std::nullopt : std::optional(elements);
}

std::int32_t alignment_class(std::uintptr_t address, const Matrix& matrix, std::int64_t batch) {
  const auto element = static_cast<std::uint64_t>(size_bytes(matrix.type));
  std::uint64_t bits =
      static_cast<std::uint64_t>(matrix.leading_dimension) * element | address | 16;
  if (batch > 1) {
    bits |= static_cast<std::uint64_t>(matrix.batch_stride) * element;
  }
  return static_cast<std::int32_t>(bits & (~bits + 1));
}

}  // namespace tunedgemm::internal
