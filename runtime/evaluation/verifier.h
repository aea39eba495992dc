#pragma once

// Verifier: the operations that verify a kernel on the device that holds its matrices: fill inputs,
// compute a reference, compare, find out-of-bounds writes, and read the clock. The tasks are those
// of kernel_templates/cuda/reference/tasks.cuh; all their pointers are to device memory.

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
  /// Waits for the result. `result` of the task is not used.
  virtual reference::ComparisonResult compare(reference::CompareTask task) = 0;
  virtual void erase(const reference::EraseTask& task) = 0;
  /// Waits for the result. `found` of the task is not used.
  virtual OutOfBoundsWrites find_out_of_bounds_writes(reference::OutOfBoundsTask task) = 0;

  /// The SM clock in MHz since the last call: the median over the SMs of their mean clocks, from
  /// their counters. 0 on the first call, and if there are no counters. Waits for everything
  /// launched before.
  virtual double mhz_since_last_call() = 0;

  /// The multiply-adds that compute() performs in some ten milliseconds.
  virtual double reference_multiply_adds() const = 0;
};

/// The verifier for host memory: plain loops in f64 on `threads` threads.
std::unique_ptr<Verifier> make_host_verifier(int threads);

/// The verifier for devices that compile CUDA sources. Takes its kernels from the store or compiles
/// them in the background; the first task waits for them. Device and store must outlive it.
std::unique_ptr<Verifier> make_cuda_verifier(Device& device, Store& store);

}  // namespace tunedgemm::internal
