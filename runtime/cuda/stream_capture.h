#pragma once

// CapturedStream: where a stream that is being captured stands in its graph.

#include <span>
#include <vector>

#include "runtime/cuda/context.h"
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

}  // namespace tunedgemm::internal::cuda
