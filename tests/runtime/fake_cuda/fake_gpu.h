#pragma once

// Set-up and final checks of every test with the fake driver, and a small product.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/calls/launch.h"
#include "runtime/context/context.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {

/// The fake driver. It is loaded before the library opens a driver, so that the library finds it
/// under the real name.
Control& control();

/// Makes another device current on this thread during its lifetime.
class OnDevice {
 public:
  explicit OnDevice(int ordinal);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int ordinal_;
};

/// The fake in the state of a new process, with the context of one of its devices current, as in a
/// program that uses the CUDA runtime. Its destructor checks that the fake has no complaints and
/// that no object is left, unless the device is lost.
class FakeGpu {
 public:
  FakeGpu();
  ~FakeGpu();
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  /// The complaints so far and the objects left; empty if there are none. Call it after the test
  /// has destroyed its objects.
  static std::string why_not_clean();

 private:
  std::optional<OnDevice> current_;
};

/// A context with this policy, with its cache in memory and with a small tuning budget.
std::unique_ptr<Context> open_context(Policy policy = Policy::kCompile, int ordinal = 0);

/// A small f32 GEMM whose A and B contain small integers; its matrices are in the current device's
/// memory.
class SmallProduct {
 public:
  explicit SmallProduct(std::int64_t k = kK);
  ~SmallProduct();
  SmallProduct(const SmallProduct&) = delete;
  SmallProduct& operator=(const SmallProduct&) = delete;

  const tunedgemm_problem& problem() const { return problem_; }
  /// Each index below kResults has its own D.
  tunedgemm_buffers buffers(int index = 0) const;
  /// Overwrites every D with NaN.
  void erase() const;
  bool is_right(int index = 0) const;

  static constexpr std::int64_t kM = 16, kN = 24, kK = 32;
  static constexpr int kResults = 16;

 private:
  tunedgemm_problem problem_;
  cuda::CUdeviceptr memory_ = 0;
  std::vector<float> expected_;
};

/// The plan of a kernel that splits K, and so needs a workspace.
const Plan& split_k_plan(Context& context, const SmallProduct& product);

}  // namespace tunedgemm::internal::fake_cuda
