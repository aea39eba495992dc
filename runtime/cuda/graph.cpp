#include "runtime/cuda/graph.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/stream.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal::cuda {
namespace {

// The interposed kernel is timed alone, in several sections of launches. The median of the sections
// counts, because a disturbance must not make the timed kernel look faster. A section has many
// launches, so that the resolution of events hardly affects the time of one launch.
constexpr int kSections = 5, kLaunchesOfSection = 20;

// A stream capture. The destructor ends the capture and destroys the graph.
class Capture {
 public:
  [[nodiscard]] Capture(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {
    TUNEDGEMM_CHECK(driver_, cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
                    "a timing graph");
  }
  ~Capture() {
    end();
    if (graph_ != nullptr) {
      driver_.cuGraphDestroy(graph_);
    }
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Ends the capture. This object still owns the graph.
  CUgraph take() {
    const CUresult result = end();
    if (result != CUDA_SUCCESS) {
      throw_device_error(driver_, result, "cuStreamEndCapture", "a timing graph");
    }
    return graph_;
  }

 private:
  CUresult end() {
    if (ended_) {
      return CUDA_SUCCESS;
    }
    ended_ = true;
    return driver_.cuStreamEndCapture(stream_, &graph_);
  }

  const Driver& driver_;
  CUstream stream_;
  CUgraph graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

TimingGraph::TimingGraph(const PrimaryContext& context, const TimedLaunch& timed, int launches,
                         const InterposedKernel* interposed)
    : context_(context), launches_(launches), start_(context), stop_(context), end_(context) {
  const Active active(context_);
  const Driver& driver = context_.driver();
  // Capture on a new stream, because other threads may use the existing streams meanwhile.
  const Stream captured(context_);
  const CUstream stream = captured.handle();
  const std::vector<Arguments>& rotation = timed.rotation;
  Capture capture(driver, stream);
  const auto add = [&](const Arguments& arguments) {
    const CUresult result = timed.kernel->run(timed.launch, arguments, stream);
    if (result != CUDA_SUCCESS) {
      throw_device_error(driver, result, "a launch",
                         std::to_string(timed.launch.grid[0]) + " CTAs of " +
                             std::to_string(timed.launch.block[0]) + " threads");
    }
  };
  add(rotation.back());
  start_.record_in_graph(stream);
  for (int section = 0; interposed != nullptr && section < kSections; ++section) {
    for (int index = 0; index < kLaunchesOfSection; ++index) {
      interposed->launch(stream);
    }
    sections_.push_back(std::make_unique<Event>(context_));
    sections_.back()->record_in_graph(stream);
  }
  for (int index = 0; index < launches; ++index) {
    if (interposed != nullptr) {
      interposed->launch(stream);
    }
    add(rotation[static_cast<std::size_t>(index) % rotation.size()]);
  }
  stop_.record_in_graph(stream);
  TUNEDGEMM_CHECK(driver, cuGraphInstantiate(&executable_, capture.take(), 0),
                  "a graph of " + std::to_string(launches) + " launches");
}

TimingGraph::~TimingGraph() {
  if (context_.gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuGraphExecDestroy(executable_);
}

std::optional<double> TimingGraph::run(CUstream stream, double limit_seconds) {
  const Active active(context_);
  // Otherwise the first launch would upload node by node while the kernels run, and take up to a
  // microsecond a kernel longer.
  if (!std::exchange(is_uploaded_, true)) {
    TUNEDGEMM_CHECK(context_.driver(), cuGraphUpload(executable_, stream), "a timing graph");
  }
  TUNEDGEMM_CHECK(context_.driver(), cuGraphLaunch(executable_, stream),
                  "a graph of " + std::to_string(launches_) + " launches");
  end_.record(stream);
  if (!end_.wait(limit_seconds)) {
    return std::nullopt;
  }
  const Event& begin = sections_.empty() ? start_ : *sections_.back();
  return seconds_between(context_, begin, stop_) - launches_ * seconds_of_interposed();
}

double TimingGraph::seconds_of_interposed() const {
  std::vector<double> seconds;
  const Event* begin = &start_;
  for (const std::unique_ptr<Event>& end : sections_) {
    seconds.push_back(seconds_between(context_, *begin, *end) / kLaunchesOfSection);
    begin = end.get();
  }
  return seconds.empty() ? 0 : median(std::move(seconds));
}

}  // namespace tunedgemm::internal::cuda
