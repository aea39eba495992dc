#include "runtime/evaluation/operands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "kernel_templates/base/division.h"
#include "kernel_templates/launch.h"

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kOperandAlignment = 256;
constexpr std::int64_t kInputGuardBytes = 256;
constexpr std::int64_t kOutputGuardBytes = 4096;
constexpr std::int64_t kMostAlignment = 16;

// Neither of these scalars is 1, so that a kernel that ignores one computes a wrong result. They
// have few bits, so that products with small integers are exact.
constexpr double kAlpha = 0.75;
constexpr double kBeta = -0.5;
constexpr float kSlope = 0.125F;
// Elements from a scale to the next one, if there are gaps: more than 1, so that a kernel that
// ignores the stride computes a wrong result.
constexpr std::int64_t kScaleStride = 2;

// The standard deviation of a product of two values that are uniform in [-128, 127].
constexpr double kDeviationOfS8Product = 5461;

bool keeps_integer_accumulators(const Problem& problem) {
  return is_integer(problem.d.type) && problem.beta == ScalarClass::kZero &&
         problem.bias == Bias::kNone && problem.activation == Activation::kNone;
}

int distribution_of_scale(const Problem& problem, Scaling scaling) {
  return !is_fp8(problem.a.type)       ? reference::kOne
         : scaling == Scaling::kTensor ? reference::kScale
                                       : reference::kWideScale;
}

// 1 if D keeps the integer accumulators. The largest elements, or their squares if the activation
// squares, could overflow D's type, and infinities hide errors. Alpha is then reduced by a power of
// two.
double alpha_for(const Problem& problem) {
  if (keeps_integer_accumulators(problem)) {
    return 1;
  }
  double alpha = kAlpha;
  const double product = is_integer(problem.a.type) ? kDeviationOfS8Product : 1;
  const double scale = reference::kLargest[distribution_of_scale(problem, problem.scaling_a)] *
                       reference::kLargest[distribution_of_scale(problem, problem.scaling_b)];
  const double farthest =
      kMostDeviations * std::sqrt(static_cast<double>(problem.k)) * product * scale;
  while (std::pow(alpha * farthest, traits(problem.activation).degree) > largest(problem.d.type)) {
    alpha /= 2;
  }
  return alpha;
}

Scalars scalars_for(const Problem& problem) {
  Scalars scalars;
  scalars.alpha = alpha_for(problem);
  scalars.beta = problem.beta == ScalarClass::kZero ? 0 : kBeta;
  scalars.slope = kSlope;
  return scalars;
}

// The scales of A or of B.
struct Scales : ScaleCounts {
  Scales(const Problem& problem, Scaling scaling_of_operand, std::int64_t extent, bool is_of_a)
      : ScaleCounts(scale_counts(scaling_of_operand, extent, problem.k)),
        scaling(scaling_of_operand),
        batch(scaled_batch(problem, scaling, is_of_a)) {}

  Scaling scaling;
  std::int64_t batch;

  std::int64_t count() const { return rows * blocks * batch; }
};
Scales scales_of_a(const Problem& problem) {
  return {problem, problem.scaling_a, problem.m, true};
}
Scales scales_of_b(const Problem& problem) {
  return {problem, problem.scaling_b, problem.n, false};
}

// Neighbours along K are near each other in the scales of B and far apart in those of A, so that a
// kernel that takes the strides of one for the other's computes a wrong result. Scales of blocks
// follow each other if kernels can then read them as vectors, as PyTorch's and cuBLASLt's do; other
// scales have gaps between them.
reference::ScaleInput scale_input(const Problem& problem, const Scales& scales, bool k_is_near,
                                  std::uint64_t seed) {
  reference::Strides strides{};
  if (scales.scaling != Scaling::kTensor) {
    const bool are_dense = is_of_blocks(scales.scaling) && scales.rows % 4 == 0;
    const std::int64_t step = are_dense ? 1 : kScaleStride;
    strides = {step * (k_is_near ? scales.blocks : 1), step * (k_is_near ? 1 : scales.rows),
               scales.batch == 1 ? 0 : step * scales.rows * scales.blocks};
    strides.column = is_of_blocks(scales.scaling) ? strides.column : 0;
  }
  return {{traits(DataType::kF32).format, distribution_of_scale(problem, scales.scaling),
           reference::scramble(seed), strides},
          rows_of_scale(scales.scaling)};
}

reference::Strides strides_of(const Matrix& matrix) {
  const bool row_major = matrix.order == Order::kRowMajor;
  return {row_major ? matrix.leading_dimension : 1, row_major ? 1 : matrix.leading_dimension,
          matrix.batch_stride};
}

std::int64_t span_bytes(const Matrix& matrix, std::int64_t rows, std::int64_t columns,
                        std::int64_t batch) {
  return span_elements(matrix, rows, columns, batch).value_or(0) * size_bytes(matrix.type);
}

std::int64_t bias_elements(const Problem& problem) {
  const std::int64_t length = problem.bias == Bias::kNone     ? 0
                              : problem.bias == Bias::kPerRow ? problem.m
                                                              : problem.n;
  return length + (problem.batch - 1) * bias_batch_stride(problem);
}

// Divides `extent` into the groups, or gives each a part of its own `extent`, in the ways of
// GroupSizes. Of the uneven groups a quarter are empty, and some are as large as possible; some
// ranges have a gap before them.
std::vector<int> group_numbers_for(const Problem& problem, std::uint64_t seed) {
  if (problem.group_kind == GroupKind::kNone) {
    return {};
  }
  const std::int64_t extent = shares_depth(problem) ? problem.k : problem.m;
  const bool are_counts = problem.group_kind == GroupKind::kCounts;
  const bool are_ranges = problem.group_kind == GroupKind::kRanges;
  std::vector<int> numbers;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    if (are_ranges) {
      numbers.push_back(static_cast<int>(begin));
    }
    numbers.push_back(static_cast<int>(end));
  };
  std::int64_t end = 0;
  for (std::int64_t group = 0; group < problem.batch; ++group) {
    const auto random = static_cast<std::int64_t>(
        reference::scramble(seed + 7 + static_cast<std::uint64_t>(group)) >> 8);
    const bool is_largest = random % 16 == 1, has_gap = are_ranges && random / 4 % 2 == 0;
    const std::int64_t begin = has_gap ? std::min(extent, end + random % 5) : end;
    const std::int64_t left = extent - begin;
    const std::int64_t most = is_largest ? left : std::min(left, 2 * extent / problem.batch);
    const std::int64_t rows = random % 4 == 0            ? 0
                              : is_largest && are_counts ? extent
                                                         : random / 16 % (most + 1);
    add(begin, begin + rows);
    end = are_counts ? 0 : begin + rows;
  }
  const std::int64_t rows = shares_depth(problem) ? extent : usual_rows(problem) * problem.batch;
  const std::int64_t total = are_counts ? rows : std::min(extent, rows);
  for (const std::int64_t largest : {std::int64_t{1}, kLargestGroup}) {
    const auto weight = [&](std::int64_t groups) {
      return groups + (groups + 3) / 4 * (largest - 1);
    };
    const auto end_of = [&](std::int64_t groups) {
      return total * weight(groups) / weight(problem.batch);
    };
    for (std::int64_t group = 0; group < problem.batch; ++group) {
      const std::int64_t before = are_counts ? end_of(group) : 0;
      add(end_of(group) - before, std::min(end_of(group + 1) - before, extent));
    }
  }
  return numbers;
}

}  // namespace

OperandLayout operand_layout(const Problem& problem) {
  const auto& [m, n, k, batch] = std::array{problem.m, problem.n, problem.k, problem.batch};
  OperandLayout layout;
  std::int64_t end = 0;
  // A matrix with an alignment of 16 starts at a multiple of 256.
  const auto place = [&](std::int64_t bytes, std::int64_t alignment, std::int64_t guard) {
    const std::int64_t start =
        round_up(end + guard, kOperandAlignment) + (alignment < kMostAlignment ? alignment : 0);
    end = start + bytes;
    return start;
  };
  layout.a = place(span_bytes(problem.a, m, k, batch), problem.a.alignment_bytes, kInputGuardBytes);
  layout.b = place(span_bytes(problem.b, k, n, batch), problem.b.alignment_bytes, kInputGuardBytes);
  if (problem.beta != ScalarClass::kZero && !problem.c_is_d) {
    layout.c =
        place(span_bytes(problem.c, m, n, batch), problem.c.alignment_bytes, kInputGuardBytes);
  }
  const std::int64_t element_bytes = size_bytes(problem.d.type);
  layout.bias = place(bias_elements(problem) * element_bytes, element_bytes, kInputGuardBytes);
  if (is_fp8(problem.a.type)) {
    const auto place_scales = [&](const Scales& scales) {
      const std::int64_t elements = std::max<std::int64_t>(kScaleStride * scales.count(), 1);
      return place(elements * std::int64_t{sizeof(float)}, sizeof(float), kInputGuardBytes);
    };
    layout.scale_a = place_scales(scales_of_a(problem));
    layout.scale_b = place_scales(scales_of_b(problem));
  }
  if (problem.group_kind != GroupKind::kNone) {
    layout.groups = place(kGroupSizes * group_bytes(problem), sizeof(int), kInputGuardBytes);
  }
  layout.d_region = round_up(end, kOperandAlignment);
  layout.d =
      place(span_bytes(problem.d, m, n, batch), problem.d.alignment_bytes, kOutputGuardBytes);
  layout.bytes = round_up(end + kOutputGuardBytes, kOperandAlignment);
  layout.d_region_bytes = layout.bytes - layout.d_region;
  if (problem.c_is_d) {
    layout.c = layout.d;
  }
  return layout;
}

VerifiedProblem::VerifiedProblem(const Problem& canonical_problem, std::uint64_t input_seed)
    : problem(canonical_problem),
      scalars(scalars_for(canonical_problem)),
      seed(input_seed),
      layout(operand_layout(canonical_problem)),
      group_numbers(group_numbers_for(canonical_problem, input_seed)) {}

namespace {

reference::Groups groups_of(const Problem& problem, const std::byte* base,
                            const OperandLayout& layout) {
  return {problem.group_kind, reinterpret_cast<const int*>(base + layout.groups), problem.batch};
}

}  // namespace

Arguments VerifiedProblem::arguments(std::byte* base, GroupSizes sizes) const {
  Arguments arguments = arguments_of(problem);
  arguments.a = base + layout.a;
  arguments.b = base + layout.b;
  arguments.c = reads_c() ? base + layout.c : nullptr;
  arguments.bias = problem.bias == Bias::kNone ? nullptr : base + layout.bias;
  arguments.d = base + layout.d;
  if (problem.group_kind != GroupKind::kNone) {
    arguments.groups = groups_of(problem, base, layout).numbers +
                       static_cast<std::size_t>(sizes) * group_numbers.size() / kGroupSizes;
  }
  arguments.alpha = scalars.alpha;
  arguments.beta = scalars.beta;
  arguments.slope = scalars.slope;
  if (is_fp8(problem.a.type)) {
    arguments.scale_a = reinterpret_cast<const float*>(base + layout.scale_a);
    arguments.scale_b = reinterpret_cast<const float*>(base + layout.scale_b);
    const reference::Strides strides_a = scale_a().input.strides;
    const reference::Strides strides_b = scale_b().input.strides;
    arguments.scale_stride_a = strides_a.row;
    arguments.scale_stride_b = strides_b.row;
    arguments.scale_k_stride_a = strides_a.column;
    arguments.scale_k_stride_b = strides_b.column;
    arguments.scale_batch_stride_a = strides_a.batch;
    arguments.scale_batch_stride_b = strides_b.batch;
  }
  return arguments;
}

reference::Input VerifiedProblem::a() const {
  const int distribution =
      needs_ternary_inputs(problem) ? reference::kTernary : reference::kUniform;
  return {traits(problem.a.type).format, distribution, reference::scramble(seed + 1),
          strides_of(problem.a)};
}

reference::Input VerifiedProblem::b() const {
  const int distribution =
      needs_ternary_inputs(problem) ? reference::kTernary : reference::kUniform;
  return {traits(problem.b.type).format, distribution, reference::scramble(seed + 2),
          strides_of(problem.b)};
}

reference::Input VerifiedProblem::c() const {
  return {traits(problem.c.type).format, reference::kUniform, reference::scramble(seed + 3),
          strides_of(problem.c)};
}

reference::Input VerifiedProblem::bias() const {
  const bool is_per_row = problem.bias == Bias::kPerRow;
  return {traits(problem.d.type).format,
          reference::kUniform,
          reference::scramble(seed + 4),
          {is_per_row ? 1 : 0, is_per_row ? 0 : 1, bias_batch_stride(problem)}};
}

reference::ScaleInput VerifiedProblem::scale_a() const {
  return scale_input(problem, scales_of_a(problem), false, seed + 5);
}

reference::ScaleInput VerifiedProblem::scale_b() const {
  return scale_input(problem, scales_of_b(problem), true, seed + 6);
}

namespace {

reference::FillTask fill(const reference::Input& input, std::byte* matrix, std::int64_t rows,
                         std::int64_t columns, std::int64_t batch) {
  return {
      matrix, input.format, input.distribution, input.seed, input.strides, rows, columns, batch, 1,
      0};
}

// A matrix with batch stride 0 is the same for all batch indices, so it is filled once.
std::int64_t distinct_entries(const Matrix& matrix, const Problem& problem) {
  return matrix.batch_stride == 0 ? 1 : problem.batch;
}

}  // namespace

reference::FillTask VerifiedProblem::fill_a(std::byte* base) const {
  return fill(a(), base + layout.a, problem.m, problem.k, distinct_entries(problem.a, problem));
}

reference::FillTask VerifiedProblem::fill_c(std::byte* base) const {
  return fill(c(), base + layout.c, problem.m, problem.n, distinct_entries(problem.c, problem));
}

reference::FillTask VerifiedProblem::fill_bias(std::byte* elements) const {
  reference::Input values = bias();
  values.strides = {0, 1, 0};
  return fill(values, elements, 1, bias_elements(problem), 1);
}

std::vector<reference::FillTask> VerifiedProblem::fill_all(std::byte* base) const {
  std::vector<reference::FillTask> tasks{
      fill_a(base),
      fill(b(), base + layout.b, problem.k, problem.n, distinct_entries(problem.b, problem))};
  if (reads_c()) {
    tasks.push_back(fill_c(base));
  }
  if (problem.bias != Bias::kNone) {
    tasks.push_back(fill_bias(base + layout.bias));
  }
  const auto fill_scales = [&](const reference::ScaleInput& scale, std::int64_t offset,
                               const Scales& scales) {
    tasks.push_back(fill(scale.input, base + offset, scales.rows, scales.blocks, scales.batch));
  };
  if (is_fp8(problem.a.type)) {
    fill_scales(scale_a(), layout.scale_a, scales_of_a(problem));
    fill_scales(scale_b(), layout.scale_b, scales_of_b(problem));
  }
  return tasks;
}

reference::GemmTask VerifiedProblem::gemm(const reference::Sampling& sampling, double* expected,
                                          std::byte* base) const {
  reference::GemmTask task{};
  task.groups = groups_of(problem, base, layout);
  task.expected = expected;
  task.sampling = sampling;
  task.m = problem.m;
  task.n = problem.n;
  task.k = problem.k;
  task.a = a();
  task.b = b();
  task.c = c();
  task.bias = bias();
  task.scale_a = scale_a();
  task.scale_b = scale_b();
  task.alpha = scalars.alpha;
  task.beta = scalars.beta;
  task.slope = static_cast<double>(scalars.slope);
  task.reads_c = reads_c() ? 1 : 0;
  task.bias_kind = static_cast<int>(problem.bias);
  task.activation = problem.activation;
  task.integers = !is_integer(problem.d.type) ? 0 : keeps_integer_accumulators(problem) ? 2 : 1;
  return task;
}

reference::CompareTask VerifiedProblem::compare(const reference::Sampling& sampling,
                                                const double* expected, std::byte* base) const {
  reference::CompareTask task{};
  task.d = base + layout.d;
  task.expected = expected;
  task.sampling = sampling;
  task.groups = groups_of(problem, base, layout);
  task.d_holds_c = problem.c_is_d ? 1 : 0;
  task.strides = strides_of(problem.d);
  task.m = problem.m;
  task.n = problem.n;
  task.k = problem.k;
  task.rows = total_rows(problem);
  task.format = traits(problem.d.type).format;
  task.scale_a = scale_a();
  task.scale_b = scale_b();
  task.bound = error_bound(problem, scalars);
  return task;
}

reference::Element VerifiedProblem::element(std::int64_t row, std::int64_t column) const {
  return reference::element_at({problem.group_kind, group_numbers.data(), problem.batch}, problem.m,
                               row, column);
}

reference::EraseTask VerifiedProblem::erase(std::byte* base) const {
  return {base + layout.d,
          static_cast<int>(size_bytes(problem.d.type)),
          strides_of(problem.d),
          problem.m,
          problem.n,
          total_rows(problem)};
}

reference::OutOfBoundsTask VerifiedProblem::find_out_of_bounds_writes(std::byte* base) const {
  return {reinterpret_cast<const reference::u64*>(base + layout.d_region),
          layout.d_region_bytes / static_cast<std::int64_t>(sizeof(reference::u64)), nullptr};
}

reference::Sampling sampling_for(const Problem& problem, double multiply_adds,
                                 std::int64_t elements, std::uint64_t seed) {
  const double depth = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  const double affordable =
      std::max(1.0, std::min(multiply_adds / depth, static_cast<double>(elements)));
  // Selects every `step`-th index below `extent`, from a random start below `step`.
  const auto spread = [&](std::int64_t extent, double count, std::uint64_t salt, long long& first,
                          long long& step, long long& number) {
    step = 1;
    if (static_cast<double>(extent) > count) {
      const auto least = static_cast<std::int64_t>(std::ceil(static_cast<double>(extent) / count));
      step = std::min(extent, least | 1);
    }
    first = static_cast<long long>(reference::scramble(seed + salt) %
                                   static_cast<reference::u64>(step));
    number = (extent - first + step - 1) / step;
  };
  constexpr double kLeastRows = 64;
  const std::int64_t rows = total_rows(problem);
  const double columns_wanted =
      std::max(1.0, affordable / std::min(kLeastRows, static_cast<double>(rows)));
  reference::Sampling sampling{};
  spread(problem.n, columns_wanted, 1, sampling.first_column, sampling.column_step,
         sampling.columns);
  spread(rows, std::max(1.0, affordable / static_cast<double>(sampling.columns)), 2,
         sampling.first_row, sampling.row_step, sampling.rows);
  return sampling;
}

}  // namespace tunedgemm::internal
