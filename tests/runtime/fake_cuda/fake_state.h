#pragma once

// The state of the fake driver, i.e. the objects behind its handles; and Call, an object that each
// driver function creates for its duration.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tests/runtime/fake_cuda/fake_kernels.h"

namespace tunedgemm::internal::fake_cuda {

constexpr int kDevices = 2;
constexpr auto kMemsetNode = static_cast<cuda::CUgraphNodeType>(2);
constexpr auto kEventRecordNode = static_cast<cuda::CUgraphNodeType>(7);

/// The content of a graph or executable graph. Captured nodes do not change.
struct Graph {
  std::vector<std::shared_ptr<cuda::CUgraphNode_st>> nodes;
  std::map<cuda::CUuserObject, unsigned> kept;
};

}  // namespace tunedgemm::internal::fake_cuda

// NOLINTBEGIN(readability-identifier-naming): the manual's names
namespace tunedgemm::internal::cuda {

struct CUgraph_st : fake_cuda::Graph {};
struct CUgraphExec_st : fake_cuda::Graph {};

struct CUctx_st {
  int device = 0, references = 0;
};
struct CUuserObject_st {
  void* pointer = nullptr;
  void (*destroy)(void*) = nullptr;
  unsigned references = 0;
};
struct CUfunc_st {
  CUmodule module = nullptr;
};
struct CUmod_st {
  CUcontext context = nullptr;
  std::shared_ptr<const fake_cuda::Image> image;
  CUfunc_st function;
};
/// An active capture.
struct Capture {
  unsigned long long id = 0;
  CUstreamCaptureMode mode{};
  std::uint64_t thread = 0;
  bool is_valid = true;
  CUgraph_st graph;
};
struct CUstream_st {
  CUcontext context = nullptr;
  unsigned long long id = 0;
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode> last;  ///< the dependencies of the next captured node
  double now_us = 0;
  bool hangs = false;
};
struct CUevent_st {
  CUcontext context = nullptr;
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode> last;
  double at_us = 0;
  bool hangs = false;
};
struct CUgraphNode_st {
  CUgraphNodeType type{};
  std::vector<CUgraphNode> before;
  CUfunction function = nullptr;
  std::shared_ptr<const fake_cuda::Image> image;
  fake_cuda::LaunchArguments launch;
  CUevent event = nullptr;
  struct {
    void* destination;
    unsigned char value;
    std::size_t bytes;
  } set{};
};

}  // namespace tunedgemm::internal::cuda
// NOLINTEND(readability-identifier-naming)

namespace tunedgemm::internal::fake_cuda {

/// Objects whose addresses are reused.
template <class Object>
class Table {
 public:
  Object* add() {
    for (Slot& slot : slots_) {
      if (!slot.is_used) {
        slot = {true, Object{}};
        return &slot.object;
      }
    }
    return &slots_.emplace_back(Slot{true, Object{}}).object;
  }
  bool has(const Object* object) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& slot) { return slot.is_used && &slot.object == object; });
  }
  bool remove(const Object* object) {
    for (Slot& slot : slots_) {
      if (slot.is_used && &slot.object == object) {
        slot = {false, Object{}};
        return true;
      }
    }
    return false;
  }
  template <class Predicate>
  int count(Predicate is_counted) const {
    return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return slot.is_used && is_counted(slot.object);
    }));
  }
  template <class Function>
  void for_each(Function function) {
    for (Slot& slot : slots_) {
      if (slot.is_used) {
        function(slot.object);
      }
    }
  }
  void clear() { slots_.clear(); }

 private:
  struct Slot {
    bool is_used = false;
    Object object;
  };
  std::deque<Slot> slots_;
};

/// A block of CPU memory with a red zone on either side.
struct Allocation {
  cuda::CUcontext context = nullptr;
  std::size_t bytes = 0;
  void* base = nullptr;
};

struct State {
  std::mutex mutex;
  std::array<cuda::CUctx_st, kDevices> contexts;
  std::array<cuda::CUstream_st, kDevices> default_streams;
  Table<cuda::CUstream_st> streams;
  Table<cuda::CUevent_st> events;
  Table<cuda::CUmod_st> modules;
  Table<cuda::CUgraph_st> graphs;
  Table<cuda::CUgraphExec_st> executables;
  Table<cuda::CUuserObject_st> user_objects;
  std::vector<std::shared_ptr<cuda::Capture>> captures;
  std::map<std::uintptr_t, Allocation> memory;
  std::string device_name = "Fake GPU";
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< per device
  unsigned long long last_id = 0;

  std::map<std::string, int> calls;
  std::string fails;  ///< the function that will fail, or ""
  int fails_at = 0;
  cuda::CUresult failure = 0;
  Lasts failure_lasts = Lasts::kOnce;
  bool has_failed = false;
  cuda::CUresult lost = 0;  ///< the result of calls to a lost device
  bool next_launch_hangs = false, hangs = false;
  bool compilations_hang = false;
  std::condition_variable compilations_released;

  std::vector<std::string> complaints;
  std::vector<Product> products;
};

/// One call of a driver function: holds the state's lock, counts the call, and decides whether it
/// fails. Its destructor destroys the released user objects in a separate thread, as the driver
/// does.
class Call {
 public:
  explicit Call(const char* function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  State& state() const { return state_; }
  cuda::CUresult result() const { return result_; }
  bool failed() const { return result_ != 0; }
  void complain(const std::string& what) const;

  cuda::CUcontext current() const;
  std::vector<cuda::CUcontext>& context_stack() const;
  cuda::CUstreamCaptureMode& capture_mode() const;
  void need_context();
  /// The object of a handle. For a special handle, it depends on the context or thread. Null if the
  /// call fails.
  cuda::CUstream_st* stream(cuda::CUstream handle);
  /// Fails if an active capture forbids this call.
  void must_not_be_captured();
  void wait_for_all(const char* what) const;

  cuda::CUdeviceptr allocate(std::size_t bytes) const;
  bool free(cuda::CUdeviceptr address) const;
  std::size_t free_bytes() const;
  const Allocation* allocation_at(const void* pointer, std::size_t bytes) const;
  bool is_allocated(const void* pointer, std::size_t bytes) const {
    return allocation_at(pointer, bytes) != nullptr;
  }

  /// Executes the node after all earlier work of the stream.
  cuda::CUresult work(const cuda::CUgraphNode_st& node, cuda::CUstream_st& stream);
  void begin_capture(cuda::CUstream_st& stream, cuda::CUstreamCaptureMode mode) const;
  Graph end_capture(cuda::CUstream_st& stream) const;
  void invalidate(cuda::Capture& capture) const;
  void forget(cuda::CUstream_st& stream) const;
  Graph copy_of(const Graph& graph) const;
  void release(const Graph& graph);
  void release(cuda::CUuserObject object, unsigned count);
  void end(cuda::CUctx_st& context) const;

 private:
  const char* function_;
  State& state_;
  std::unique_lock<std::mutex> lock_;
  cuda::CUresult result_ = 0;
  std::vector<cuda::CUuserObject_st> doomed_;
};

Control& fake_control();

}  // namespace tunedgemm::internal::fake_cuda
