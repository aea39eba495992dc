#pragma once

// Family: one kernel template. Its kernel file, in a folder of cuda/ or host/, is what runs; the
// family.cpp beside it is this class: which knobs there are, and what a config makes of the
// template for a problem: an Instance, or a sentence why not.

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernel_templates/cuda/wgmma/kernel_parameters.cuh"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"
#include "kernel_templates/source.h"

inline bool operator==(const GpcClusterRanges& left, const GpcClusterRanges& right) {
  return left.gpcs == right.gpcs && std::ranges::equal(left.first, right.first) &&
         std::ranges::equal(left.gpc_of_sm, right.gpc_of_sm);
}

inline bool operator==(const OperandPadding& left, const OperandPadding& right) {
  return left.offset_a == right.offset_a && left.offset_b == right.offset_b &&
         left.pitch_a == right.pitch_a && left.pitch_b == right.pitch_b &&
         left.blocks == right.blocks;
}

namespace tunedgemm::internal {

/// A parameter of a template: `name` in configs, in the cache and on the command line; upper-cased
/// as the macro.
struct Knob {
  std::string_view name;
  std::vector<int> values;  ///< what a full search tries
  std::string_view meaning;
  /// kTile: part of Instance::tile_key. kLaunch: no macro, since only the launch depends on it.
  enum Role { kVariant, kTile, kLaunch };
  Role role = kVariant;
};

/// A workspace begins with counters that are zero before a launch and that the kernel leaves zero;
/// whatever else a kernel keeps there begins behind them. The place is fixed so that kernels
/// with different needs can share one. The last counters are those of
/// cuda/wgmma/claim_cluster_id.cuh.
inline constexpr std::int64_t kWorkspaceCounterBytes = 64 << 10;

/// How tensor copies cut one matrix into boxes: all that a CUtensorMap is made of but the address
/// of the operand or of the workspace (CUDA Driver API, "Tensor Map Object Management"). The
/// kernel's half is cuda/ptx/tensor_copy.cuh.
struct TensorMap {
  enum class Operand : std::int32_t { kNone = 0, kA = 1, kB = 2, kD = 3 };

  Operand operand = Operand::kNone;
  DataType type = DataType::kF32;              ///< f32 operands are rounded to tf32
  std::array<std::int64_t, 3> extent{};        ///< elements of a line, lines, batch entries
  std::array<std::int64_t, 2> stride_bytes{};  ///< from line to line, from entry to entry
  std::array<int, 2> box{};                    ///< elements of a line, lines
  int span_bytes = 0;                          ///< of the box's lines, which is also the swizzle
  /// Where the operand's padded copy begins in the workspace; 0: there is none.
  std::int64_t workspace_offset = 0;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// CUDA: whether a kernel may be started while the one before it in its stream still runs, for which
/// it waits itself (cuda/ptx/synchronization.cuh). Behind a kernel that does not let others start
/// early, asking for it costs time.
enum class ProgrammaticLaunch : std::int32_t {
  kNever = 0,
  kAfterOwn = 1,  ///< in a graph, behind a kernel of this library that lets it: else nobody knows
  kAlways = 2,    ///< the caller has said that such kernels follow each other
};

/// How a kernel is started. On the host grid[0] threads of the team take part, each with
/// shared_bytes of scratch of its own.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  /// 0, or kWorkspaceCounterBytes and the bytes behind them. A kernel that needs more
  /// counters than fit is refused by Family::instantiate.
  std::int64_t workspace_bytes = 0;
  /// CUDA: the kernel is faster with its workspace, and runs without one (without_workspace()).
  bool workspace_is_optional = false;
  bool needs_workspace() const { return workspace_bytes > 0 && !workspace_is_optional; }
  ProgrammaticLaunch programmatic = ProgrammaticLaunch::kNever;
  /// CUDA: the kernel lets the one behind it start early.
  bool triggers_next = false;
  /// CUDA: the kernel computes D's transpose: in its Arguments A and B change places, and all that
  /// belongs to them.
  bool swaps_operands = false;
  /// CUDA: if the first is not kNone, the kernel takes all of them behind its Arguments, and
  /// gpc_cluster_ranges behind them.
  std::array<TensorMap, 3> tensor_maps{};
  GpcClusterRanges gpc_cluster_ranges{};
  /// CUDA: if it has blocks, the kernel `<entry>_pad` of the same binary goes before the other. It
  /// takes the Arguments and this.
  OperandPadding padding{};

  friend bool operator==(const Launch&, const Launch&) = default;
};

/// The same launch without its workspace. Precondition: workspace_is_optional.
Launch without_workspace(Launch launch);

class Family;

struct Candidate {
  const Family* family = nullptr;
  Config config;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Everything about one candidate for one problem on one device: all that a compiler, a launch and
/// a ranking need of it. A plain value.
struct Instance {
  Problem problem;
  Candidate candidate;
  Launch launch;
  /// The cost model: an estimate of the time, good for ranking.
  double predicted_us = 0;
  /// The same for candidates of one family that compute a tile of D alike. They differ in what the
  /// cost model sees least, or gets right anyway: stages, order, clusters, warps, split-K.
  std::string tile_key;
  /// What the kernel is told beyond the problem, the knobs and the launch; a macro that these
  /// define as well gets this value.
  std::vector<std::pair<std::string_view, std::string>> defines;
  bool needs_exact_architecture = false;  ///< as in Source
  /// CUDA: the launch would be another, faster one if limits.gpc_of_sm had been known.
  bool lacks_gpcs = false;

  /// Made anew by each call: a search looks at thousands of instances and compiles few.
  Source source() const;

  friend bool operator==(const Instance&, const Instance&) = default;
};

/// An Instance, or a sentence that says why there is none.
class Instantiation {
 public:
  // Implicit, so that a family returns what it has.
  // NOLINTBEGIN(google-explicit-constructor)
  Instantiation(Instance instance) : made_(std::move(instance)) {}
  Instantiation(std::string why_not) : made_(std::move(why_not)) {}
  Instantiation(const char* why_not) : made_(why_not) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const { return made_.index() == 0; }
  /// Empty if there is an instance.
  std::string why_not() const { return *this ? "" : std::get<1>(made_); }

  /// Precondition of both: there is an instance.
  const Instance& operator*() const { return *std::get_if<0>(&made_); }
  const Instance* operator->() const { return std::get_if<0>(&made_); }
  /// Throws std::invalid_argument with the sentence if there is no instance.
  const Instance& value() const&;
  Instance value() &&;

 private:
  std::variant<Instance, std::string> made_;
};

/// The instance, and all others that differ in knobs of Knob::kLaunch alone: the same machine code,
/// started in another way.
std::vector<Instance> launch_variants(const Instance& instance, const DeviceLimits& limits);

/// Stateless and shared by all threads; lives as long as the program. All problems given to it are
/// canonical and well formed (`why_not(problem)` is empty), with M, N, batch >= 1 and K >= 0.
class Family {
 public:
  /// `file` is the kernel's name among the embedded files.
  Family(std::string_view name, std::string_view backend, std::string_view file,
         std::vector<Knob> knobs);
  virtual ~Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  std::string_view name() const { return name_; }
  /// The devices that it is for: the folder of kernel_templates/ in which it lies.
  std::string_view backend() const { return backend_; }
  std::span<const Knob> knobs() const { return knobs_; }
  /// Changes when the template's code or its knobs change. A winner that was tuned before then
  /// counts only where its machine code is still the same (TuningSession::renewed).
  const std::string& fingerprint() const { return text().fingerprint; }

  /// The kernel with this config for this problem on such a device; if it does not compute that, a
  /// sentence that names the knob or the field, its value and the limit. Unknown and missing knobs
  /// are refused.
  virtual Instantiation instantiate(const Problem& problem, const Config& config,
                                    const DeviceLimits& limits) const = 0;

  /// The instances that a search should consider for this problem, in a fixed order, without
  /// duplicates.
  std::vector<Instance> candidates(const Problem& problem, const DeviceLimits& limits) const;

 protected:
  /// The configs that candidates() instantiates, in its order and without duplicates. Those that
  /// are refused may be among them. Unless overridden, every combination of the knobs' values.
  virtual std::vector<Config> search_space(const Problem& problem,
                                           const DeviceLimits& limits) const;
  /// Refuses a config that lacks a knob, has one too many, or has a value outside Knob::values.
  std::string why_not_knobs(const Config& config) const;
  /// An instance with problem, candidate and tile key; the rest is left to instantiate().
  /// Precondition: the config has all knobs.
  Instance begin_instance(const Problem& problem, const Config& config) const;
  /// The defines by which the host half tells the kernel the numbers of its launch, so that the two
  /// cannot drift apart. Unless overridden, none.
  virtual std::vector<std::pair<std::string, std::string>> launch_defines(
      const Config& config, const Launch& launch) const;

 private:
  friend struct Instance;
  /// The defines that every template understands (see the README of this folder), then one a knob.
  std::vector<std::pair<std::string, std::string>> common_defines(const Problem& problem,
                                                                  const Config& config) const;

  /// What is found out from the whole text of the template, when it is first asked for: a program
  /// that runs a kernel of one family does not wait for those of the others.
  struct Text {
    std::vector<SourceFile> includes;
    std::string template_fingerprint;
    std::string fingerprint;
  };
  const Text& text() const;

  std::string_view name_;
  std::string_view backend_;
  SourceFile file_;
  std::vector<Knob> knobs_;
  mutable std::once_flag text_is_known_;
  mutable Text text_;
};

/// "mma block_m=128 block_n=256 ...": the family's name and the config.
std::string to_text(const Candidate& candidate);
std::optional<Candidate> parse_candidate(std::string_view text);

/// What families.cpp in a backend's folder gives the registry.
struct BackendFamilies {
  std::string_view backend;  ///< "cuda"
  int number = 0;            ///< of the backend, in stored rows and the C ABI: never renumber
  std::vector<const Family*> families;  ///< in teaching order, the simplest first
  const Family* baseline = nullptr;     ///< the naive kernel that the others are compared with
  /// The start of a line for a shell that compiles a source as it is compiled here.
  std::string (*compiler_command)(const Source& source, const DeviceLimits& limits) = nullptr;
};
/// Of all folders that have one, in the order of their names.
std::span<const BackendFamilies* const> all_families();
/// Null if there is no such backend.
const BackendFamilies* find_families(std::string_view backend);

/// All families of a backend, the simplest first. Empty if there is no such backend.
std::span<const Family* const> families(std::string_view backend);
/// The naive kernel that the others are compared with. There must be such a backend.
const Family& baseline_family(std::string_view backend);
/// 0 if there is none of that name; "" if there is none of that number.
int backend_number(std::string_view backend);
std::string_view backend_name(int number);
/// Null if there is none of that name. Names are unique over the backends.
const Family* find_family(std::string_view name);

/// Precondition: candidate.family is not null.
Instantiation instantiate(const Problem& problem, const Candidate& candidate,
                          const DeviceLimits& limits);

/// The candidates of every family for the problem, best predicted first, ties in the families'
/// order. Never empty for a well-formed problem with M, N, batch >= 1 on a supported device.
std::vector<Instance> ranked_candidates(const Problem& problem, const DeviceLimits& limits);

/// What runs when nothing is known: the best predicted candidate.
Instance default_candidate(const Problem& problem, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
