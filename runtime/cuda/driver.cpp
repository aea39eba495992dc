#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <memory>

#include "kernel_templates/base/process_fork.h"

namespace tunedgemm::internal::cuda {

std::variant<const Driver*, std::string> Driver::load() {
  static std::atomic<const Driver*> loaded{nullptr};
  if (const Driver* driver = loaded.load(std::memory_order_acquire)) {
    return driver;
  }
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return std::string(
        "there is no CUDA driver: libcuda.so.1 cannot be opened; install the NVIDIA driver, or use "
        "the host device");
  }
  auto driver = std::make_unique<Driver>();
  std::string missing;
// NOLINTBEGIN(bugprone-macro-parentheses): a member's name cannot have parentheses
#define TUNEDGEMM_LOAD(name, symbol, parameters) \
  driver->name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol));
#define TUNEDGEMM_LOAD_NEEDED(name, symbol, parameters) \
  TUNEDGEMM_LOAD(name, symbol, parameters)              \
  if (driver->name == nullptr && missing.empty()) {     \
    missing = symbol;                                   \
  }
  TUNEDGEMM_DRIVER_FUNCTIONS(TUNEDGEMM_LOAD_NEEDED)
  TUNEDGEMM_DRIVER_FUNCTIONS_OF_12_3(TUNEDGEMM_LOAD)
#undef TUNEDGEMM_LOAD_NEEDED
#undef TUNEDGEMM_LOAD
  // NOLINTEND(bugprone-macro-parentheses)
  if (!missing.empty()) {
    return "the CUDA driver is too old: libcuda.so.1 has no " + missing +
           "; version 525 (CUDA 12.0) or later is needed";
  }
  const Driver* first = nullptr;
  if (!loaded.compare_exchange_strong(first, driver.get(), std::memory_order_acq_rel)) {
    return first;  // another thread was faster
  }
  return driver.release();  // kept until the process ends
}

std::variant<const Driver*, std::string> Driver::open() {
  auto loaded = load();
  if (std::holds_alternative<std::string>(loaded)) {
    return loaded;
  }
  // The process that first called open(). A forked child inherits the value.
  static std::atomic<pid_t> started_by{0};
  pid_t starter = 0;
  if (!started_by.compare_exchange_strong(starter, process_id()) && starter != process_id()) {
    return std::string(
        "CUDA was started before fork(), and the driver does not work in the child of a process "
        "that has used it; call the library only after the fork, or start the child with exec "
        "(Python: multiprocessing.set_start_method(\"spawn\"))");
  }
  const Driver* const driver = std::get<0>(loaded);
  if (const CUresult result = driver->cuInit(0); result != CUDA_SUCCESS) {
    const bool no_device = result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_STUB_LIBRARY;
    return "the CUDA driver does not start: cuInit failed with " + driver->describe(result) +
           (no_device ? "" : "; check whether nvidia-smi works");
  }
  return driver;
}

std::string Driver::describe(CUresult error) const {
  const char* name = nullptr;
  const char* sentence = nullptr;
  cuGetErrorName(error, &name);
  cuGetErrorString(error, &sentence);
  std::string text = name != nullptr ? name : "unknown CUDA error";
  text += " (" + std::to_string(error) + ")";
  return sentence != nullptr ? text + ": " + sentence : text;
}

int Driver::version() const {
  int version = 0;
  return cuDriverGetVersion(&version) == CUDA_SUCCESS ? version : 0;
}

namespace {

DeviceError::Kind kind_of(CUresult error) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return DeviceError::Kind::kOutOfMemory;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_STUB_LIBRARY:
      return DeviceError::Kind::kUnavailable;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
    case CUDA_ERROR_NOT_FOUND:
      return DeviceError::Kind::kBadBinary;
    // The manual: "To continue using CUDA, the process must be terminated and relaunched."
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return DeviceError::Kind::kLost;
    default:
      return DeviceError::Kind::kFailed;
  }
}

}  // namespace

void throw_device_error(const Driver& driver, CUresult error, std::string_view call,
                        const std::string& object) {
  const std::string name(call.substr(0, call.find('(')));
  throw DeviceError(kind_of(error), name + " failed for " + object + ": " + driver.describe(error));
}

}  // namespace tunedgemm::internal::cuda
