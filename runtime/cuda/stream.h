#pragma once

// Stream: a queue of work of our own that does not wait for the default stream. Event: a moment in
// a stream.

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
  /// While the stream is captured: makes the graph record the event each time that it runs.
  void record_in_graph(CUstream stream);
  /// Waits until the device has passed the event, without yielding at first and sleeping between
  /// looks later. False if that takes longer. Throws DeviceError if the work before it has failed.
  bool wait(double limit_seconds) const;

 private:
  const PrimaryContext& context_;
  CUevent handle_ = nullptr;
};

/// From one event to the other on the device. Precondition: both have been passed.
double seconds_between(const PrimaryContext& context, const Event& start, const Event& stop);

}  // namespace tunedgemm::internal::cuda
