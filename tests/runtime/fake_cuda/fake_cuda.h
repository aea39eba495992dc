#pragma once

// The tests' control of the fake driver. The fake is loaded under the real driver's name
// (libcuda.so.1), so the library takes it for the real driver. A test finds the control by the
// symbol below.
//
// It has two GPUs of compute capability 9.0. Their memory is CPU memory between red zones. A launch
// completes before its call returns; its time is computed, not measured. Handles of destroyed
// objects are reused.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/cuda/driver_types.h"

namespace tunedgemm::internal::fake_cuda {

/// The duration of a failure. kOnce: one call fails. kAlways: every later call of its function
/// fails too. kDeviceIsLost: every later call that needs a context fails with the same error.
enum class Lasts { kOnce, kAlways, kDeviceIsLost };

/// A launch of a matrix product, eager or captured (a replay does not count).
struct Product {
  const void* workspace = nullptr;
  unsigned long long stream = 0;  ///< its id
};

/// Thread-safe.
class Control {
 public:
  /// Restores the state of a new process. Precondition: no existing handle is in use.
  virtual void reset() = 0;

  /// Makes the nth call (counted from 1) of `function`, named as in the manual, fail. A failing
  /// function that releases something still releases it.
  virtual void fail(const std::string& function, int nth, cuda::CUresult error, Lasts lasts) = 0;
  /// Whether that failure has happened.
  virtual bool has_failed() const = 0;
  /// The number of calls of every function since the last reset.
  virtual std::map<std::string, int> calls() const = 0;

  /// Limits the memory of each device, for later allocations.
  virtual void limit_memory(std::size_t bytes) = 0;
  /// Names all devices, "Fake GPU" after a reset.
  virtual void name_devices(const std::string& name) = 0;
  /// The next launch, and all later work on its stream, will never end. A call that would wait for
  /// it returns, and causes a complaint.
  virtual void hang_next_launch() = 0;

  /// Makes the next and later compilations wait for release_compilations().
  virtual void hang_next_compilation() = 0;
  virtual void release_compilations() = 0;

  /// Errors of the program, each as a sentence: a kernel that accesses unallocated memory, a
  /// workspace shared by launches that may run at the same time, counters that are not zero,
  /// overwritten red zones, a handle destroyed twice, an invalidated capture, calls from the
  /// destructor of a user object, objects left when a context ends.
  virtual std::vector<std::string> complaints() const = 0;
  /// A list of the existing allocations, streams, events, modules, graphs and contexts; "" if there
  /// are none.
  virtual std::string left() const = 0;
  virtual std::vector<Product> products() const = 0;

  /// cuGraphClone, which the library does not use.
  virtual cuda::CUresult clone(cuda::CUgraph* clone, cuda::CUgraph graph) = 0;

  /// For the fake NVRTC: counts the call and returns its result.
  virtual cuda::CUresult enter(const char* function) = 0;
  /// For the fake NVRTC: waits for release_compilations() if compilations hang.
  virtual void wait_while_compilations_hang() = 0;

 protected:
  ~Control() = default;
};

/// The symbol of the fake's function `Control* ()`.
inline constexpr const char* kControlSymbol = "tunedgemm_fake_cuda_control";
using FindControl = Control* (*)();

}  // namespace tunedgemm::internal::fake_cuda
