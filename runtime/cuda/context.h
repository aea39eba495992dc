#pragma once

// PrimaryContext: holds a reference to the primary context of a GPU, which all libraries of the
// process share, including the CUDA runtime. Active: a guard that makes this context current.

#include <atomic>
#include <cstdint>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

/// The devices on which a kernel has hung, as one bit for each ordinal. All contexts of the process
/// share the bits, because every wait for the device also waits for the hung kernel.
std::atomic<std::uint64_t>& hung_devices();

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

  /// Declares that a kernel on the device has hung. From now on objects on the device are leaked,
  /// because freeing them would wait for the kernel. The end of the process frees them.
  void give_up() const noexcept { hung_devices() |= bit(); }
  bool gave_up() const noexcept { return (hung_devices() & bit()) != 0; }

 private:
  std::uint64_t bit() const noexcept { return std::uint64_t{1} << device_ % 64; }

  const Driver& driver_;
  CUdevice device_;
  CUcontext handle_ = nullptr;
};

/// A guard that makes the context current for this thread, unless the driver refuses. It also
/// relaxes this thread's capture mode, because otherwise a stream capture of another thread could
/// forbid allocations and loading, which are safe here. For functions that must not throw, such as
/// destructors.
class ActiveIfPossible {
 public:
  [[nodiscard]] explicit ActiveIfPossible(const PrimaryContext& context) noexcept;
  ~ActiveIfPossible();
  ActiveIfPossible(const ActiveIfPossible&) = delete;
  ActiveIfPossible& operator=(const ActiveIfPossible&) = delete;

  /// The result of making the context current.
  CUresult result() const { return result_; }

 private:
  const Driver& driver_;
  bool pushed_ = false;
  CUresult result_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Like ActiveIfPossible, but throws DeviceError if the driver refuses. Use it to create objects,
/// because an object belongs to the context that is current.
class Active : public ActiveIfPossible {
 public:
  [[nodiscard]] explicit Active(const PrimaryContext& context);
};

/// Makes the context current unless it is current already. Returns whether the caller must pop().
bool push_unless_current(const PrimaryContext& context) noexcept;
void pop(const Driver& driver) noexcept;

}  // namespace tunedgemm::internal::cuda
