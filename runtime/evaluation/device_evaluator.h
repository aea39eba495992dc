#pragma once

// DeviceEvaluator: how candidates are compiled, checked and timed on a real device. Mechanism only:
// what to try and what the samples mean is decided in tuner/.
//
// It works in its own memory: operands whose every unused byte is poison (operands.h), enough
// copies of them that a sample never finds its inputs in the cache (regime cold), and a
// reference that shares no code with the kernels (kernel_templates/cuda/reference).

#include <memory>
#include <span>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/evaluation/error_bound.h"
#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// Bound to one canonical problem with M, N, batch >= 1. Used by one thread. Device, store and
/// `binaries` must outlive it, and it its trials. Where the device is lost (a kernel that reads where there is
/// nothing, or never ends), members throw DeviceError, and the process cannot use it any more.
class DeviceEvaluator final : public Evaluator {
 public:
  /// What is compiled is kept in `binaries` for the next problem, unless null. Throws
  /// DeviceError(kOutOfMemory) if the operands do not fit beside what the memory holds.
  DeviceEvaluator(Device& device, Store& store, const Problem& problem,
                  BinaryCache* binaries = nullptr);
  ~DeviceEvaluator() override;
  DeviceEvaluator(const DeviceEvaluator&) = delete;
  DeviceEvaluator& operator=(const DeviceEvaluator&) = delete;

  void set_compile_deadline(double seconds) override;
  void compile_ahead(std::span<const Instance> candidates) override;
  int compile_batch() const override;
  Prepared prepare(const Instance& instance) override;
  void warm_up() override;
  double cool_down_seconds() const override;
  void cool_down(double seconds) override;
  Clock clock() override;
  double now_seconds() override;
  double roofline_us() const override;

  /// A kernel that is loaded already, of ours or of another library, for this problem. Its binary()
  /// is empty.
  std::unique_ptr<Trial> trial(std::shared_ptr<const CompiledKernel> kernel, const Launch& launch);
  /// With which the problem is computed.
  const Scalars& scalars() const { return scalars_; }
  /// See Verifier::mhz_since_last_call. The device's context is current.
  double mhz_since_last_call();

 private:
  class DeviceTrial;

  Device& device_;
  Problem problem_;
  Scalars scalars_;
  std::unique_ptr<class CandidateCompiler> compiler_;
  class Verifier* verifier_ = nullptr;  ///< of runner_
  std::unique_ptr<class TrialRunner> runner_;
  bool is_warm_ = false;
};

}  // namespace tunedgemm::internal
