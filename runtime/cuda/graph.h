#pragma once

// TimingGraph: launches of one kernel, one behind the other, between two moments that the device
// itself notes, as one graph: the cost of starting them from the host does not show.

#include <optional>

#include "runtime/cuda/event.h"
#include "runtime/device.h"

namespace tunedgemm::cuda {

/// Made once and run for every sample. Used by one thread. Context and kernel must outlive it.
class TimingGraph {
 public:
  /// One launch that is not counted, then `launches` of them that take their arguments from
  /// `rotation` in turn: whatever the kernel puts on a stream, captured. Throws DeviceError.
  TimingGraph(const PrimaryContext& context, const TimedLaunch& timed, int launches);
  ~TimingGraph();
  TimingGraph(const TimingGraph&) = delete;
  TimingGraph& operator=(const TimingGraph&) = delete;

  int launches() const { return launches_; }

  /// The seconds that all counted launches took. Empty if the device needs longer than the limit;
  /// then it is still at work. Throws DeviceError.
  std::optional<double> run(CUstream stream, double limit_seconds);

 private:
  const PrimaryContext& context_;
  int launches_;
  Event start_, stop_, end_;
  CUgraphExec executable_ = nullptr;
};

}  // namespace tunedgemm::cuda
