#pragma once

// CapturedStream: the position of a capturing stream in its graph. TriggeringKernels: the kernels
// of this library that let their successor start early (griddepcontrol of
// cuda/ptx/synchronization.cuh). A launch asks whether it follows one of these kernels.

#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// The single node on which the next captured node will depend. Null if there are several or none,
/// or if the stream is not being captured.
CUgraphNode last_captured_node(const Driver& driver, CUstream stream) noexcept;

/// Used by one thread, only during the capture. The context must outlive it.
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
  std::vector<CUgraphNode> dependencies_;  ///< of the next captured node
};

/// Shared by all threads.
class TriggeringKernels {
 public:
  void add(CUfunction kernel);
  void remove(CUfunction kernel) noexcept;

  /// Whether the next launch on the stream becomes a graph node whose only dependency is one of
  /// these kernels. Part of the hot path: costs one query if the stream is not being captured.
  bool one_was_captured_last(const Driver& driver, CUstream stream) const noexcept;

 private:
  bool contains(CUfunction kernel) const;

  mutable std::mutex mutex_;
  std::unordered_set<CUfunction> kernels_;
};

}  // namespace tunedgemm::internal::cuda
