#include "runtime/calls/launch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

namespace tunedgemm::internal {
namespace {

// Whether each of the four alignments in `actual` is at least its counterpart in `needed`. If so,
// no byte of the difference borrows, and all guard bits stay set.
bool is_aligned(std::uint32_t actual, std::uint32_t needed) noexcept {
  constexpr std::uint32_t kGuards = 0x80808080;
  return (((actual | kGuards) - needed) & kGuards) == kGuards;
}

bool ranges_overlap(const void* left, std::int64_t left_bytes, const void* right,
                    std::int64_t right_bytes) noexcept {
  // Compares differences, because a sum of pointer and size could overflow. Unsigned differences
  // wrap harmlessly.
  const auto left_begin = reinterpret_cast<std::uintptr_t>(left);
  const auto right_begin = reinterpret_cast<std::uintptr_t>(right);
  return left_begin - right_begin < static_cast<std::uintptr_t>(right_bytes) ||
         right_begin - left_begin < static_cast<std::uintptr_t>(left_bytes);
}

// The memory of a matrix: lines at a constant pitch. A line is a row, or a column if the matrix is
// column-major. If batch indices start at different offsets within the pitch, line_bytes covers all
// of these offsets.
struct Region {
  const void* pointer = nullptr;
  std::int64_t bytes = 0;  // from the first to the last element
  std::int64_t line_bytes = 0;
  std::int64_t pitch_bytes = 0;
};

// Two regions may be disjoint although their ranges overlap, if each lies in the padding of the
// other. An example is two slices of one larger matrix. The pitches are then equal, and the lines
// do not overlap within the pitch.
bool overlap(const Region& left, const Region& right) {
  if (!ranges_overlap(left.pointer, left.bytes, right.pointer, right.bytes)) {
    return false;
  }
  if (left.pitch_bytes != right.pitch_bytes || left.pitch_bytes <= 0) {
    return true;
  }
  const auto pitch = static_cast<std::uintptr_t>(left.pitch_bytes);
  const auto left_begin = reinterpret_cast<std::uintptr_t>(left.pointer) % pitch;
  const auto right_begin = reinterpret_cast<std::uintptr_t>(right.pointer) % pitch;
  const auto from_left_to_right = (right_begin + pitch - left_begin) % pitch;
  const bool right_is_behind_left =
      from_left_to_right >= static_cast<std::uintptr_t>(left.line_bytes) &&
      from_left_to_right + static_cast<std::uintptr_t>(right.line_bytes) <= pitch;
  return !right_is_behind_left;
}

Region region(const void* pointer, std::int64_t bytes, const Matrix& matrix, std::int64_t rows,
              std::int64_t columns, std::int64_t batch) {
  const std::int64_t element = size_bytes(matrix.type);
  const std::int64_t length = matrix.order == Order::kRowMajor ? columns : rows;
  const bool same_place_in_pitch = matrix.batch_stride % matrix.leading_dimension == 0;
  const std::int64_t to_last_entry = same_place_in_pitch ? 0 : (batch - 1) * matrix.batch_stride;
  return {pointer, bytes, (to_last_entry + length) * element, matrix.leading_dimension * element};
}

std::string hexadecimal(const void* pointer) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (auto rest = reinterpret_cast<std::uintptr_t>(pointer); rest != 0 || text.empty();
       rest /= 16) {
    text.insert(text.begin(), kDigits[rest % 16]);
  }
  return "0x" + text;
}

// The scales of an operand of the kernel, and how many there are in each direction.
struct Scales {
  std::string_view name;  // of the caller's operand
  const float* first = nullptr;
  Scaling scaling{};
  ScaleCounts counts;
  std::int64_t batch = 1;  // that have their own
  std::int64_t stride = 0, k_stride = 0, batch_stride = 0;

  // Precondition: why_not_scales() is empty.
  std::int64_t bytes() const {
    const std::int64_t last = scaling == Scaling::kTensor
                                  ? 0
                                  : (counts.rows - 1) * stride + (counts.blocks - 1) * k_stride +
                                        (batch - 1) * batch_stride;
    return (last + 1) * static_cast<std::int64_t>(sizeof *first);
  }
};

// Wraps, since why_not_scales() looks at the factors only later, and not at all if they are unused.
std::int64_t wrapping_product(std::int64_t left, std::int64_t right) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) *
                                   static_cast<std::uint64_t>(right));
}

std::array<Scales, 2> scales_of(const Plan& plan, const tunedgemm_buffers& buffers) noexcept {
  const auto stride_of = [](std::int64_t given, std::int64_t packed) {
    return given == 0 ? packed : given == TUNEDGEMM_BROADCAST ? 0 : given;
  };
  const auto make = [&](bool of_b, bool is_of_a, Scaling scaling, std::int64_t extent) {
    Scales scales;
    scales.name = of_b ? "scale_b" : "scale_a";
    scales.first = of_b ? buffers.scale_b : buffers.scale_a;
    scales.scaling = scaling;
    scales.counts = scale_counts(scaling, extent, plan.problem->k);
    scales.batch = scaled_batch(plan.problem, scaling, is_of_a);
    scales.stride =
        stride_of(of_b ? buffers.scale_stride_b : buffers.scale_stride_a, scales.counts.blocks);
    scales.k_stride = stride_of(of_b ? buffers.scale_k_stride_b : buffers.scale_k_stride_a, 1);
    scales.batch_stride =
        scales.batch == 1
            ? 0
            : stride_of(of_b ? buffers.scale_batch_stride_b : buffers.scale_batch_stride_a,
                        std::max(wrapping_product(scales.counts.rows, scales.stride),
                                 wrapping_product(scales.counts.blocks, scales.k_stride)));
    return scales;
  };
  return {make(plan.swapped, true, plan.problem->scaling_a, plan.problem->m),
          make(!plan.swapped, false, plan.problem->scaling_b, plan.problem->n)};
}

std::string why_not_scales(const Scales& scales) {
  const std::string name(scales.name);
  if (reinterpret_cast<std::uintptr_t>(scales.first) % sizeof(float) != 0) {
    return "the scale at " + hexadecimal(scales.first) + " is not aligned to 4 bytes";
  }
  if (scales.scaling == Scaling::kTensor) {
    return "";
  }
  if (scales.first == nullptr) {
    return "the pointer " + name + " is null, but scaling_" + name.back() + " is " +
           std::string(internal::name(scales.scaling));
  }
  for (const auto& [what, stride, steps] :
       {std::tuple("stride", scales.stride, scales.counts.rows),
        std::tuple("stride along K", scales.k_stride, scales.counts.blocks),
        std::tuple("batch stride", scales.batch_stride, scales.batch)}) {
    if (stride < 0 || stride > kMostBytes / std::max<std::int64_t>(steps, 1) / 8) {
      return "the " + std::string(what) + " of " + name + " is " + std::to_string(stride) +
             " elements; give 0 (packed), TUNEDGEMM_BROADCAST, or a number within 2^56 bytes";
    }
  }
  return "";
}

std::string why_not_pointers(const Plan& plan, const tunedgemm_buffers& buffers) {
  const auto missing = [](std::string_view name, std::string_view use) {
    return "the pointer " + std::string(name) + " is null, but " + std::string(use);
  };
  if (buffers.d == nullptr) {
    return missing("d", "D has elements to write");
  }
  if (plan.reads_inputs && buffers.a == nullptr) {
    return missing("a", "A is read (K is not 0 and alpha is not 0)");
  }
  if (plan.reads_inputs && buffers.b == nullptr) {
    return missing("b", "B is read (K is not 0 and alpha is not 0)");
  }
  if (plan.reads_c && buffers.c == nullptr) {
    return missing("c", "C is read; pass beta = 0 if there is no C");
  }
  if (plan.problem->bias != Bias::kNone) {
    if (buffers.bias == nullptr) {
      return missing("bias", "the problem has a bias");
    }
    if (reinterpret_cast<std::uintptr_t>(buffers.bias) %
            static_cast<std::uintptr_t>(plan.element_bytes_d) !=
        0) {
      return "the bias at " + hexadecimal(buffers.bias) +
             " is not aligned to the size of its elements";
    }
  }
  if (plan.problem->group_kind != GroupKind::kNone) {
    if (buffers.groups == nullptr) {
      return missing("groups", "group_kind is " + std::string(name(plan.problem->group_kind)));
    }
    if (reinterpret_cast<std::uintptr_t>(buffers.groups) % sizeof(std::int32_t) != 0) {
      return "the groups at " + hexadecimal(buffers.groups) + " are not aligned to 4 bytes";
    }
  }
  for (const Scales& scales : scales_of(plan, buffers)) {
    if (std::string why = why_not_scales(scales); !why.empty()) {
      return why;
    }
  }
  return "";
}

// Whether the caller has passed a workspace that is large enough for the plan.
bool uses_callers_workspace(const Plan& plan, const tunedgemm_buffers& buffers) noexcept {
  return buffers.workspace != nullptr &&
         static_cast<std::uint64_t>(plan.launch.workspace_bytes) <= buffers.workspace_bytes;
}

std::string why_not_overlap(const Plan& plan, const tunedgemm_buffers& buffers) {
  const Problem original = to_problem(plan.key);
  const auto& [m, n, k, batch] = std::array{original.m, original.n, original.k, original.batch};
  const Region d = region(buffers.d, plan.d_bytes, original.d, m, n, batch);
  const auto vector = [&](const void* pointer, std::int64_t bytes) {
    return Region{pointer, pointer == nullptr ? 0 : bytes, bytes, d.pitch_bytes};
  };
  const std::int64_t bias_length = original.bias == Bias::kNone     ? 0
                                   : original.bias == Bias::kPerRow ? m
                                                                    : n;
  const std::int64_t bias_elements = bias_length + (batch - 1) * bias_batch_stride(original);
  const std::array<Scales, 2> scales = scales_of(plan, buffers);
  const std::pair<std::string_view, Region> read[] = {
      {"A", region(buffers.a, plan.reads_inputs ? plan.a_bytes : 0, original.a, m, k, batch)},
      {"B", region(buffers.b, plan.reads_inputs ? plan.b_bytes : 0, original.b, k, n, batch)},
      {"C", plan.reads_c ? region(buffers.c, plan.c_bytes, original.c, m, n, batch) : Region{}},
      {"the bias", vector(buffers.bias, bias_elements * plan.element_bytes_d)},
      {"the groups", vector(buffers.groups, group_bytes(original))},
      {scales[0].name, vector(scales[0].first, scales[0].bytes())},
      {scales[1].name, vector(scales[1].first, scales[1].bytes())},
  };
  const Region workspace{buffers.workspace,
                         uses_callers_workspace(plan, buffers) ? plan.launch.workspace_bytes : 0};
  const auto sentence = [&](std::string_view written, const void* at, std::string_view name,
                            const void* pointer) {
    return std::string(written) + " at " + hexadecimal(at) + " overlaps " + std::string(name) +
           " at " + hexadecimal(pointer) + "; give it memory of its own";
  };
  for (const auto& [name, region] : read) {
    const bool in_place = name == "C" && buffers.c == buffers.d;
    if (region.bytes > 0 && !in_place && overlap(d, region)) {
      return sentence("D", d.pointer, name, region.pointer) +
             (name == "C" ? ", or exactly C's" : "");
    }
    if (region.bytes > 0 && workspace.bytes > 0 && overlap(workspace, region)) {
      return sentence("the workspace", workspace.pointer, name, region.pointer);
    }
  }
  return workspace.bytes > 0 && overlap(workspace, d)
             ? sentence("the workspace", workspace.pointer, "D", d.pointer)
             : "";
}

}  // namespace

bool plainly_usable(const Plan& plan, const tunedgemm_buffers& buffers) noexcept {
  const bool inputs = !plan.reads_inputs || (buffers.a != nullptr && buffers.b != nullptr);
  const bool c = !plan.reads_c || buffers.c != nullptr;
  const bool bias = plan.problem->bias == Bias::kNone;  // else why_not_buffers checks it
  const bool groups =
      plan.problem->group_kind == GroupKind::kNone ||
      (buffers.groups != nullptr &&
       reinterpret_cast<std::uintptr_t>(buffers.groups) % sizeof *buffers.groups == 0 &&
       !ranges_overlap(buffers.d, plan.d_bytes, buffers.groups, group_bytes(plan.problem)));
  const bool scales =
      buffers.scale_a == nullptr && buffers.scale_b == nullptr && has_one_scale_each(plan.problem);
  const bool apart =
      !(plan.reads_inputs && (ranges_overlap(buffers.d, plan.d_bytes, buffers.a, plan.a_bytes) ||
                              ranges_overlap(buffers.d, plan.d_bytes, buffers.b, plan.b_bytes))) &&
      !(plan.reads_c && buffers.c != buffers.d &&
        ranges_overlap(buffers.d, plan.d_bytes, buffers.c, plan.c_bytes));
  return buffers.d != nullptr && inputs && c && bias && groups && scales && apart &&
         buffers.workspace == nullptr && scalars_of(buffers) == plan.key.scalars &&
         is_aligned(alignments_of(buffers, plan.reads_c), plan.key.alignments);
}

std::string why_not_buffers(const Plan& plan, const tunedgemm_buffers& buffers) {
  if (scalars_of(buffers) != plan.key.scalars) {
    return "alpha or beta is of another class (zero or not) than in the plan, or C is D in only "
           "one of the two; make a plan with these buffers";
  }
  if (plan.kernel == nullptr) {
    return "";
  }
  if (std::string reason = why_not_pointers(plan, buffers); !reason.empty()) {
    return reason;
  }
  if (!is_aligned(alignments_of(buffers, plan.reads_c), plan.key.alignments)) {
    return "a matrix is less aligned than the plan requires; make a plan with these buffers";
  }
  if (buffers.workspace != nullptr &&
      reinterpret_cast<std::uintptr_t>(buffers.workspace) % 256 != 0) {
    return "the workspace at " + hexadecimal(buffers.workspace) + " is not 256-byte aligned";
  }
  return why_not_overlap(plan, buffers);
}

std::string why_not_memory(const MemorySpace& memory, const Problem& problem,
                           const tunedgemm_buffers& buffers) {
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) {
    return "";
  }
  const bool reads_inputs = problem.k != 0 && problem.alpha != ScalarClass::kZero;
  const auto if_used = [](bool is_used, const void* pointer) {
    return is_used ? pointer : nullptr;
  };
  const std::pair<std::string_view, const void*> used[] = {
      {"A", if_used(reads_inputs, buffers.a)},
      {"B", if_used(reads_inputs, buffers.b)},
      {"C", if_used(problem.beta != ScalarClass::kZero, buffers.c)},
      {"D", buffers.d},
      {"the bias", if_used(problem.bias != Bias::kNone, buffers.bias)},
      {"the groups", if_used(problem.group_kind != GroupKind::kNone, buffers.groups)},
      {"scale_a", buffers.scale_a},
      {"scale_b", buffers.scale_b},
      {"the workspace", buffers.workspace},
  };
  for (const auto& [name, pointer] : used) {
    if (const std::string reason = pointer != nullptr ? memory.why_not_memory(pointer) : "";
        !reason.empty()) {
      return std::string(name) + " at " + hexadecimal(pointer) + " " + reason;
    }
  }
  return "";
}

int launch(const Plan& plan, const tunedgemm_buffers& buffers, StreamHandle stream) {
  if (plan.kernel == nullptr) {
    return 0;
  }
  Arguments arguments = plan.arguments;
  arguments.a = plan.swapped ? buffers.b : buffers.a;
  arguments.b = plan.swapped ? buffers.a : buffers.b;
  arguments.c = buffers.c;
  arguments.d = buffers.d;
  arguments.bias = buffers.bias;
  arguments.groups = buffers.groups;
  if (plan.reads_inputs) {  // else the product is 0, even if a factor is infinite or NaN
    arguments.alpha = buffers.alpha;
    if (buffers.scale_a != nullptr || buffers.scale_b != nullptr) {
      const auto [a, b] = scales_of(plan, buffers);
      arguments.scale_a = a.first;
      arguments.scale_b = b.first;
      arguments.scale_stride_a = a.stride;
      arguments.scale_stride_b = b.stride;
      arguments.scale_k_stride_a = a.k_stride;
      arguments.scale_k_stride_b = b.k_stride;
      arguments.scale_batch_stride_a = a.batch_stride;
      arguments.scale_batch_stride_b = b.batch_stride;
    }
  }
  arguments.beta = buffers.beta;
  arguments.slope = buffers.slope;
  const std::int64_t needed = plan.launch.workspace_bytes;
  if (needed == 0 || uses_callers_workspace(plan, buffers)) {
    arguments.workspace = needed == 0 ? nullptr : buffers.workspace;
    return plan.kernel->run(plan.launch, arguments, stream);
  }
  const std::optional<int> error =
      plan.context->workspaces().run(*plan.kernel, plan.launch, arguments, stream);
  if (!error) [[unlikely]] {
    const Plan& other = plan.context->plan_without_workspace(plan);
    return other.kernel->run(other.launch, arguments, stream);
  }
  return *error;
}

}  // namespace tunedgemm::internal
