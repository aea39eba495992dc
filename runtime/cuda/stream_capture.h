#pragma once

// CapturedStream: where a stream that is being captured stands in its graph. TriggeringKernels: the
// kernels of this library that let the one behind them start early (griddepcontrol of
// cuda/ptx/synchronization.cuh), so that a launch knows whether it follows one.

#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// The one node behind which runs what is captured from the stream next. Null if there are several,
/// or none, or if the stream is not being captured.
CUgraphNode last_captured_node(const Driver& driver, CUstream stream) noexcept;

/// Used by one thread, while the stream stays captured. The context must outlive it.
class CapturedStream final : public StreamCapture {
 public:
  /// Null unless the stream is being captured. Throws DeviceError.
  static std::unique_ptr<StreamCapture> of(const PrimaryContext& context, CUstream stream);

  std::uint64_t id() const override { return id_; }
  const void* nearest_before(std::span<const void* const> nodes) const override;
  const void* last_node() const override;
  void keep(std::shared_ptr<void> object) const override;

 private:
  explicit CapturedStream(const PrimaryContext& context) : context_(context) {}

  const PrimaryContext& context_;
  std::uint64_t id_ = 0;
  CUgraph graph_ = nullptr;
  std::vector<CUgraphNode> dependencies_;  ///< of what is captured next
};

/// Shared by all threads.
class TriggeringKernels {
 public:
  void add(CUfunction kernel);
  void remove(CUfunction kernel) noexcept;

  /// Whether what is launched on the stream now becomes a node of a graph behind one of these
  /// kernels, and behind nothing else. Part of the hot path: of a stream that is not being captured
  /// it only asks whether it is.
  bool one_was_captured_last(const Driver& driver, CUstream stream) const noexcept;

 private:
  bool contains(CUfunction kernel) const;

  mutable std::mutex mutex_;
  std::unordered_set<CUfunction> kernels_;
};

}  // namespace tunedgemm::internal::cuda
