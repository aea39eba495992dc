#pragma once

// EmulatedGpu: a Device that compiles CUDA kernels with the system's C++ compiler and executes them
// on the host, one CUDA thread after another (../emulated_gpu/threads.h). It finds wrong arithmetic
// and addresses, missing barriers and waits, and threads that wait forever, without a GPU. It has
// no clock.

#include <memory>
#include <string>
#include <variant>

#include "runtime/host/compiler.h"
#include "tests/runtime/support/plain_device.h"

namespace tunedgemm::internal {

class EmulatedGpu final : public PlainDevice {
 public:
  /// Plans launches for a device with these limits. `seed` determines the order of the threads.
  EmulatedGpu(const DeviceLimits& limits, unsigned seed);

  const DeviceLimits& limits() const override { return limits_; }
  std::string why_not_compile() override { return compiler_.why_not(); }
  std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                      double seconds) override;
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                const Launch& launch) override;
  std::int64_t free_memory_bytes() const override { return std::int64_t{1} << 31; }
  /// What was wrong with the launch of this thread of the host that has failed last.
  std::string describe(int error) const override;

 private:
  DeviceLimits limits_;
  unsigned seed_;
  Compiler compiler_;
};

}  // namespace tunedgemm::internal
