#pragma once

// PrimaryContext: the context of a GPU that all libraries of a process share (the CUDA runtime's
// too), kept alive; and Active, under which the driver is called.

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The driver must outlive it.
class PrimaryContext {
 public:
  /// Throws DeviceError.
  PrimaryContext(const Driver& driver, CUdevice device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }

 private:
  const Driver& driver_;
  CUdevice device_;
  CUcontext handle_ = nullptr;
};

/// While it lives, the context is current for this thread, unless the driver refuses that, and calls
/// that a stream capture of another thread forbids (allocating, loading) are allowed here: they
/// touch nothing that is being captured. For what must not throw, such as releasing.
class ActiveIfPossible {
 public:
  [[nodiscard]] explicit ActiveIfPossible(const PrimaryContext& context) noexcept;
  ~ActiveIfPossible();
  ActiveIfPossible(const ActiveIfPossible&) = delete;
  ActiveIfPossible& operator=(const ActiveIfPossible&) = delete;

  /// What the driver said.
  CUresult result() const { return result_; }

 private:
  const Driver& driver_;
  bool pushed_ = false;
  CUresult result_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// The same where it must be current: what is made under it belongs to the context that is. Throws
/// DeviceError.
class Active : public ActiveIfPossible {
 public:
  [[nodiscard]] explicit Active(const PrimaryContext& context);
};

/// Makes the context current unless it is. Whether there is now something to pop.
bool push_unless_current(const PrimaryContext& context) noexcept;
void pop(const Driver& driver) noexcept;

}  // namespace tunedgemm::internal::cuda
