#pragma once

// Owners of CUDA streams, events and captured graphs, for tests on a GPU. They throw DeviceError if
// the driver reports an error.

#include <cstdint>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal {

inline const cuda::Driver& test_driver() {
  static const auto opened = cuda::Driver::open();
  return *std::get<0>(opened);
}

/// The per-thread default stream, which has the same handle in every thread.
inline cuda::CUstream per_thread_stream() {
  constexpr std::uintptr_t kPerThread = 2;  // CU_STREAM_PER_THREAD
  return reinterpret_cast<cuda::CUstream>(kPerThread);
}

class OwnStream {
 public:
  OwnStream() {
    TUNEDGEMM_CHECK(test_driver(), cuStreamCreate(&handle_, cuda::CU_STREAM_NON_BLOCKING),
                    "a stream");
  }
  ~OwnStream() { test_driver().cuStreamDestroy(handle_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  cuda::CUstream handle() const { return handle_; }
  void begin_capture() const {
    constexpr auto kGlobal = static_cast<cuda::CUstreamCaptureMode>(0);
    TUNEDGEMM_CHECK(test_driver(), cuStreamBeginCapture(handle_, kGlobal), "a stream");
  }
  /// The captured graph, which the caller must destroy.
  cuda::CUgraph end_capture() const {
    cuda::CUgraph graph = nullptr;
    TUNEDGEMM_CHECK(test_driver(), cuStreamEndCapture(handle_, &graph), "a stream");
    return graph;
  }

 private:
  cuda::CUstream handle_ = nullptr;
};

class OwnEvent {
 public:
  OwnEvent() {
    constexpr unsigned kDisableTiming = 2;
    TUNEDGEMM_CHECK(test_driver(), cuEventCreate(&handle_, kDisableTiming), "an event");
  }
  ~OwnEvent() { test_driver().cuEventDestroy(handle_); }
  OwnEvent(const OwnEvent&) = delete;
  OwnEvent& operator=(const OwnEvent&) = delete;

  cuda::CUevent handle() const { return handle_; }

 private:
  cuda::CUevent handle_ = nullptr;
};

/// The executable graph of the launches captured since OwnStream::begin_capture.
class CapturedGraph {
 public:
  explicit CapturedGraph(const OwnStream& captured) {
    const cuda::CUgraph graph = captured.end_capture();
    TUNEDGEMM_CHECK(test_driver(), cuGraphInstantiate(&executable_, graph, 0), "a graph");
    test_driver().cuGraphDestroy(graph);
  }
  ~CapturedGraph() { test_driver().cuGraphExecDestroy(executable_); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void launch_on(cuda::CUstream stream) const {
    TUNEDGEMM_CHECK(test_driver(), cuGraphLaunch(executable_, stream), "a graph");
  }

 private:
  cuda::CUgraphExec executable_ = nullptr;
};

}  // namespace tunedgemm::internal
