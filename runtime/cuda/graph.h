#pragma once

// TimingGraph: launches of one kernel, between moments that the device itself notes, as one graph:
// the cost of starting them from the host does not show.

#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Made once and run for every sample. Used by one thread. Context and kernel must outlive it.
class TimingGraph {
 public:
  /// One launch that is not counted, then so many that take their arguments from `rotation` in
  /// turn: whatever the kernel puts on a stream, captured. Unless it is null, the other kernel runs
  /// before each of them; what it takes itself is measured first, behind itself, and taken off.
  /// Throws DeviceError.
  TimingGraph(const PrimaryContext& context, const TimedLaunch& timed, int launches,
              const OtherKernel* other);
  ~TimingGraph();
  TimingGraph(const TimingGraph&) = delete;
  TimingGraph& operator=(const TimingGraph&) = delete;

  int launches() const { return launches_; }

  /// The seconds that all counted launches took, the other kernel's taken off. Empty if the device
  /// needs longer than the limit; then it is still at work. Throws DeviceError.
  std::optional<double> run(CUstream stream, double limit_seconds);

 private:
  /// Of one launch of the other kernel; 0 where there is none.
  double seconds_of_other() const;

  const PrimaryContext& context_;
  int launches_;
  Event start_, stop_, end_;
  std::vector<std::unique_ptr<Event>> sections_;  ///< the ends of those of the other kernel alone
  CUgraphExec executable_ = nullptr;
};

}  // namespace tunedgemm::internal::cuda
