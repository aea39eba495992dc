#pragma once

// TimingGraph: a graph with the launches of one kernel between two events. The time between the
// events does not contain the cost of launching from the host.

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
  /// Captures one untimed launch, then `launches` timed ones that cycle through `timed.rotation`.
  /// If `interposed` is not null, that kernel runs before each timed launch. The graph also times
  /// the interposed kernel alone; run() subtracts this time. Throws DeviceError.
  TimingGraph(const PrimaryContext& context, const TimedLaunch& timed, int launches,
              const InterposedKernel* interposed);
  ~TimingGraph();
  TimingGraph(const TimingGraph&) = delete;
  TimingGraph& operator=(const TimingGraph&) = delete;

  int launches() const { return launches_; }

  /// The total time of the timed launches in seconds, without the interposed kernel. Empty if the
  /// graph exceeds the time limit; the device is then still busy. Throws DeviceError.
  std::optional<double> run(CUstream stream, double limit_seconds);

 private:
  /// The time of one launch of the interposed kernel; 0 if there is none.
  double seconds_of_interposed() const;

  const PrimaryContext& context_;
  int launches_;
  Event start_, stop_, end_;
  std::vector<std::unique_ptr<Event>> sections_;  ///< the ends of sections of interposed launches
  CUgraphExec executable_ = nullptr;
  bool is_uploaded_ = false;
};

}  // namespace tunedgemm::internal::cuda
