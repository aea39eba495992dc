#pragma once

// Context: one device, one cache, and the plans made with them. The composition root of the
// library; the C API (c_api.cpp) and the tools stand on it.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/plan.h"
#include "runtime/plan_table.h"
#include "tuner/tune.h"

namespace tunedgemm {

/// What a miss in the cache leads to. The numbers cross the C ABI: never renumber.
enum class Policy : std::int32_t { kTune = 1, kNever = 2, kReplay = 3 };
std::optional<Policy> parse_policy(std::string_view text);

struct ContextOptions {
  std::optional<Backend> backend;  ///< empty: CUDA if there is a device, else the host
  int ordinal = 0;
  int host_threads = 0;
  StoreOptions store;
  Policy policy = Policy::kTune;
  Rigor rigor = Rigor::kNormal;
  Budget budget;
};

/// Refused: the call is wrong, or the policy forbids it. The text is for the caller.
class CallError : public std::runtime_error {
 public:
  enum class Kind { kInvalidArgument, kUnsupported, kNotTuned };
  CallError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// What Context::tune did.
struct TuneResult {
  enum class Origin {
    kTuned,      ///< measured now
    kCached,     ///< the cache had a winner of at least this rigor: nothing was measured
    kElsewhere,  ///< another process tuned it meanwhile
    kFailed,     ///< no candidate was valid; tuning.failure says why
  };
  Origin origin = Origin::kFailed;
  std::optional<Record> record;
  Tuning tuning;  ///< empty unless measured now
};

/// Thread-safe.
class Context {
 public:
  /// Throws DeviceError if the device that was asked for is not there. A cache that cannot be used
  /// is no error.
  static std::unique_ptr<Context> create(const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() { return *device_; }
  Store& store() { return *store_; }
  const ContextOptions& options() const { return options_; }

  /// The plan for a call, made if there is none yet: may tune and compile, as the policy says. The
  /// plan lives as long as the context. While `stream` is captured only a kernel that is loaded
  /// already is used. Throws CallError, DeviceError.
  const Plan& plan(const CallKey& key, StreamHandle stream);

  /// A plan for use while the stream is captured: one of a kernel that is loaded already and needs
  /// no workspace. Throws CallError(kNotTuned) where there is none.
  const Plan& plan_during_capture(const CallKey& key, const Canonical& canonical);

  /// Null unless plan() has made it. The hot path: no lock, no allocation.
  const Plan* find_plan(const CallKey& key) const noexcept { return plans_.find(key); }

  /// A workspace of the stream with at least the launch's bytes, its counters zero. Null if it
  /// would have to be allocated while the stream is captured, or if it is optional and cannot be
  /// had. Throws DeviceError.
  void* workspace(const Launch& launch, StreamHandle stream);
  /// The same without a lock, null if there is none yet.
  void* find_workspace(std::int64_t bytes, StreamHandle stream) const noexcept;

  /// The winner with which tune() would answer without measuring: of this toolchain, of at least
  /// this rigor, and complete, or the result of a budget not much smaller than this one, or of a
  /// greater rigor and with as many candidates tried as this one would.
  std::optional<Record> find_tuned(const Problem& problem, const TuneOptions& options);
  /// Makes sure that the cache has a winner of at least this rigor, tuning if it must. For
  /// tune-all: several threads take turns. Throws DeviceError.
  TuneResult tune(const Problem& problem, const TuneOptions& options);

  /// A compiled kernel for the candidate: loaded already, from the cache, or compiled now. Throws
  /// DeviceError.
  std::variant<std::shared_ptr<const CompiledKernel>, Rejection> kernel(const Problem& problem,
                                                                        const Candidate& candidate);

  struct Counters {
    std::atomic<std::int64_t> plans{0}, hits{0}, stale{0}, tuned{0}, model{0}, fallbacks{0},
        compiled{0};
  };
  const Counters& counters() const { return counters_; }
  /// Several lines for people: device, toolchain, cache and its state, counters.
  std::string report() const;

 private:
  Context(const ContextOptions& options, std::unique_ptr<Device> device,
          std::unique_ptr<Store> store);

  std::unique_ptr<Plan> make_plan(const CallKey& key, const Canonical& canonical);
  std::unique_ptr<Plan> plan_from_hit(const CallKey& key, const Canonical& canonical,
                                      const Hit& hit);
  std::unique_ptr<Plan> plan_from_model(const CallKey& key, const Canonical& canonical);
  /// Null if no loaded kernel computes the problem without a workspace.
  std::unique_ptr<Plan> plan_from_loaded(const CallKey& key, const Canonical& canonical);
  std::unique_ptr<Plan> plan_of(const CallKey& key, const Canonical& canonical,
                                const Candidate& candidate,
                                std::shared_ptr<const CompiledKernel> kernel,
                                std::string_view origin);
  TuneResult measure(const Problem& problem, const TuneOptions& options);
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> make_kernel(const Source& source,
                                                                       const Launch& launch);
  std::shared_ptr<const CompiledKernel> loaded_kernel(const std::string& source_fingerprint) const;

  struct Workspace {
    StreamHandle stream = nullptr;
    std::unique_ptr<DeviceMemory> memory;
    const Workspace* next = nullptr;
  };

  ContextOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Store> store_;
  PlanTable plans_;
  PlanTable capture_plans_;  ///< apart, since after the capture the problem may be tuned
  Counters counters_;

  std::mutex tuning_;
  mutable std::mutex kernels_mutex_;
  std::map<std::string, std::shared_ptr<const CompiledKernel>>
      kernels_;  ///< by the source's fingerprint
  std::mutex workspaces_mutex_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::atomic<const Workspace*> newest_workspace_{nullptr};
};

}  // namespace tunedgemm
