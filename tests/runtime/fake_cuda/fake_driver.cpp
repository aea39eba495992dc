// The CUDA driver functions that this library and its tests use, on the state of fake_state.h. The
// fake is stricter than most drivers: calls that need a context fail without one, and handles are
// reused at once.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "tests/runtime/fake_cuda/fake_state.h"

// These names are from the manual.
// NOLINTBEGIN(readability-identifier-naming)
#pragma GCC visibility push(default)

using namespace tunedgemm::internal::cuda;
using namespace tunedgemm::internal::fake_cuda;

namespace {

// The manual's numbers that the library does not define.
constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
                   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
                   CUDA_ERROR_INVALID_CLUSTER_SIZE = 912;
constexpr int kSharedBytes = 227 * 1024;
constexpr unsigned kLargestCluster = 4;  // lets "sm_probe" distinguish two GPCs of four SMs
constexpr int kMultiprocessors = 8;

CUresult wrong_handle(Call& call, const char* what) {
  call.complain(std::string("is given ") + what + " that does not exist");
  return CUDA_ERROR_INVALID_HANDLE;
}

/// Adds a node to the stream's capture, or does the work now.
CUresult enqueue(Call& call, CUstream_st& stream, const std::shared_ptr<CUgraphNode_st>& node) {
  if (stream.capture != nullptr) {
    if (!stream.capture->is_valid) {
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    node->before = stream.last;
    stream.capture->graph.nodes.push_back(node);
    stream.last = {node.get()};
    return CUDA_SUCCESS;
  }
  return call.work(*node, stream);
}

CUresult copy(const char* function, void* destination, const void* source, std::size_t bytes,
              CUstream handle) {
  Call call(function);
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  const bool to_device = std::strcmp(function, "cuMemcpyHtoDAsync") == 0;
  const void* const on_device = to_device ? destination : source;
  if (!call.is_allocated(on_device, bytes)) {
    call.complain("copies memory that is not allocated");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->hangs) {
    return CUDA_SUCCESS;
  }
  std::memcpy(destination, source, bytes);
  return CUDA_SUCCESS;
}

CUresult record(const char* function, CUevent event, CUstream handle, bool as_node) {
  Call call(function);
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  if (!call.state().events.has(event)) {
    return wrong_handle(call, "an event");
  }
  if (stream->capture != nullptr && !as_node) {
    event->capture = stream->capture;
    event->last = stream->last;
    return CUDA_SUCCESS;
  }
  auto node = std::make_shared<CUgraphNode_st>();
  node->type = kEventRecordNode;
  node->event = event;
  return enqueue(call, *stream, node);
}

}  // namespace

extern "C" {

// --- The driver, and its devices -----------------------------------------------------------------

CUresult cuInit(unsigned) {
  return Call("cuInit").result();
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return Call("cuDriverGetVersion").result();
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the test wants it";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  const Call call("cuDeviceGetCount");
  if (!call.failed()) {
    *count = kDevices;
  }
  return call.result();
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return Call("cuDeviceGet").result();
}
CUresult cuDeviceGetName(char* text, int size, CUdevice) {
  const Call call("cuDeviceGetName");
  std::snprintf(text, static_cast<std::size_t>(size), "%s", call.state().device_name.c_str());
  return call.result();
}
CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
  std::snprintf(text, static_cast<std::size_t>(size), "FFFF:FF:%02X.0", 0xf0 + device);
  return Call("cuDeviceGetPCIBusId").result();
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  *uuid = {};
  uuid->bytes[0] = static_cast<char>(1 + device);
  return Call("cuDeviceGetUuid").result();
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  const Call call("cuDeviceTotalMem");
  *bytes = call.state().memory_bytes;
  return call.result();
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  static const std::map<int, int> values{
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'500'000},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, kMultiprocessors},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2'000'000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 512},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 64 * 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, kSharedBytes + 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kSharedBytes},
  };
  *value = values.at(attribute);
  return Call("cuDeviceGetAttribute").result();
}

// --- Contexts ------------------------------------------------------------------------------------

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (!call.failed()) {
    *context = &call.state().contexts[static_cast<std::size_t>(device)];
    ++(*context)->references;
  }
  return call.result();
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Call call("cuDevicePrimaryCtxRelease");
  CUctx_st& context = call.state().contexts[static_cast<std::size_t>(device)];
  if (context.references == 0) {
    return wrong_handle(call, "a context");
  }
  if (--context.references == 0) {
    call.wait_for_all("ends a context");
    call.end(context);
  }
  return call.result();
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  const Call call("cuCtxGetCurrent");
  *context = call.current();
  return call.result();
}
CUresult cuCtxGetDevice(CUdevice* device) {
  const Call call("cuCtxGetDevice");
  if (call.failed()) {
    return call.result();
  }
  if (call.current() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *device = call.current()->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  Call call("cuCtxPushCurrent");
  if (!call.failed()) {
    call.context_stack().push_back(context);
  }
  return call.result();
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  Call call("cuCtxPopCurrent");
  if (call.current() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = call.current();
  call.context_stack().pop_back();
  return call.result();
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  Call call("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, call.capture_mode());
  return call.result();
}

// --- Modules and launches ------------------------------------------------------------------------

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  Call call("cuModuleLoadData");
  call.need_context();
  call.must_not_be_captured();
  if (call.failed()) {
    return call.result();
  }
  Image read = read_image(static_cast<const char*>(image));
  if (read.entry.empty()) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (!read.architecture.empty() && read.architecture.compare(0, 2, "90") != 0) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *module = call.state().modules.add();
  (*module)->context = call.current();
  (*module)->function.module = *module;
  (*module)->image = std::make_shared<const Image>(std::move(read));
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  Call call("cuModuleUnload");
  call.must_not_be_captured();
  call.wait_for_all("unloads a module");
  return call.state().modules.remove(module) ? call.result() : wrong_handle(call, "a module");
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const Call call("cuModuleGetFunction");
  if (call.failed()) {
    return call.result();
  }
  *function = &module->function;
  return module->image->entry == name ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  const Call call("cuFuncSetAttribute");
  const bool too_much =
      attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > kSharedBytes;
  return call.failed() ? call.result() : too_much ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void**) {
  Call call("cuLaunchKernelEx");
  CUstream_st* const stream = call.stream(config->hStream);
  if (call.failed()) {
    return call.result();
  }
  if (!call.state().modules.has(function->module)) {
    return wrong_handle(call, "a function");
  }
  if (function->module->context != stream->context || call.current() != stream->context) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  auto node = std::make_shared<CUgraphNode_st>();
  node->type = CU_GRAPH_NODE_TYPE_KERNEL;
  node->function = function;
  node->image = function->module->image;
  LaunchArguments& launch = node->launch;
  launch.blocks = config->gridDimX * config->gridDimY * config->gridDimZ;
  launch.threads = config->blockDimX * config->blockDimY * config->blockDimZ;
  for (unsigned index = 0; index < config->numAttrs; ++index) {
    const CUlaunchAttribute& attribute = config->attrs[index];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      launch.cluster = attribute.value.clusterDim.x;
    }
  }
  if (launch.cluster > kLargestCluster) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  if (launch.blocks == 0 || launch.threads == 0 || launch.threads > 1024 ||
      config->sharedMemBytes > kSharedBytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (node->image->is_ptx()) {
    std::memcpy(&launch.pointer, parameters[0], sizeof launch.pointer);
  } else {
    std::memcpy(&launch.arguments, parameters[0], sizeof launch.arguments);
  }
  const CUresult result = enqueue(call, *stream, node);
  if (result == CUDA_SUCCESS && node->image->is_product()) {
    call.state().products.push_back({launch.arguments.workspace, stream->id});
  }
  return result;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, unsigned, void*,
                                const unsigned long long*, const unsigned long long*,
                                const unsigned*, const unsigned*, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  return CUDA_ERROR_INVALID_VALUE;  // the fake's f32 kernels use no tensor map
}

// --- Memory --------------------------------------------------------------------------------------

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  Call call("cuMemAlloc");
  call.need_context();
  call.must_not_be_captured();
  if (call.failed()) {
    return call.result();
  }
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes > call.free_bytes()) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *address = call.allocate(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  Call call("cuMemFree");
  call.must_not_be_captured();
  call.wait_for_all("frees memory");
  return call.free(address) ? call.result() : wrong_handle(call, "an address");
}
CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  Call call("cuMemGetInfo");
  call.need_context();
  if (!call.failed()) {
    *free = call.free_bytes();
    *total = call.state().memory_bytes;
  }
  return call.result();
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, std::size_t bytes,
                              CUstream stream) {
  return copy("cuMemcpyHtoDAsync", std::bit_cast<void*>(destination), source, bytes, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, std::size_t bytes,
                              CUstream stream) {
  return copy("cuMemcpyDtoHAsync", destination, std::bit_cast<const void*>(source), bytes, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, std::size_t bytes,
                         CUstream handle) {
  Call call("cuMemsetD8Async");
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  auto node = std::make_shared<CUgraphNode_st>();
  node->type = kMemsetNode;
  node->set = {std::bit_cast<void*>(destination), value, bytes};
  return enqueue(call, *stream, node);
}
CUresult cuPointerGetAttributes(unsigned count, const CUpointer_attribute* attributes,
                                void** values, CUdeviceptr pointer) {
  const Call call("cuPointerGetAttributes");
  if (call.failed()) {
    return call.result();
  }
  const Allocation* const memory = call.allocation_at(std::bit_cast<const void*>(pointer), 1);
  const bool is_reachable = memory != nullptr && memory->context == call.current();
  for (unsigned index = 0; index < count; ++index) {
    switch (attributes[index]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(values[index]) =
            memory != nullptr ? unsigned{CU_MEMORYTYPE_DEVICE} : 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(values[index]) = is_reachable ? pointer : 0;
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned*>(values[index]) = 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(values[index]) = memory != nullptr ? memory->context->device : -2;
        break;
    }
  }
  return CUDA_SUCCESS;
}

// --- Streams and events --------------------------------------------------------------------------

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  Call call("cuStreamCreate");
  call.need_context();
  if (!call.failed()) {
    *stream = call.state().streams.add();
    (*stream)->context = call.current();
    (*stream)->id = ++call.state().last_id;
  }
  return call.result();
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  Call call("cuStreamDestroy");
  if (!call.state().streams.has(stream)) {
    return wrong_handle(call, "a stream");
  }
  call.forget(*stream);
  call.state().streams.remove(stream);
  return call.result();
}
CUresult cuStreamSynchronize(CUstream handle) {
  Call call("cuStreamSynchronize");
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  if (stream->capture != nullptr) {
    call.invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (stream->hangs) {
    call.complain("waits for a kernel that never ends");
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  Call call("cuStreamWaitEvent");
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  if (event->capture != nullptr) {
    stream->capture = event->capture;
    stream->last.insert(stream->last.end(), event->last.begin(), event->last.end());
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  Call call("cuStreamBeginCapture");
  CUstream_st* const stream = call.stream(handle);
  if (!call.failed()) {
    call.begin_capture(*stream, mode);
  }
  return call.result();
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  Call call("cuStreamEndCapture");
  CUstream_st* const stream = call.stream(handle);
  *graph = nullptr;
  if (stream == nullptr || stream->capture == nullptr) {
    return call.failed() ? call.result() : CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_valid = stream->capture->is_valid && !call.failed();
  Graph captured = call.end_capture(*stream);
  if (!is_valid) {
    call.release(captured);
    return call.failed() ? call.result() : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  *graph = call.state().graphs.add();
  static_cast<Graph&>(**graph) = std::move(captured);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  Call call("cuStreamIsCapturing");
  const CUstream_st* const stream = call.stream(handle);
  if (!call.failed()) {
    *status = stream->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                         : CU_STREAM_CAPTURE_STATUS_NONE;
  }
  return call.result();
}
CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  Call call("cuStreamGetId");
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  if (stream->capture != nullptr) {
    call.invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  *id = stream->id;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status,
                                   unsigned long long* id, CUgraph* graph,
                                   const CUgraphNode** nodes, const CUgraphEdgeData** edges,
                                   std::size_t* count) {
  Call call("cuStreamGetCaptureInfo");
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  *edges = nullptr;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream->capture == nullptr) {
    return CUDA_SUCCESS;
  }
  if (!stream->capture->is_valid) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  *id = stream->capture->id;
  *graph = &stream->capture->graph;
  *nodes = stream->last.data();
  *count = stream->last.size();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status,
                                   unsigned long long* id, CUgraph* graph,
                                   const CUgraphNode** nodes, std::size_t* count) {
  const CUgraphEdgeData* edges = nullptr;
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, &edges, count);
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  Call call("cuEventCreate");
  call.need_context();
  if (!call.failed()) {
    *event = call.state().events.add();
    (*event)->context = call.current();
  }
  return call.result();
}
CUresult cuEventDestroy_v2(CUevent event) {
  Call call("cuEventDestroy");
  return call.state().events.remove(event) ? call.result() : wrong_handle(call, "an event");
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return record("cuEventRecord", event, stream, false);
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return record("cuEventRecordWithFlags", event, stream, flags == CU_EVENT_RECORD_EXTERNAL);
}
CUresult cuEventQuery(CUevent event) {
  Call call("cuEventQuery");
  call.must_not_be_captured();
  return call.failed() ? call.result() : event->hangs ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent stop) {
  const Call call("cuEventElapsedTime");
  *ms = static_cast<float>((stop->at_us - start->at_us) * 1e-3);
  return call.failed() ? call.result() : stop->hangs ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

// --- Graphs --------------------------------------------------------------------------------------

CUresult cuGraphDestroy(CUgraph graph) {
  Call call("cuGraphDestroy");
  if (!call.state().graphs.has(graph)) {
    return wrong_handle(call, "a graph");
  }
  call.release(*graph);
  call.state().graphs.remove(graph);
  return call.result();
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  Call call("cuGraphInstantiate");
  if (!call.failed()) {
    *executable = call.state().executables.add();
    static_cast<Graph&>(**executable) = call.copy_of(*graph);
  }
  return call.result();
}
CUresult cuGraphUpload(CUgraphExec executable, CUstream handle) {
  Call call("cuGraphUpload");
  call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  return call.state().executables.has(executable) ? CUDA_SUCCESS
                                                  : wrong_handle(call, "an executable graph");
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  Call call("cuGraphLaunch");
  CUstream_st* const stream = call.stream(handle);
  if (call.failed()) {
    return call.result();
  }
  if (!call.state().executables.has(executable)) {
    return wrong_handle(call, "an executable graph");
  }
  const std::vector<std::shared_ptr<CUgraphNode_st>> nodes = executable->nodes;
  for (const auto& node : nodes) {
    if (const CUresult result = call.work(*node, *stream); result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  Call call("cuGraphExecDestroy");
  if (!call.state().executables.has(executable)) {
    return wrong_handle(call, "an executable graph");
  }
  call.release(*executable);
  call.state().executables.remove(executable);
  return call.result();
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  const Call call("cuGraphNodeGetDependencies");
  if (call.failed()) {
    return call.result();
  }
  if (nodes != nullptr) {
    std::copy_n(node->before.begin(), std::min(*count, node->before.size()), nodes);
  }
  *count = node->before.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData*,
                                       std::size_t* count) {
  return cuGraphNodeGetDependencies(node, nodes, count);
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = node->type;
  return Call("cuGraphNodeGetType").result();
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  *parameters = {};
  parameters->func = node->function;
  return Call("cuGraphKernelNodeGetParams").result();
}
CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, void (*destroy)(void*),
                            unsigned references, unsigned) {
  Call call("cuUserObjectCreate");
  if (!call.failed()) {
    *object = call.state().user_objects.add();
    **object = {pointer, destroy, references};
  }
  return call.result();
}
CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  Call call("cuUserObjectRelease");
  call.release(object, count);
  return call.result();
}
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned) {
  const Call call("cuGraphRetainUserObject");
  if (!call.failed()) {
    graph->kept[object] += count;
  }
  return call.result();
}

Control* tunedgemm_fake_cuda_control() {
  return &fake_control();
}

}  // extern "C"

#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
