#pragma once

// TimingGraph: launches of one kernel between events of the device, as one graph: the cost of
// launching from the host does not show.

#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Created once and run for every sample. Used by one thread. Context and kernel must outlive it.
class TimingGraph {
 public:
  /// Captures one uncounted launch, then `launches` that cycle through the arguments in `rotation`,
  /// with everything that the kernel puts on a stream. If `interposed` is not null, that kernel
  /// runs before each counted launch; its own time is measured first, in a sequence of its
  /// launches, and subtracted. Throws DeviceError.
  TimingGraph(const PrimaryContext& context, const TimedLaunch& timed, int launches,
              const InterposedKernel* interposed);
  ~TimingGraph();
  TimingGraph(const TimingGraph&) = delete;
  TimingGraph& operator=(const TimingGraph&) = delete;

  int launches() const { return launches_; }

  /// The seconds of all counted launches, without the interposed kernel. Empty if the device
  /// exceeds the limit; it is then still busy. Throws DeviceError.
  std::optional<double> run(CUstream stream, double limit_seconds);

 private:
  /// The time of one launch of the interposed kernel; 0 if there is none.
  double seconds_of_interposed() const;

  const PrimaryContext& context_;
  int launches_;
  Event start_, stop_, end_;
  std::vector<std::unique_ptr<Event>> sections_;  ///< end events, interposed kernel alone
  CUgraphExec executable_ = nullptr;
};

}  // namespace tunedgemm::internal::cuda
