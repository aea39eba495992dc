#pragma once

// Launch: how a kernel is started. A family makes it, a device carries it out; neither knows the
// other, so what one kernel alone understands passes through as bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "kernel_templates/problem/data_type.h"

namespace tunedgemm::internal {

/// A workspace begins with counters that are zero before a launch and that the kernel leaves zero;
/// everything else that a kernel keeps there begins behind them. The place is fixed so that kernels
/// with different needs can share a workspace.
inline constexpr std::int64_t kWorkspaceCounterBytes = 64 << 10;
/// The last of the counters belong to the family alone; split-K reductions use the others.
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
  /// Precondition: made of a Parameter.
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

/// How tensor copies cut one matrix into boxes: everything in a CUtensorMap except the address,
/// which each launch supplies (CUDA Driver API, "Tensor Map Object Management"). The kernel's half
/// is cuda/ptx/tensor_copy.cuh.
struct TensorMap {
  /// kNone: the kernel takes a map in this place and does not read it.
  enum class Operand : std::int32_t { kNone = 0, kA = 1, kB = 2, kC = 3, kD = 4 };

  Operand operand = Operand::kNone;
  DataType type = DataType::kF32;              ///< f32 operands A and B are rounded to tf32
  std::array<std::int64_t, 3> extent{};        ///< elements of a line, lines, batch entries
  std::array<std::int64_t, 2> stride_bytes{};  ///< from line to line, from entry to entry
  std::array<int, 2> box{};                    ///< elements of a line, lines
  int span_bytes = 0;                          ///< of the box's lines, which is also the swizzle
  /// Where a copy of the operand begins in the workspace; 0: the operand itself is meant.
  std::int64_t workspace_offset = 0;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};
inline constexpr int kMostTensorMaps = 4;

/// Whether a kernel may be started while the one before it in its stream still runs; it then waits
/// for that kernel itself (cuda/ptx/synchronization.cuh). Behind a kernel that never lets its
/// successor start early, asking for it costs time.
enum class ProgrammaticLaunch : std::int32_t {
  kNever = 0,
  kAfterOwn = 1,  ///< only in a graph, behind a kernel of this library that lets it
  kAlways = 2,    ///< the caller has said that such kernels follow each other
};

/// A kernel of the same binary that runs before the other one in its stream. It takes the Arguments
/// and `parameters`, and may let the other start early.
struct Prologue {
  std::string_view entry;  ///< a literal
  std::uint32_t grid = 0;  ///< 0: there is no such kernel
  std::uint32_t block = 0;
  ParameterBytes parameters{};

  friend bool operator==(const Prologue&, const Prologue&) = default;
};

/// A plain value. The CPU uses the first four members: grid[0] threads of the team take part, each
/// with shared_bytes of scratch of its own.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  /// 0, or kWorkspaceCounterBytes and the bytes behind them. A kernel that needs more counters than
  /// fit is refused by Family::instantiate.
  std::int64_t workspace_bytes = 0;
  /// The workspace only makes the kernel faster; without_workspace() starts it without one.
  bool workspace_is_optional = false;
  bool needs_workspace() const { return workspace_bytes > 0 && !workspace_is_optional; }
  /// The kernel computes D's transpose: in its Arguments A and B change places, and all that
  /// belongs to them.
  bool swaps_operands = false;
  ProgrammaticLaunch programmatic = ProgrammaticLaunch::kNever;
  /// The kernel lets its successor start early.
  bool triggers_next = false;
  /// The kernel takes this many tensor maps behind its Arguments,
  int tensor_map_count = 0;
  std::array<TensorMap, kMostTensorMaps> tensor_maps{};
  /// and this behind the maps; empty: nothing.
  ParameterBytes parameters{};
  Prologue prologue{};

  friend bool operator==(const Launch&, const Launch&) = default;
};

/// The same launch without its workspace: the kernel finds zeros as its `parameters`. Precondition:
/// workspace_is_optional.
Launch without_workspace(Launch launch);

}  // namespace tunedgemm::internal
