#pragma once

// Launch: everything that a device needs to launch a kernel. A family makes the value and a device
// executes it. Devices do not know families, so the parameters of a particular kernel are only
// bytes to them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// A workspace begins with counters. They are zero before a launch, and the kernel leaves them
/// zero. The rest of the workspace follows. The counters' size is fixed, so that kernels with
/// different needs can share a workspace.
inline constexpr std::int64_t kWorkspaceCounterBytes = 64 << 10;
/// The last bytes of the counters are reserved for the family. Split-K reductions use the others.
inline constexpr std::int64_t kFamilyCounterBytes = 8;

/// A parameter that a kernel takes by value, as bytes: any trivially copyable struct without
/// padding. A plain value; allocates nothing.
class ParameterBytes {
 public:
  static constexpr std::size_t kCapacity = 192;

  ParameterBytes() = default;
  template <class Parameter>
  explicit ParameterBytes(const Parameter& parameter) : size_(sizeof parameter) {
    static_assert(std::is_trivially_copyable_v<Parameter> && sizeof parameter <= kCapacity);
    static_assert(std::has_unique_object_representations_v<Parameter>, "padding is not compared");
    std::memcpy(bytes_.data(), &parameter, sizeof parameter);
  }

  bool empty() const { return size_ == 0; }
  const void* data() const { return bytes_.data(); }
  /// Precondition: constructed from a Parameter.
  template <class Parameter>
  Parameter as() const {
    Parameter parameter;
    std::memcpy(&parameter, bytes_.data(), sizeof parameter);
    return parameter;
  }
  /// The same number of bytes, all zero.
  ParameterBytes zeroed() const {
    ParameterBytes zero;
    zero.size_ = size_;
    return zero;
  }

  friend bool operator==(const ParameterBytes&, const ParameterBytes&) = default;

 private:
  alignas(16) std::array<std::byte, kCapacity> bytes_{};
  std::size_t size_ = 0;
};

/// The division of a matrix into boxes for TMA: everything in a CUtensorMap except the address,
/// which each launch supplies (CUDA Driver API, "Tensor Map Object Management"). The kernel's half
/// is cuda/ptx/tensor_copy.cuh.
struct TensorMap {
  /// kNone: the kernel has a map parameter here, but does not read it.
  enum class Operand : std::int32_t { kNone = 0, kA = 1, kB = 2, kC = 3, kD = 4 };

  Operand operand = Operand::kNone;
  DataType type = DataType::kF32;              ///< f32 operands A and B are rounded to tf32
  std::array<std::int64_t, 3> extent{};        ///< elements per line, lines, batch indices
  std::array<std::int64_t, 2> stride_bytes{};  ///< between lines, between batch indices
  std::array<int, 2> box{};                    ///< elements per line, lines
  int span_bytes = 0;                          ///< the length of a line of the box, and the swizzle
  /// The workspace offset of the operand's padded copy; 0: the map describes the operand itself.
  std::int64_t workspace_offset = 0;
  /// Each copy names the line before which its matrix ends (the kernel's half has the dimensions).
  bool is_ragged = false;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};
inline constexpr int kMostTensorMaps = 4;

/// Whether a kernel may start while the previous kernel in its stream still runs. If it may, the
/// kernel itself must wait for the previous one (cuda/ptx/synchronization.cuh). The launch
/// attribute costs time if the previous kernel does not let its successor start early.
enum class ProgrammaticLaunch : std::int32_t {
  kNever = 0,
  kAfterOwn = 1,  ///< only in a captured graph, after a kernel of this library with triggers_next
  kAlways = 2,    ///< the caller promises that kernels of this library follow each other
};

/// A kernel of the same binary that runs before the main kernel. It takes the Arguments and
/// `parameters`, and may let the main kernel start early.
struct Prologue {
  std::string_view entry;  ///< a string literal, which lives as long as the program
  std::uint32_t grid = 0;  ///< 0: no prologue
  std::uint32_t block = 0;
  ParameterBytes parameters{};

  friend bool operator==(const Prologue&, const Prologue&) = default;
};

/// A plain value. The CPU uses grid[0], the number of threads; shared_bytes, the scratch of each
/// thread; and workspace_bytes.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  /// 0, or kWorkspaceCounterBytes plus the bytes that follow the counters. Family::instantiate
  /// refuses a kernel that needs more counters than fit.
  std::int64_t workspace_bytes = 0;
  /// The workspace only makes the kernel faster; without_workspace() returns a launch that needs
  /// none.
  bool workspace_is_optional = false;
  bool needs_workspace() const { return workspace_bytes > 0 && !workspace_is_optional; }
  /// The kernel computes D's transpose: in its Arguments, A and B are swapped, as are their strides
  /// and scales.
  bool swaps_operands = false;
  ProgrammaticLaunch programmatic = ProgrammaticLaunch::kNever;
  /// The kernel lets its successor start early.
  bool triggers_next = false;
  /// The tensor maps that the kernel takes after its Arguments.
  int tensor_map_count = 0;
  std::array<TensorMap, kMostTensorMaps> tensor_maps{};
  /// The parameter after the tensor maps; empty: none.
  ParameterBytes parameters{};
  Prologue prologue{};

  friend bool operator==(const Launch&, const Launch&) = default;
};

/// A kernel's arguments for the canonical problem. Sizes and strides are set; pointers are null,
/// alpha is 1, beta is 0.
Arguments arguments_of(const Problem& problem);

/// The same launch without its workspace: the `parameters` are zeroed. Precondition:
/// workspace_is_optional.
Launch without_workspace(Launch launch);

}  // namespace tunedgemm::internal
