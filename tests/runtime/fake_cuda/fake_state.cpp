#include "tests/runtime/fake_cuda/fake_state.h"

#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

namespace tunedgemm::internal::fake_cuda {
namespace {

using namespace tunedgemm::internal::cuda;

constexpr CUresult kIllegalAddress = 700, kStreamCaptureUnsupported = 900;
constexpr std::size_t kRedZone = 256;
constexpr int kRedByte = 0x5a, kNewByte = 0xa5;
constexpr auto kGlobal = static_cast<CUstreamCaptureMode>(0);

// Whether the function still works if the device is lost.
bool needs_no_context(std::string_view function) {
  static const std::set<std::string_view> all{"cuInit",
                                              "cuDriverGetVersion",
                                              "cuDeviceGetCount",
                                              "cuDeviceGet",
                                              "cuDeviceGetName",
                                              "cuDeviceGetPCIBusId",
                                              "cuDeviceGetUuid",
                                              "cuDeviceTotalMem",
                                              "cuDeviceGetAttribute",
                                              "cuCtxGetCurrent",
                                              "cuCtxGetDevice",
                                              "cuCtxPushCurrent",
                                              "cuCtxPopCurrent",
                                              "cuThreadExchangeStreamCaptureMode",
                                              "cuDevicePrimaryCtxRetain"};
  return all.count(function) > 0 || function.substr(0, 5) == "nvrtc";
}

State& the_state() {
  static auto* const state = [] {
    auto* created = new State;  // never freed: a process may call the driver until it exits
    for (int device = 0; device < kDevices; ++device) {
      const auto index = static_cast<std::size_t>(device);
      created->contexts[index].device = device;
      created->default_streams[index].context = &created->contexts[index];
      created->default_streams[index].id = ++created->last_id;
    }
    return created;
  }();
  return *state;
}

// The driver's per-thread state.
struct ThreadState {
  std::vector<CUcontext> contexts;
  CUstreamCaptureMode mode = kGlobal;
  std::array<CUstream_st, kDevices> streams;
  std::uint64_t number = 0;
  bool destroys_user_objects = false;
};
thread_local ThreadState this_thread;

// Precondition: the state is locked.
std::uint64_t number_of_this_thread(State& state) {
  if (this_thread.number == 0) {
    this_thread.number = ++state.last_id;
  }
  return this_thread.number;
}

bool comes_before(const CUgraphNode_st* first, const CUgraphNode_st* second) {
  std::vector<const CUgraphNode_st*> to_visit{second};
  std::set<const CUgraphNode_st*> seen;
  while (!to_visit.empty()) {
    const CUgraphNode_st* const node = to_visit.back();
    to_visit.pop_back();
    if (node == first) {
      return true;
    }
    for (const CUgraphNode_st* before : node->before) {
      if (seen.insert(before).second) {
        to_visit.push_back(before);
      }
    }
  }
  return false;
}

bool share_a_workspace(const CUgraphNode_st& left, const CUgraphNode_st& right) {
  return left.type == CU_GRAPH_NODE_TYPE_KERNEL && right.type == CU_GRAPH_NODE_TYPE_KERNEL &&
         left.image->is_product() && right.image->is_product() &&
         left.launch.arguments.workspace != nullptr &&
         left.launch.arguments.workspace == right.launch.arguments.workspace;
}

// The time follows from the kernel's entry and macros, so the same kernel is the fastest in every
// run.
double duration_us(const Image& image) {
  std::size_t hash = std::hash<std::string>()(image.entry);
  for (const auto& [define, value] : image.defines) {
    hash = hash * 31 + std::hash<std::string>()(value);
  }
  return 10 + static_cast<double>(hash % 64) / 8;
}

}  // namespace

Call::Call(const char* function) : function_(function), state_(the_state()), lock_(state_.mutex) {
  if (this_thread.destroys_user_objects) {
    complain("is called by the destructor of a user object");
  }
  const int count = ++state_.calls[function];
  if (state_.lost != 0 && !needs_no_context(function)) {
    result_ = state_.lost;
  }
  const bool fails_again =
      state_.has_failed && state_.failure_lasts == Lasts::kAlways && count > state_.fails_at;
  if (state_.fails == function &&
      (fails_again || (!state_.has_failed && state_.fails_at == count))) {
    state_.has_failed = true;
    result_ = state_.failure;
    if (state_.failure_lasts == Lasts::kDeviceIsLost) {
      state_.lost = state_.failure;
    }
  }
}

Call::~Call() {
  lock_.unlock();
  if (!doomed_.empty()) {
    std::thread([this] {
      this_thread.destroys_user_objects = true;
      for (const CUuserObject_st& object : doomed_) {
        object.destroy(object.pointer);
      }
    }).join();
  }
}

void Call::complain(const std::string& what) const {
  state_.complaints.push_back(std::string(function_) + " " + what);
}

CUcontext Call::current() const {
  return this_thread.contexts.empty() ? nullptr : this_thread.contexts.back();
}

std::vector<CUcontext>& Call::context_stack() const {
  return this_thread.contexts;
}

CUstreamCaptureMode& Call::capture_mode() const {
  return this_thread.mode;
}

void Call::need_context() {
  if (!failed() && (current() == nullptr || current()->references == 0)) {
    result_ = CUDA_ERROR_INVALID_CONTEXT;
  }
}

CUstream_st* Call::stream(CUstream handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number > 2) {  // a handle, not CU_STREAM_LEGACY or CU_STREAM_PER_THREAD
    if (!state_.streams.has(handle) && !failed()) {
      result_ = CUDA_ERROR_INVALID_HANDLE;
    }
    return state_.streams.has(handle) ? handle : nullptr;
  }
  need_context();
  if (failed()) {
    return nullptr;
  }
  const auto device = static_cast<std::size_t>(current()->device);
  if (number < 2) {
    return &state_.default_streams[device];
  }
  CUstream_st& own = this_thread.streams[device];
  if (own.context == nullptr) {
    own.context = current();
    own.id = ++state_.last_id;
  }
  return &own;
}

void Call::must_not_be_captured() {
  const std::uint64_t self = number_of_this_thread(state_);
  for (const auto& capture : state_.captures) {
    const bool is_own = capture->thread == self && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool is_forbidden = (this_thread.mode == kGlobal && capture->mode == kGlobal) ||
                              (this_thread.mode != CU_STREAM_CAPTURE_MODE_RELAXED && is_own);
    if (is_forbidden && !failed()) {
      invalidate(*capture);
      result_ = kStreamCaptureUnsupported;
    }
  }
}

void Call::wait_for_all(const char* what) const {
  if (state_.hangs) {
    complain(std::string(what) + " and waits for a kernel that never ends");
  }
}

CUdeviceptr Call::allocate(std::size_t bytes) const {
  const std::size_t rounded = (bytes + kRedZone - 1) / kRedZone * kRedZone;
  auto* const base = static_cast<char*>(std::aligned_alloc(kRedZone, rounded + 2 * kRedZone));
  std::memset(base, kRedByte, rounded + 2 * kRedZone);
  std::memset(base + kRedZone, kNewByte, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(base + kRedZone);
  state_.memory[address] = {current(), bytes, base};
  return address;
}

bool Call::free(CUdeviceptr address) const {
  const auto found = state_.memory.find(address);
  if (found == state_.memory.end()) {
    return false;
  }
  const Allocation& memory = found->second;
  const auto* const begin = static_cast<const unsigned char*>(memory.base);
  const unsigned char* const end = begin + kRedZone + memory.bytes;
  const auto is_red = [](unsigned char byte) { return byte == kRedByte; };
  if (!std::all_of(begin, begin + kRedZone, is_red) || !std::all_of(end, end + kRedZone, is_red)) {
    complain("finds the red zone of an allocation of " + std::to_string(memory.bytes) +
             " bytes overwritten");
  }
  std::free(memory.base);
  state_.memory.erase(found);
  return true;
}

std::size_t Call::free_bytes() const {
  std::size_t used = 0;
  for (const auto& [address, memory] : state_.memory) {
    used += memory.context == current() ? memory.bytes : 0;
  }
  return used < state_.memory_bytes ? state_.memory_bytes - used : 0;
}

const Allocation* Call::allocation_at(const void* pointer, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto after = state_.memory.upper_bound(address);
  if (after == state_.memory.begin()) {
    return nullptr;
  }
  const auto& [begin, memory] = *std::prev(after);
  return address - begin <= memory.bytes && bytes <= memory.bytes - (address - begin) ? &memory
                                                                                      : nullptr;
}

CUresult Call::work(const CUgraphNode_st& node, CUstream_st& stream) {
  if (node.type == CU_GRAPH_NODE_TYPE_KERNEL && std::exchange(state_.next_launch_hangs, false)) {
    stream.hangs = state_.hangs = true;
  }
  if (node.type == kEventRecordNode) {
    node.event->at_us = stream.now_us;
    node.event->hangs = stream.hangs;
    node.event->capture = nullptr;
    return CUDA_SUCCESS;
  }
  if (stream.hangs) {
    return CUDA_SUCCESS;
  }
  if (node.type == kMemsetNode) {
    if (!is_allocated(node.set.destination, node.set.bytes)) {
      complain("sets memory that is not allocated");
      return state_.lost = kIllegalAddress;
    }
    std::memset(node.set.destination, node.set.value, node.set.bytes);
    return CUDA_SUCCESS;
  }
  for (const Touched& touched : touched_by(*node.image, node.launch)) {
    const Allocation* const memory =
        allocation_at(touched.pointer, static_cast<std::size_t>(touched.bytes));
    if (memory == nullptr || memory->context != stream.context) {
      complain(node.image->entry + " touches " + touched.name + ", which is not allocated");
      return state_.lost = kIllegalAddress;
    }
  }
  stream.now_us += duration_us(*node.image);
  lock_.unlock();  // kernels of different streams run concurrently
  const std::string wrong = compute(*node.image, node.launch);
  lock_.lock();
  if (!wrong.empty()) {
    complain(wrong);
  }
  return CUDA_SUCCESS;
}

void Call::begin_capture(CUstream_st& stream, CUstreamCaptureMode mode) const {
  stream.capture = std::make_shared<Capture>();
  stream.capture->id = ++state_.last_id;
  stream.capture->mode = mode;
  stream.capture->thread = number_of_this_thread(state_);
  stream.last.clear();
  state_.captures.push_back(stream.capture);
}

Graph Call::end_capture(CUstream_st& stream) const {
  const std::shared_ptr<Capture> capture = stream.capture;
  std::erase(state_.captures, capture);
  forget(stream);
  // Existing streams that joined the capture are no longer captured either.
  state_.streams.for_each([&](CUstream_st& other) {
    if (other.capture == capture) {
      forget(other);
    }
  });
  const auto& nodes = capture->graph.nodes;
  for (const auto& left : nodes) {
    for (const auto& right : nodes) {
      if (left < right && share_a_workspace(*left, *right) &&
          !comes_before(left.get(), right.get()) && !comes_before(right.get(), left.get())) {
        complain("finds one workspace in two launches that may run at the same time");
      }
    }
  }
  return capture->graph;
}

void Call::invalidate(Capture& capture) const {
  capture.is_valid = false;
  complain("invalidates a capture");
}

void Call::forget(CUstream_st& stream) const {
  stream.capture = nullptr;
  stream.last.clear();
}

Graph Call::copy_of(const Graph& graph) const {
  for (const auto& [object, count] : graph.kept) {
    object->references += count;
  }
  return graph;
}

void Call::release(const Graph& graph) {
  for (const auto& [object, count] : graph.kept) {
    release(object, count);
  }
}

void Call::release(CUuserObject object, unsigned count) {
  object->references -= count;
  if (object->references == 0) {
    doomed_.push_back(*object);
    state_.user_objects.remove(object);
  }
}

void Call::end(CUctx_st& context) const {
  const auto is_of_context = [&](const auto& object) { return object.context == &context; };
  const int objects = state_.streams.count(is_of_context) + state_.events.count(is_of_context) +
                      state_.modules.count(is_of_context);
  const auto blocks = std::count_if(state_.memory.begin(), state_.memory.end(),
                                    [&](const auto& at) { return is_of_context(at.second); });
  if (objects > 0 || blocks > 0) {
    complain("ends a context with " + std::to_string(blocks) + " blocks of memory and " +
             std::to_string(objects) + " streams, events and modules");
  }
}

namespace {

class TheControl final : public Control {
 public:
  void reset() override {
    const std::scoped_lock lock(state_.mutex);
    for (const auto& [address, memory] : state_.memory) {
      std::free(memory.base);
    }
    state_.memory.clear();
    state_.streams.clear();
    state_.events.clear();
    state_.modules.clear();
    state_.graphs.clear();
    state_.executables.clear();
    state_.user_objects.clear();
    state_.captures.clear();
    for (std::size_t device = 0; device < kDevices; ++device) {
      state_.contexts[device].references = 0;
      state_.default_streams[device].hangs = false;
    }
    state_.calls.clear();
    state_.complaints.clear();
    state_.products.clear();
    state_.fails.clear();
    state_.has_failed = state_.hangs = state_.next_launch_hangs = false;
    state_.lost = CUDA_SUCCESS;
    state_.memory_bytes = State().memory_bytes;
    state_.device_name = State().device_name;
    this_thread.contexts.clear();
    this_thread.mode = kGlobal;
  }
  void fail(const std::string& function, int nth, CUresult error, Lasts lasts) override {
    const std::scoped_lock lock(state_.mutex);
    state_.fails = function;
    state_.fails_at = state_.calls[function] + nth;
    state_.failure = error;
    state_.failure_lasts = lasts;
    state_.has_failed = false;
  }
  bool has_failed() const override {
    const std::scoped_lock lock(state_.mutex);
    return state_.has_failed;
  }
  std::map<std::string, int> calls() const override {
    const std::scoped_lock lock(state_.mutex);
    return state_.calls;
  }
  void name_devices(const std::string& name) override {
    const std::scoped_lock lock(state_.mutex);
    state_.device_name = name;
  }
  void limit_memory(std::size_t bytes) override {
    const std::scoped_lock lock(state_.mutex);
    state_.memory_bytes = bytes;
  }
  void hang_next_launch() override {
    const std::scoped_lock lock(state_.mutex);
    state_.next_launch_hangs = true;
  }
  void hang_next_compilation() override {
    const std::scoped_lock lock(state_.mutex);
    state_.compilations_hang = true;
  }
  void release_compilations() override {
    const std::scoped_lock lock(state_.mutex);
    state_.compilations_hang = false;
    state_.compilations_released.notify_all();
  }
  void wait_while_compilations_hang() override {
    std::unique_lock lock(state_.mutex);
    state_.compilations_released.wait(lock, [this] { return !state_.compilations_hang; });
  }
  std::vector<std::string> complaints() const override {
    const std::scoped_lock lock(state_.mutex);
    return state_.complaints;
  }
  std::string left() const override {
    const std::scoped_lock lock(state_.mutex);
    std::string text;
    const auto add = [&](auto count, const char* what) {
      if (count > 0) {
        text += std::to_string(count) + " " + what + " ";
      }
    };
    const auto all = [](const auto&) { return true; };
    add(state_.memory.size(), "allocations");
    add(state_.streams.count(all), "streams");
    add(state_.events.count(all), "events");
    add(state_.modules.count(all), "modules");
    add(state_.graphs.count(all), "graphs");
    add(state_.executables.count(all), "executable graphs");
    add(state_.user_objects.count(all), "user objects");
    add(state_.contexts[0].references + state_.contexts[1].references, "references to contexts");
    add(this_thread.contexts.size(), "contexts pushed by this thread");
    return text;
  }
  std::vector<Product> products() const override {
    const std::scoped_lock lock(state_.mutex);
    return state_.products;
  }
  CUresult clone(CUgraph* clone, CUgraph graph) override {
    const Call call("cuGraphClone");
    *clone = state_.graphs.add();
    static_cast<Graph&>(**clone) = call.copy_of(*graph);
    return call.result();
  }
  CUresult enter(const char* function) override { return Call(function).result(); }

 private:
  State& state_ = the_state();
};

}  // namespace

Control& fake_control() {
  static TheControl control;
  return control;
}

}  // namespace tunedgemm::internal::fake_cuda
