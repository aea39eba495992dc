#pragma once

// DeviceEvaluator: compiles, checks and times candidates on a real device. It makes no decisions:
// tuner/ decides which candidates to try and how to judge the samples.
//
// It uses its own memory for the operands, with poison in every unused byte (operands.h). It keeps
// several copies of the operands, if memory allows, so that launches do not find their inputs in a
// cache. The reference implementation (kernel_templates/cuda/reference) shares no arithmetic with
// the candidates; only the linked-in kernel uses its activations.

#include <chrono>
#include <memory>
#include <span>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/evaluation/operands.h"
#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// Evaluates candidates for one problem with M, N, batch >= 1. Used by one thread. Device
/// and store must outlive the evaluator, and the evaluator must outlive its trials. If the device
/// is lost (a kernel makes an illegal access or never ends), members throw DeviceError, and the
/// process cannot use the device any more.
class DeviceEvaluator final : public Evaluator {
 public:
  /// Compiles with `compiler`, or with one of its own if that is null. Throws
  /// DeviceError(kOutOfMemory) if the operands do not fit into the fraction `memory_share` (0 to 1)
  /// of the free memory.
  DeviceEvaluator(Device& device, Store& store, const CanonicalProblem& problem,
                  std::shared_ptr<CandidateCompiler> compiler = nullptr, double memory_share = 1);
  ~DeviceEvaluator() override;
  DeviceEvaluator(const DeviceEvaluator&) = delete;
  DeviceEvaluator& operator=(const DeviceEvaluator&) = delete;

  void set_compile_deadline(double seconds) override;
  void compile_ahead(std::span<const Instance> candidates) override;
  void compile_next(std::span<const Instance> candidates) override;
  bool is_compiled(const Instance& candidate) override;
  void forget(const Instance& candidate) override;
  int compile_batch() const override;
  Prepared prepare(const Instance& instance) override;
  void warm_up() override;
  double cool_down_seconds() const override;
  void cool_down(double seconds) override;
  Clock clock() override;
  std::string neighbour() override;
  double now_seconds() override;
  double roofline_us() const override;

  /// A trial of a loaded kernel for this problem; the kernel may come from another library. The
  /// trial's binary() is empty.
  std::unique_ptr<Trial> trial(std::shared_ptr<const CompiledKernel> kernel, const Launch& launch);
  /// The problem with the inputs of all trials.
  VerifiedProblem verified_problem() const;
  /// See Verifier::mhz_since_last_call. Precondition: the context of the device is current.
  double mhz_since_last_call();

 private:
  class DeviceTrial;

  Device& device_;
  CanonicalProblem problem_;
  std::shared_ptr<CandidateCompiler> compiler_;
  class Verifier* verifier_ = nullptr;  ///< owned by runner_
  std::unique_ptr<class TrialRunner> runner_;
  bool is_warm_ = false;
  std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
};

}  // namespace tunedgemm::internal
