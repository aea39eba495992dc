#pragma once

// Verifier: the operations that verify a kernel's result, on the device that holds the matrices:
// fill inputs, compute a reference, compare, find out-of-bounds writes. A verifier also reads the
// device's clock.
// kernel_templates/cuda/reference/tasks.cuh defines the tasks; all their pointers are to device
// memory.

#include <cstdint>
#include <memory>

#include "kernel_templates/cuda/reference/tasks.cuh"

namespace tunedgemm::internal {

class Device;
class Store;

/// Out-of-bounds writes: values of 8 bytes that are no longer poison.
struct OutOfBoundsWrites {
  std::int64_t count = 0;
  std::int64_t first_byte = 0;  ///< from the start of the range; valid if count > 0
};

/// Used by one thread. Operations run in call order, after everything launched earlier on the
/// device's own stream.
class Verifier {
 public:
  virtual ~Verifier() = default;

  virtual void fill(const reference::FillTask& task) = 0;
  virtual void compute(const reference::GemmTask& task) = 0;
  /// Waits for the result. Ignores task.result.
  virtual reference::ComparisonResult compare(reference::CompareTask task) = 0;
  virtual void erase(const reference::EraseTask& task) = 0;
  /// Waits for the result. Ignores task.found.
  virtual OutOfBoundsWrites find_out_of_bounds_writes(reference::OutOfBoundsTask task) = 0;

  /// The SM clock in MHz since the last call: the median of the mean clocks of all SMs, from their
  /// counters. 0 on the first call, and on a device without counters. Waits for all earlier
  /// launches.
  virtual double mhz_since_last_call() = 0;

  /// The number of multiply-adds that compute() performs in some ten milliseconds.
  virtual double reference_multiply_adds() const = 0;
};

/// The verifier for host memory: plain loops in f64 on `threads` threads.
std::unique_ptr<Verifier> make_host_verifier(int threads);

/// The verifier for devices that compile CUDA sources. Takes its kernels from the store, or
/// compiles them in the background; a task waits for its kernel. Device and store must outlive the
/// verifier.
std::unique_ptr<Verifier> make_cuda_verifier(Device& device, Store& store);

}  // namespace tunedgemm::internal
