#include "runtime/cuda/stream_capture.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {
namespace {

// Search at most this many nodes, because each node costs calls of the driver.
constexpr std::size_t kMostNodesVisited = 4096;

// The older functions fail for graphs with programmatic edges, because these functions would drop
// the edge data.
CUresult capture_info(const Driver& driver, CUstream stream, CUstreamCaptureStatus& status,
                      unsigned long long& id, CUgraph& graph, const CUgraphNode*& nodes,
                      std::size_t& count) {
  if (driver.cuStreamGetCaptureInfo_v3 == nullptr) {
    return driver.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count);
  }
  const CUgraphEdgeData* edges = nullptr;
  return driver.cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &nodes, &edges, &count);
}

CUresult dependencies_of(const Driver& driver, CUgraphNode node, CUgraphNode* nodes,
                         CUgraphEdgeData* edges, std::size_t& count) {
  return driver.cuGraphNodeGetDependencies_v2 == nullptr
             ? driver.cuGraphNodeGetDependencies(node, nodes, &count)
             : driver.cuGraphNodeGetDependencies_v2(node, nodes, edges, &count);
}

std::vector<CUgraphNode> dependencies_of(const Driver& driver, CUgraphNode node) {
  std::size_t count = 0;
  CUresult result = dependencies_of(driver, node, nullptr, nullptr, count);
  std::vector<CUgraphNode> nodes(count);
  std::vector<CUgraphEdgeData> edges(count);
  if (result == CUDA_SUCCESS && count > 0) {
    result = dependencies_of(driver, node, nodes.data(), edges.data(), count);
  }
  if (result != CUDA_SUCCESS) {
    throw_device_error(driver, result, "cuGraphNodeGetDependencies", "a node of a captured graph");
  }
  return nodes;
}

}  // namespace

CUgraphNode last_captured_node(const Driver& driver, CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  const CUresult result = capture_info(driver, stream, status, id, graph, nodes, count);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1
             ? nodes[0]
             : nullptr;
}

std::unique_ptr<StreamCapture> CapturedStream::of(const PrimaryContext& context, CUstream stream) {
  const Active active(context);
  auto captured = std::unique_ptr<CapturedStream>(new CapturedStream(context));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long id = 0;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  const CUresult result =
      capture_info(context.driver(), stream, status, id, captured->graph_, nodes, count);
  if (result != CUDA_SUCCESS) {
    throw_device_error(context.driver(), result, "cuStreamGetCaptureInfo", "a stream");
  }
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return nullptr;
  }
  captured->id_ = id;
  captured->dependencies_.assign(nodes, nodes + count);
  return captured;
}

const void* CapturedStream::nearest_before(std::span<const void* const> nodes) const {
  if (nodes.empty()) {
    return nullptr;
  }
  const Active active(context_);
  const std::unordered_set<const void*> sought(nodes.begin(), nodes.end());
  std::unordered_set<CUgraphNode> seen(dependencies_.begin(), dependencies_.end());
  std::vector<CUgraphNode> to_visit = dependencies_;
  for (std::size_t index = 0; index < to_visit.size() && index < kMostNodesVisited; ++index) {
    const CUgraphNode node = to_visit[index];
    if (sought.count(node) > 0) {
      return node;
    }
    for (const CUgraphNode before : dependencies_of(context_.driver(), node)) {
      if (seen.insert(before).second) {
        to_visit.push_back(before);
      }
    }
  }
  return nullptr;
}

const void* CapturedStream::last_node() const {
  return dependencies_.size() == 1 ? dependencies_.front() : nullptr;
}

void CapturedStream::keep(std::shared_ptr<void> object) const {
  const Active active(context_);
  const Driver& driver = context_.driver();
  auto owned = std::make_unique<std::shared_ptr<void>>(std::move(object));
  const auto destroy = [](void* kept) { delete static_cast<std::shared_ptr<void>*>(kept); };
  CUuserObject reference = nullptr;
  TUNEDGEMM_CHECK(
      driver,
      cuUserObjectCreate(&reference, owned.get(), destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      "an object owned by a graph");
  static_cast<void>(owned.release());  // the user object owns it now
  const CUresult result =
      driver.cuGraphRetainUserObject(graph_, reference, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (result != CUDA_SUCCESS) {
    driver.cuUserObjectRelease(reference, 1);
    throw_device_error(driver, result, "cuGraphRetainUserObject", "a graph that is being captured");
  }
}

void TriggeringKernels::add(CUfunction kernel) {
  const std::scoped_lock lock(mutex_);
  kernels_.insert(kernel);
}

void TriggeringKernels::remove(CUfunction kernel) noexcept {
  const std::scoped_lock lock(mutex_);
  kernels_.erase(kernel);
}

bool TriggeringKernels::contains(CUfunction kernel) const {
  const std::scoped_lock lock(mutex_);
  return kernels_.count(kernel) > 0;
}

bool TriggeringKernels::one_was_captured_last(const Driver& driver,
                                              CUstream stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE) [[likely]] {
    return false;
  }
  const CUgraphNode last = last_captured_node(driver, stream);
  CUgraphNodeType type{};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  return last != nullptr && driver.cuGraphNodeGetType(last, &type) == CUDA_SUCCESS &&
         type == CU_GRAPH_NODE_TYPE_KERNEL &&
         driver.cuGraphKernelNodeGetParams(last, &parameters) == CUDA_SUCCESS &&
         contains(parameters.func);
}

}  // namespace tunedgemm::internal::cuda
