#include "runtime/cuda/graph.h"

#include <cstddef>
#include <string>

#include "runtime/cuda/check.h"

namespace tunedgemm::cuda {
namespace {

// A graph under construction: a chain of nodes.
class Chain {
 public:
  explicit Chain(const Driver& driver) : driver_(driver) {
    TUNEDGEMM_CHECK(driver_, cuGraphCreate(&graph_, 0), "a timing graph");
  }
  ~Chain() { driver_.cuGraphDestroy(graph_); }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  CUgraph graph() const { return graph_; }

  void add(CUfunction function, const Launch& launch, const Arguments& arguments) {
    Arguments copy = arguments;
    void* parameters[] = {&copy};
    const auto& [grid_x, grid_y, grid_z] = launch.grid;
    const auto& [block_x, block_y, block_z] = launch.block;
    const CUDA_KERNEL_NODE_PARAMS node{function,   grid_x,  grid_y,  grid_z,
                                       block_x,    block_y, block_z, launch.shared_bytes,
                                       parameters, nullptr, nullptr, nullptr};
    const CUgraphNode before = last_;
    TUNEDGEMM_CHECK(driver_, cuGraphAddKernelNode(&last_, graph_, &before, count(before), &node),
                    "a launch of " + std::to_string(grid_x) + " blocks of " +
                        std::to_string(block_x) + " threads");
  }

  void add(const Event& event) {
    const CUgraphNode before = last_;
    TUNEDGEMM_CHECK(
        driver_, cuGraphAddEventRecordNode(&last_, graph_, &before, count(before), event.handle()),
        "a timing graph");
  }

 private:
  static std::size_t count(CUgraphNode before) { return before == nullptr ? 0 : 1; }

  const Driver& driver_;
  CUgraph graph_ = nullptr;
  CUgraphNode last_ = nullptr;
};

}  // namespace

TimingGraph::TimingGraph(const PrimaryContext& context, CUfunction function, const Launch& launch,
                         const std::vector<Arguments>& rotation, int launches)
    : context_(context), launches_(launches), start_(context), stop_(context), end_(context) {
  const Active active(context_);
  const Driver& driver = context_.driver();
  Chain chain(driver);
  chain.add(function, launch, rotation.back());
  chain.add(start_);
  for (int index = 0; index < launches; ++index) {
    chain.add(function, launch, rotation[static_cast<std::size_t>(index) % rotation.size()]);
  }
  chain.add(stop_);
  TUNEDGEMM_CHECK(driver, cuGraphInstantiate(&executable_, chain.graph(), 0),
                  "a graph of " + std::to_string(launches) + " launches");
}

TimingGraph::~TimingGraph() {
  const Active active(context_);
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
  return seconds_between(context_, start_, stop_);
}

}  // namespace tunedgemm::cuda
