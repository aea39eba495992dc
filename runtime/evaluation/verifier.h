#pragma once

// Verifier: what it takes to verify a kernel, on the device where its matrices lie: inputs, a
// reference result, a comparison, a look at what must not have changed, and the clock that it ran
// at. The tasks are those of kernel_templates/cuda/reference/tasks.cuh; every pointer in them is of
// the device's memory.

#include <cstdint>
#include <memory>

#include "kernel_templates/cuda/reference/tasks.cuh"

namespace tunedgemm::internal {

class Device;
class Store;

/// Where a kernel wrote outside D: values of 8 bytes that are not poison any more.
struct OutOfBoundsWrites {
  std::int64_t count = 0;
  std::int64_t first_byte = 0;  ///< from the start of the range; where count > 0
};

/// Used by one thread. Work is done in the order of the calls and behind what was launched on the
/// device's own stream before.
class Verifier {
 public:
  virtual ~Verifier() = default;

  virtual void fill(const reference::FillTask& task) = 0;
  virtual void compute(const reference::GemmTask& task) = 0;
  /// Waits for the result. `result` of the task is not used.
  virtual reference::ComparisonResult compare(reference::CompareTask task) = 0;
  virtual void erase(const reference::EraseTask& task) = 0;
  /// Waits for the result. `found` of the task is not used.
  virtual OutOfBoundsWrites find_out_of_bounds_writes(reference::OutOfBoundsTask task) = 0;

  /// The clock of the SMs in MHz since the last call, as they count it themselves: the median of
  /// their means. 0 at the first call, and where there is nothing to read. Waits for what
  /// was launched before.
  virtual double mhz_since_last_call() = 0;

  /// Multiply-adds that compute() does in some ten milliseconds.
  virtual double reference_multiply_adds() const = 0;
};

/// The verifier of the CPU's memory: plain loops in f64, shared by so many threads.
std::unique_ptr<Verifier> make_host_verifier(int threads);

/// The verifier of any device that compiles CUDA sources. Compiles its kernels, or takes them from
/// the store, in the background; the first task waits for that. Device and store must outlive it.
std::unique_ptr<Verifier> make_cuda_verifier(Device& device, Store& store);

}  // namespace tunedgemm::internal
