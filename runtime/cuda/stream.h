#pragma once

// Stream: a stream of the library that does not synchronize with the default stream. Event: a point
// in a stream.

#include <optional>

#include "runtime/cuda/context.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context must outlive it.
class Stream {
 public:
  /// Throws DeviceError.
  explicit Stream(const PrimaryContext& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream handle() const { return handle_; }

 private:
  const PrimaryContext& context_;
  CUstream handle_ = nullptr;
};

/// Used by one thread. The context must outlive it.
class Event {
 public:
  /// Throws DeviceError.
  explicit Event(const PrimaryContext& context);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUevent handle() const { return handle_; }

  /// Throws DeviceError.
  void record(CUstream stream);
  /// During a capture: makes the graph record the event on every run.
  void record_in_graph(CUstream stream);
  /// Waits until the device has passed the event: spins at first, then sleeps between queries.
  /// False on a timeout. Throws DeviceError if the preceding work has failed.
  bool wait(double limit_seconds) const;

 private:
  const PrimaryContext& context_;
  CUevent handle_ = nullptr;
};

/// The device time between two events. Precondition: the device has passed both.
double seconds_between(const PrimaryContext& context, const Event& start, const Event& stop);

}  // namespace tunedgemm::internal::cuda
