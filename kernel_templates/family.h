#pragma once

// Family: one kernel template. Its kernel file, in a folder of cuda/ or host/, is the code that
// runs. The family.cpp beside it implements this class: it lists the knobs, and turns a problem and
// a config into an Instance, or into a sentence that says why there is none.

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/launch.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"
#include "kernel_templates/source.h"

namespace tunedgemm::internal {

/// A parameter of a template. Configs, the cache and the command line use its `name`; the kernel
/// uses the same name in upper case, as a macro.
struct Knob {
  std::string_view name;
  std::vector<int> values;  ///< all legal values
  std::string_view meaning;
  /// kTile: part of Instance::tile_key. kLaunch: not a macro, because only the launch depends on
  /// the knob.
  enum Role { kVariant, kTile, kLaunch };
  Role role = kVariant;
};

class Family;

/// How a kernel adds up the products of an element of D. Two kernels of one class give an element
/// the same bits if types, numerics and architecture are equal, whatever their tiles, stages and
/// schedules. Stored on disk: never renumber. A kernel whose bits change gets a new class.
enum class AccumulationClass : std::int32_t {
  kNone = 0,     ///< split-K: the order of the sums depends on the config
  kInOrder = 1,  ///< fused multiply-adds in the order of K
  kMma = 2,      ///< mma.sync, and wgmma of f16, bf16 and s8, which gives the same bits
  kWgmma = 3,    ///< the family wgmma, of tf32, fp8 and f64
};
std::string_view name(AccumulationClass accumulation_class);

struct Candidate {
  const Family* family = nullptr;
  Config config;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// One candidate for one problem on one device: everything that a compiler, a launch and a ranking
/// need. A plain value.
struct Instance {
  Problem problem;
  Candidate candidate;
  Launch launch;
  /// The estimate of the cost model: good for ranking.
  double predicted_us = 0;
  /// Equal for candidates of one family that compute a tile of D in the same way. Such candidates
  /// may differ in stages, order, clusters, warps and split-K.
  std::string tile_key;
  /// Defines in addition to those of the problem, the knobs and the launch. They override defines
  /// of the same name.
  std::vector<std::pair<std::string_view, std::string>> defines;
  bool needs_exact_architecture = false;  ///< as in Source
  /// Whether a probe of the device (Device::probe) would make the launch faster.
  bool lacks_probe = false;

  /// Built on each call, because a search ranks thousands of instances and compiles few.
  Source source() const;

  friend bool operator==(const Instance&, const Instance&) = default;
};

/// An Instance, or a sentence that says why there is no Instance.
class Instantiation {
 public:
  // Implicit, so that a family can return an Instance or a sentence directly.
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

/// The instance and all others that differ only in knobs of Knob::kLaunch: the same machine code,
/// launched differently.
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
  /// The folder of kernel_templates/ that contains the family, which is also the backend of its
  /// devices.
  std::string_view backend() const { return backend_; }
  std::span<const Knob> knobs() const { return knobs_; }
  /// Changes when the template's code or its knobs change. A winner that was tuned before the
  /// change stays valid only if its machine code is still the same (StoredWinners::renewed).
  const std::string& fingerprint() const { return text().fingerprint; }

  /// The kernel with this config for this problem and device, or a sentence that says why the
  /// kernel cannot run or would compute a wrong result. Refuses unknown and missing knobs, a
  /// kernel of another class if the problem is invariant, and more CTAs than its sm_limit.
  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const;

  /// The class of this family's kernels without split-K; kNone if it has none for the types and
  /// numerics of the problem on this device. Depends on nothing else.
  virtual AccumulationClass accumulation_class(const Problem& problem,
                                               const DeviceLimits& limits) const;

  /// Whether the family has kernels for grouped products.
  virtual bool computes_groups() const { return false; }

  /// The instances that a search should consider for this problem, in a fixed order, without
  /// duplicates.
  std::vector<Instance> candidates(const Problem& problem, const DeviceLimits& limits) const;
  /// What the first of them lacks, if none is legal; else empty.
  std::string why_no_candidate(const Problem& problem, const DeviceLimits& limits) const;

 protected:
  /// The Instance of instantiate(), within `limits` alone.
  virtual Instantiation make_instance(const Problem& problem, const Config& config,
                                      const DeviceLimits& limits) const = 0;
  /// The configs that candidates() instantiates, in the same order and without duplicates. May
  /// include configs that instantiate() refuses. The default is every combination of the knob
  /// values.
  virtual std::vector<Config> search_space(const Problem& problem,
                                           const DeviceLimits& limits) const;
  /// Refuses a config that lacks a knob, has an unknown knob, or has a value outside Knob::values.
  std::string why_not_knobs(const Config& config) const;
  /// An instance with problem, candidate and tile key; instantiate() fills in the rest.
  /// Precondition: the config has all knobs.
  Instance begin_instance(const Problem& problem, const Config& config) const;
  /// Defines that tell the kernel the launch dimensions, so that it can assert that they are right.
  /// The default is none.
  virtual std::vector<std::pair<std::string, std::string>> launch_defines(
      const Config& config, const Launch& launch) const;

 private:
  friend struct Instance;
  /// The defines that every template understands (see the README of this folder), then one for each
  /// knob except Knob::kLaunch.
  std::vector<std::pair<std::string, std::string>> common_defines(const Problem& problem,
                                                                  const Config& config) const;

  /// Everything derived from the template's text and the knobs; computed on first use, so that a
  /// program does not wait for the texts of families that it does not run.
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

/// The families of one backend, in the order of its families.cpp.
struct BackendFamilies {
  std::string_view backend;  ///< for example "cuda"
  int number = 0;            ///< of the backend, in stored rows and the C ABI: never renumber
  std::vector<const Family*> families;  ///< the simplest first
  const Family* baseline = nullptr;     ///< the naive kernel that the others are compared with
  /// The start of a shell command that compiles a source as the library compiles it.
  std::string (*compiler_command)(const Source& source, const DeviceLimits& limits) = nullptr;
};
/// One entry for each backend, sorted by name.
std::span<const BackendFamilies* const> all_families();
/// Null if there is no such backend.
const BackendFamilies* find_families(std::string_view backend);

/// All families of a backend, the simplest first. Empty if there is no such backend.
std::span<const Family* const> families(std::string_view backend);
/// The naive kernel that the others are compared with. Precondition: the backend exists.
const Family& baseline_family(std::string_view backend);
/// 0 if no backend has this name.
int backend_number(std::string_view backend);
/// "" if no backend has this number.
std::string_view backend_name(int number);
/// Null if no family has this name. Names are unique across backends.
const Family* find_family(std::string_view name);

/// A family that is null (find_family) or belongs to another backend gives a sentence, too.
Instantiation instantiate(const Problem& problem, const Candidate& candidate,
                          const DeviceLimits& limits);

/// The class that all candidates of an invariant problem have: the last in the enumeration that
/// any family has for the types and numerics on this device. kNone if there is none.
AccumulationClass accumulation_class(const Problem& problem, const DeviceLimits& limits);
/// The class of one candidate for a problem.
AccumulationClass accumulation_class(const Candidate& candidate, const Problem& problem,
                                     const DeviceLimits& limits);

/// Why no family has a candidate: what the most capable family refuses. Empty if there is one, as
/// for each well-formed problem with M, N, batch >= 1, unless it is invariant or has an sm_limit.
std::string why_no_candidate(const Problem& problem, const DeviceLimits& limits);

/// The candidates of all families for the problem, best predicted first, with ties in the families'
/// order.
std::vector<Instance> ranked_candidates(const Problem& problem, const DeviceLimits& limits);

/// The best predicted candidate. Throws std::invalid_argument with why_no_candidate() if there is
/// none.
Instance default_candidate(const Problem& problem, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
