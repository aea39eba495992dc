#pragma once

// A test with the fake driver: what every case does before and after, and a small product.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/calls/launch.h"
#include "runtime/context/context.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {

/// The fake driver, loaded before the library asks for one; from then on the library finds it by
/// the real one's name.
Control& control();

/// Makes this thread's current device another one, until it ends.
class OnDevice {
 public:
  explicit OnDevice(int ordinal);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int ordinal_;
};

/// The fake as in a new process, with the context of one of its devices current, as in a program
/// that uses the CUDA runtime. When it ends, the fake must have nothing to complain of, and nothing
/// may be left, unless the device is lost.
class FakeGpu {
 public:
  FakeGpu();
  ~FakeGpu();
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  /// What is wrong so far, what is left included; empty if nothing is. For use after everything but
  /// this object is gone.
  static std::string why_not_clean();

 private:
  std::optional<OnDevice> current_;
};

/// The options of a context for C, in memory and of that policy; tuning takes few candidates.
tunedgemm_context_options c_options(tunedgemm_policy policy, int ordinal = 0);

/// In memory, of that policy; tuning takes few candidates.
std::unique_ptr<Context> open_context(Policy policy = Policy::kCompile, int ordinal = 0);

/// A product of small whole numbers in f32, in the memory of the current device.
class SmallProduct {
 public:
  explicit SmallProduct(std::int64_t k = kK);
  ~SmallProduct();
  SmallProduct(const SmallProduct&) = delete;
  SmallProduct& operator=(const SmallProduct&) = delete;

  const tunedgemm_problem& problem() const { return problem_; }
  /// With a D of its own for each index below kResults.
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
