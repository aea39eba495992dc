#pragma once

// What tests say to the fake driver beside its functions, and ask it. The fake is loaded under the
// name of the real one (libcuda.so.1), of which the library knows nothing; a test finds it by the
// function below.
//
// It has two GPUs of compute capability 9.0. Their memory is the CPU's, between red zones; work on
// a stream is done when it is launched, and its time is told, not measured. Handles of what was
// destroyed are given again.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/cuda/driver_types.h"

namespace tunedgemm::internal::fake_cuda {

/// Whether what is wrong passes, or the device is lost: then every call that needs a context fails
/// with the same error.
enum class Lasts { kOnce, kForEver };

/// A launch of a matrix product, eager or captured (a replay is no launch).
struct Product {
  const void* workspace = nullptr;
  unsigned long long stream = 0;  ///< its id
};

/// Any thread may call it.
class Control {
 public:
  /// As in a new process. Precondition: nobody uses a handle that is older.
  virtual void reset() = 0;

  /// The nth call, from 1, of the function of this name in the manual fails, once. Functions that
  /// release something release it nevertheless.
  virtual void fail(const std::string& function, int nth, cuda::CUresult error, Lasts lasts) = 0;
  /// Whether it came to that.
  virtual bool has_failed() const = 0;
  /// Of every function since the last reset.
  virtual std::map<std::string, int> calls() const = 0;

  /// The memory of each device, for the allocations from now on.
  virtual void limit_memory(std::size_t bytes) = 0;
  /// The next launch never ends, nor what comes after it on its stream. What would wait for it is
  /// a complaint, and does not wait.
  virtual void hang_next_launch() = 0;

  /// What no program may do, each in a sentence: a kernel that reads or writes what is not
  /// allocated, a workspace that two launches share that may run at the same time, counters that
  /// are not zero, red zones overwritten, a handle that is destroyed twice, a capture made invalid,
  /// calls from the destructor of a user object, what is left when a context ends.
  virtual std::vector<std::string> complaints() const = 0;
  /// What exists: allocations, streams, events, modules, graphs, contexts. Empty if nothing does.
  virtual std::string left() const = 0;
  virtual std::vector<Product> products() const = 0;

  /// cuGraphClone, which the library does not use.
  virtual cuda::CUresult clone(cuda::CUgraph* clone, cuda::CUgraph graph) = 0;

  /// For the fake NVRTC: counts the call, and says whether it is to fail.
  virtual cuda::CUresult enter(const char* function) = 0;

 protected:
  ~Control() = default;
};

/// The symbol under which the fake exports `Control* ()`.
inline constexpr const char* kControlSymbol = "tunedgemm_fake_cuda_control";
using FindControl = Control* (*)();

}  // namespace tunedgemm::internal::fake_cuda
