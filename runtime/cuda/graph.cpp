#include "runtime/cuda/graph.h"

#include <string>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/stream.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal::cuda {
namespace {

// Launches of the other kernel alone, in sections of which the median counts: what disturbs one must
// not make the kernel that is timed look faster. Each is so long that the resolution of events does
// not show in the time of one launch.
constexpr int kSections = 5, kOthersOfSection = 20;

// The capture of a stream into a graph, ended and thrown away unless `take` was called.
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

  /// The graph, which this object destroys.
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
                         const OtherKernel* other)
    : context_(context), launches_(launches), start_(context), stop_(context), end_(context) {
  const Active active(context_);
  const Driver& driver = context_.driver();
  // Other threads may use the streams that they know meanwhile; that must not be captured.
  const Stream captured(context_);
  const CUstream stream = captured.handle();
  const std::vector<Arguments>& rotation = timed.rotation;
  Capture capture(driver, stream);
  const auto add = [&](const Arguments& arguments) {
    const CUresult result = timed.kernel->run(timed.launch, arguments, stream);
    if (result != CUDA_SUCCESS) {
      throw_device_error(driver, result, "a launch",
                         std::to_string(timed.launch.grid[0]) + " blocks of " +
                             std::to_string(timed.launch.block[0]) + " threads");
    }
  };
  add(rotation.back());
  start_.record_in_graph(stream);
  for (int section = 0; other != nullptr && section < kSections; ++section) {
    for (int index = 0; index < kOthersOfSection; ++index) {
      other->launch(stream);
    }
    sections_.push_back(std::make_unique<Event>(context_));
    sections_.back()->record_in_graph(stream);
  }
  for (int index = 0; index < launches; ++index) {
    if (other != nullptr) {
      other->launch(stream);
    }
    add(rotation[static_cast<std::size_t>(index) % rotation.size()]);
  }
  stop_.record_in_graph(stream);
  TUNEDGEMM_CHECK(driver, cuGraphInstantiate(&executable_, capture.take(), 0),
                  "a graph of " + std::to_string(launches) + " launches");
}

TimingGraph::~TimingGraph() {
  if (context_.driver().gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuGraphExecDestroy(executable_);
}

std::optional<double> TimingGraph::run(CUstream stream, double limit_seconds) {
  const Active active(context_);
  TUNEDGEMM_CHECK(context_.driver(), cuGraphLaunch(executable_, stream),
                  "a graph of " + std::to_string(launches_) + " launches");
  end_.record(stream);
  if (!end_.wait(limit_seconds)) {
    return std::nullopt;
  }
  const Event& begin = sections_.empty() ? start_ : *sections_.back();
  return seconds_between(context_, begin, stop_) - launches_ * seconds_of_other();
}

double TimingGraph::seconds_of_other() const {
  std::vector<double> seconds;
  const Event* begin = &start_;
  for (const std::unique_ptr<Event>& end : sections_) {
    seconds.push_back(seconds_between(context_, *begin, *end) / kOthersOfSection);
    begin = end.get();
  }
  return seconds.empty() ? 0 : median(std::move(seconds));
}

}  // namespace tunedgemm::internal::cuda
