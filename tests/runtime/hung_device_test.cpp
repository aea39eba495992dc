// What is released on a GPU with a kernel that never ends: nothing, since the driver would wait.

#include "runtime/cuda/event.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"
#include "tests/support/catch.h"

namespace tunedgemm::cuda {
namespace {

// A table of functions has no state of its own.
int releases = 0;

template <class... Arguments>
CUresult succeed(Arguments...) {
  return CUDA_SUCCESS;
}

template <class Handle>
CUresult release(Handle) {
  ++releases;
  return CUDA_SUCCESS;
}

void fill(Driver& driver) {
  driver.cuDevicePrimaryCtxRetain = succeed;
  driver.cuDevicePrimaryCtxRelease = release;
  driver.cuCtxGetCurrent = succeed;
  driver.cuCtxPushCurrent = succeed;
  driver.cuCtxPopCurrent = succeed;
  driver.cuThreadExchangeStreamCaptureMode = succeed;
  driver.cuMemAlloc = succeed;
  driver.cuMemFree = release;
  driver.cuMemGetInfo = succeed;
  driver.cuStreamCreate = succeed;
  driver.cuStreamDestroy = release;
  driver.cuEventCreate = succeed;
  driver.cuEventDestroy = release;
  driver.cuModuleLoadData = succeed;
  driver.cuModuleGetFunction = succeed;
  driver.cuFuncSetAttribute = succeed;
  driver.cuModuleUnload = release;
}

int releases_of(bool hangs) {
  releases = 0;
  Driver driver;
  fill(driver);
  const PrimaryContext context(driver, 0);
  {
    const Memory memory(context, 1024);
    const Stream stream(context);
    const Event event(context);
    const Module module(context, "", "kernel", 0, "a kernel");
    if (hangs) {
      driver.give_up();
    }
  }
  return releases;
}

}  // namespace

TEST_CASE("What a kernel that never ends may use is left alone") {
  CHECK(releases_of(false) == 4);
  CHECK(releases_of(true) == 0);
}

}  // namespace tunedgemm::cuda
