#pragma once

// TestBench: what judging a kernel takes, on the device where its matrices lie: inputs, an oracle,
// a comparison, a look at what must not have changed, and the clock that it ran at. The tasks are
// those of kernel_templates/cuda/reference/tasks.cuh; every pointer in them is of the device's memory.

#include <cstdint>
#include <memory>

#include "kernel_templates/cuda/reference/tasks.cuh"

namespace tunedgemm {

class Device;
class Store;

/// What is not poison any more.
struct Stains {
  std::int64_t words = 0;
  std::int64_t first_byte = 0;  ///< from the start of the range; where words > 0
};

/// Used by one thread. Work is done in the order of the calls and behind what was launched on the
/// device's own stream before.
class TestBench {
 public:
  virtual ~TestBench() = default;

  virtual void fill(const judge::FillTask& task) = 0;
  virtual void compute(const judge::OracleTask& task) = 0;
  /// Waits for the result. `verdict` of the task is not used.
  virtual judge::Verdict compare(judge::CompareTask task) = 0;
  virtual void erase(const judge::EraseTask& task) = 0;
  /// Waits for the result. `stains` of the task is not used.
  virtual Stains find_stains(judge::StainTask task) = 0;

  /// The clock of the multiprocessors in MHz since the last call, as they count it themselves: the
  /// median of their means. 0 at the first call, and where there is nothing to read. Waits for what
  /// was launched before.
  virtual double mhz_since_last_call() = 0;

  /// Multiply-adds that the oracle does in some ten milliseconds.
  virtual double oracle_multiply_adds() const = 0;
};

/// The bench of the CPU's memory: plain loops in f64, shared by so many threads.
std::unique_ptr<TestBench> make_host_test_bench(int threads);

/// The bench of any device that compiles CUDA sources. Compiles its kernels, or takes them from the
/// store, in the background; the first task waits for that. Device and store must outlive it.
std::unique_ptr<TestBench> make_cuda_test_bench(Device& device, Store& store);

}  // namespace tunedgemm
