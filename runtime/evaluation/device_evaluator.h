#pragma once

// DeviceEvaluator: compiles, checks and times candidates on a real device. It is only mechanism:
// tuner/ decides what to try and what the samples mean.
//
// It uses its own memory: operands with poison in every unused byte (operands.h), and enough copies
// of them that a sample never finds its inputs in the cache (regime cold). The reference shares no
// code with the kernels (kernel_templates/cuda/reference).

#include <memory>
#include <span>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/evaluation/error_bound.h"
#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// Bound to one canonical problem with M, N, batch >= 1. Used by one thread. Device, store and
/// `binaries` must outlive it, and it must outlive its trials. If the device is lost (a kernel
/// makes an illegal access or never ends), members throw DeviceError, and the process cannot use
/// the device any more.
class DeviceEvaluator final : public Evaluator {
 public:
  /// Keeps compiled binaries in `binaries` for the next problem, unless null. Throws
  /// DeviceError(kOutOfMemory) if the operands do not fit into the fraction `memory_share` (0 to 1)
  /// of the free memory.
  DeviceEvaluator(Device& device, Store& store, const Problem& problem,
                  BinaryCache* binaries = nullptr, double memory_share = 1);
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

  /// A trial of a loaded kernel, from this library or another one, for this problem. Its binary()
  /// is empty.
  std::unique_ptr<Trial> trial(std::shared_ptr<const CompiledKernel> kernel, const Launch& launch);
  /// The scalars with which the problem is computed.
  const Scalars& scalars() const { return scalars_; }
  /// See Verifier::mhz_since_last_call. Precondition: the context of the device is current.
  double mhz_since_last_call();

 private:
  class DeviceTrial;

  Device& device_;
  Problem problem_;
  Scalars scalars_;
  std::unique_ptr<class CandidateCompiler> compiler_;
  class Verifier* verifier_ = nullptr;  ///< owned by runner_
  std::unique_ptr<class TrialRunner> runner_;
  bool is_warm_ = false;
};

}  // namespace tunedgemm::internal
