#pragma once

// Driver: the functions of libcuda.so.1, under the names of the manual. The library is opened at
// run time. TUNEDGEMM_CHECK: calls one of these functions, and if the call fails, throws an
// exception that names the call and the object.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/cuda/driver_types.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// The required functions, with their symbols in the driver. A suffix such as _v2 selects a version
/// of a function; the toolkit's header hides these suffixes behind macros.
#define TUNEDGEMM_DRIVER_FUNCTIONS(X)                                                              \
  X(cuInit, "cuInit", (unsigned flags))                                                            \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int* version))                                      \
  X(cuGetErrorName, "cuGetErrorName", (CUresult error, const char** text))                         \
  X(cuGetErrorString, "cuGetErrorString", (CUresult error, const char** text))                     \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int* count))                                            \
  X(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                                  \
  X(cuDeviceGetName, "cuDeviceGetName", (char* text, int size, CUdevice device))                   \
  X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char* text, int size, CUdevice device))           \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2", (CUuuid * uuid, CUdevice device))                       \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t * bytes, CUdevice device))               \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute",                                                  \
    (int* value, CUdevice_attribute attribute, CUdevice device))                                   \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))  \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))                  \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext * context))                                     \
  X(cuCtxGetDevice, "cuCtxGetDevice", (CUdevice * device))                                         \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext context))                                  \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext * context))                                  \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode",                        \
    (CUstreamCaptureMode * mode))                                                                  \
  X(cuModuleLoadData, "cuModuleLoadData", (CUmodule * module, const void* image))                  \
  X(cuModuleUnload, "cuModuleUnload", (CUmodule module))                                           \
  X(cuModuleGetFunction, "cuModuleGetFunction",                                                    \
    (CUfunction * function, CUmodule module, const char* name))                                    \
  X(cuFuncSetAttribute, "cuFuncSetAttribute",                                                      \
    (CUfunction function, CUfunction_attribute attribute, int value))                              \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                          \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))          \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                              \
    (CUtensorMap * map, CUtensorMapDataType type, unsigned rank, void* address,                    \
     const unsigned long long* extents, const unsigned long long* strides, const unsigned* box,    \
     const unsigned* element_strides, CUtensorMapInterleave interleave,                            \
     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))  \
  X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * address, std::size_t bytes))                       \
  X(cuMemFree, "cuMemFree_v2", (CUdeviceptr address))                                              \
  X(cuMemGetInfo, "cuMemGetInfo_v2", (std::size_t * free, std::size_t * total))                    \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                     \
    (CUdeviceptr destination, const void* source, std::size_t bytes, CUstream stream))             \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                     \
    (void* destination, CUdeviceptr source, std::size_t bytes, CUstream stream))                   \
  X(cuMemsetD8Async, "cuMemsetD8Async",                                                            \
    (CUdeviceptr destination, unsigned char value, std::size_t bytes, CUstream stream))            \
  X(cuPointerGetAttributes, "cuPointerGetAttributes",                                              \
    (unsigned count, const CUpointer_attribute* attributes, void** values, CUdeviceptr pointer))   \
  X(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                         \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                      \
  X(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                 \
  X(cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream stream, CUevent event, unsigned flags))      \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream stream, CUstreamCaptureMode mode))  \
  X(cuStreamEndCapture, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))                  \
  X(cuStreamIsCapturing, "cuStreamIsCapturing", (CUstream stream, CUstreamCaptureStatus * status)) \
  X(cuStreamGetId, "cuStreamGetId", (CUstream stream, unsigned long long* id))                     \
  X(cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo_v2",                                        \
    (CUstream stream, CUstreamCaptureStatus * status, unsigned long long* id, CUgraph* graph,      \
     const CUgraphNode** dependencies, std::size_t* count))                                        \
  X(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                             \
  X(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))                                          \
  X(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))                              \
  X(cuEventRecordWithFlags, "cuEventRecordWithFlags",                                              \
    (CUevent event, CUstream stream, unsigned flags))                                              \
  X(cuEventQuery, "cuEventQuery", (CUevent event))                                                 \
  X(cuEventElapsedTime, "cuEventElapsedTime", (float* ms, CUevent start, CUevent stop))            \
  X(cuGraphDestroy, "cuGraphDestroy", (CUgraph graph))                                             \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                             \
    (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                           \
  X(cuGraphUpload, "cuGraphUpload", (CUgraphExec executable, CUstream stream))                     \
  X(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec executable, CUstream stream))                     \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec executable))                            \
  X(cuGraphNodeGetDependencies, "cuGraphNodeGetDependencies",                                      \
    (CUgraphNode node, CUgraphNode * dependencies, std::size_t * count))                           \
  X(cuGraphNodeGetType, "cuGraphNodeGetType", (CUgraphNode node, CUgraphNodeType * type))          \
  X(cuGraphKernelNodeGetParams, "cuGraphKernelNodeGetParams_v2",                                   \
    (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS * parameters))                                      \
  X(cuUserObjectCreate, "cuUserObjectCreate",                                                      \
    (CUuserObject * object, void* pointer, void (*destroy)(void*), unsigned references,            \
     unsigned flags))                                                                              \
  X(cuUserObjectRelease, "cuUserObjectRelease", (CUuserObject object, unsigned count))             \
  X(cuGraphRetainUserObject, "cuGraphRetainUserObject",                                            \
    (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))

/// Functions of CUDA 12.3; null in an older driver. Each replaces an older version above. The
/// functions support programmatic edges (between kernels that may overlap), which older drivers do
/// not have.
#define TUNEDGEMM_DRIVER_FUNCTIONS_OF_12_3(X)                                                 \
  X(cuStreamGetCaptureInfo_v3, "cuStreamGetCaptureInfo_v3",                                   \
    (CUstream stream, CUstreamCaptureStatus * status, unsigned long long* id, CUgraph* graph, \
     const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count))    \
  X(cuGraphNodeGetDependencies_v2, "cuGraphNodeGetDependencies_v2",                           \
    (CUgraphNode node, CUgraphNode * dependencies, CUgraphEdgeData * edges, std::size_t * count))

// NOLINTBEGIN(readability-identifier-naming): the manual's names
/// Shared by all threads. The library is never closed, because the driver cannot be unloaded.
struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name cannot have more parentheses
#define TUNEDGEMM_DECLARE(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  TUNEDGEMM_DRIVER_FUNCTIONS(TUNEDGEMM_DECLARE)
  TUNEDGEMM_DRIVER_FUNCTIONS_OF_12_3(TUNEDGEMM_DECLARE)
#undef TUNEDGEMM_DECLARE

  /// The driver's functions, looked up once in the process, or a sentence that says what is missing
  /// and how to get it.
  static std::variant<const Driver*, std::string> load();
  /// Like load(), and initialises the driver (cuInit). Also returns a sentence in a forked child
  /// whose parent has called open().
  static std::variant<const Driver*, std::string> open();

  /// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
  std::string describe(CUresult error) const;
  /// The CUDA version that the driver supports, e.g. 13000; 0 if unknown.
  int version() const;
};
// NOLINTEND(readability-identifier-naming)

/// Throws a DeviceError such as "cuMemAlloc failed for 4096 bytes of device memory:
/// CUDA_ERROR_OUT_OF_MEMORY (2): out of memory". `call` may contain arguments, which are omitted.
[[noreturn]] void throw_device_error(const Driver& driver, CUresult error, std::string_view call,
                                     const std::string& object);

}  // namespace tunedgemm::internal::cuda

/// `call` is a call of a function of Driver. `object` is a text, which is evaluated only if the
/// call fails.
#define TUNEDGEMM_CHECK(driver, call, object)                                                \
  do {                                                                                       \
    const ::tunedgemm::internal::cuda::Driver& checked_driver = (driver);                    \
    const ::tunedgemm::internal::cuda::CUresult checked_result = checked_driver.call;        \
    if (checked_result != ::tunedgemm::internal::cuda::CUDA_SUCCESS) {                       \
      ::tunedgemm::internal::cuda::throw_device_error(checked_driver, checked_result, #call, \
                                                      (object));                             \
    }                                                                                        \
  } while (false)
