#pragma once

// TUNEDGEMM_CHECK: a driver call whose failure is an exception that names the call and the object.

#include <string>
#include <string_view>

#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// "cuMemAlloc failed for 4096 bytes of device memory: CUDA_ERROR_OUT_OF_MEMORY (2): out of
/// memory". `call` may carry its arguments; they are left out.
[[noreturn]] void throw_device_error(const Driver& driver, CUresult error, std::string_view call,
                                     const std::string& object);

}  // namespace tunedgemm::internal::cuda

/// `call` is a function of the driver table with its arguments; `object`, the text of what it is
/// done to, is evaluated only when the call has failed.
#define TUNEDGEMM_CHECK(driver, call, object)                                                \
  do {                                                                                       \
    const ::tunedgemm::internal::cuda::Driver& checked_driver = (driver);                    \
    const ::tunedgemm::internal::cuda::CUresult checked_result = checked_driver.call;        \
    if (checked_result != ::tunedgemm::internal::cuda::CUDA_SUCCESS) {                       \
      ::tunedgemm::internal::cuda::throw_device_error(checked_driver, checked_result, #call, \
                                                      (object));                             \
    }                                                                                        \
  } while (false)
