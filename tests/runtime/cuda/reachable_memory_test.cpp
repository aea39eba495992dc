// Tests the decision whether a GPU can use some memory, for different answers of the driver.

#include "runtime/cuda/memory.h"

#include "runtime/backend.h"
#include "runtime/calls/launch.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"

using Catch::Matchers::ContainsSubstring;

namespace tunedgemm::internal::cuda {
namespace {

// The fake driver's answers for every pointer; global, since its functions have no state.
struct Answers {
  CUresult result = CUDA_SUCCESS;
  unsigned memory_type = 0;
  CUdeviceptr device_pointer = 0;
  unsigned is_managed = 0;
  int ordinal = 0;
  int reads_pageable_memory = 0;
};
Answers answers;

CUresult get_attributes(unsigned count, const CUpointer_attribute* attributes, void** values,
                        CUdeviceptr) {
  for (unsigned index = 0; index < count; ++index) {
    switch (attributes[index]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(values[index]) = answers.memory_type;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(values[index]) = answers.device_pointer;
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned*>(values[index]) = answers.is_managed;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(values[index]) = answers.ordinal;
        break;
    }
  }
  return answers.result;
}

std::string on_device_1(const Answers& given) {
  answers = given;
  Driver driver;
  driver.cuPointerGetAttributes = get_attributes;
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) {
    *value = answers.reads_pageable_memory;
    return CUDA_SUCCESS;
  };
  const int somewhere = 0;
  return why_not_reachable(driver, 1, &somewhere);
}

TEST_CASE("A GPU accepts memory that it can reach, or that the driver does not know") {
  for (const Answers& reachable :
       {Answers{.memory_type = CU_MEMORYTYPE_DEVICE, .device_pointer = 64, .ordinal = 1},
        {.memory_type = CU_MEMORYTYPE_DEVICE, .is_managed = 1, .ordinal = 0},
        {.memory_type = CU_MEMORYTYPE_HOST, .device_pointer = 64, .ordinal = 0},
        {.memory_type = CU_MEMORYTYPE_DEVICE, .device_pointer = 64, .ordinal = 0},  // a peer's
        {.reads_pageable_memory = 1},
        {.result = CUDA_ERROR_INVALID_CONTEXT}}) {
    CHECK(on_device_1(reachable) == "");
  }
}

TEST_CASE("The error for memory that a GPU cannot reach names the remedy") {
  CHECK_THAT(on_device_1({}), ContainsSubstring("host memory, which cuda:1 cannot read") &&
                                  ContainsSubstring("cudaMalloc"));
  CHECK_THAT(on_device_1({.memory_type = CU_MEMORYTYPE_DEVICE, .ordinal = 0}),
             ContainsSubstring("memory of cuda:0, which cuda:1 cannot access") &&
                 ContainsSubstring("cudaDeviceEnablePeerAccess"));
}

TEST_CASE("A GPU refuses host memory, and the host refuses GPU memory", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const auto memory = device->allocate(4096);
  CHECK(device->why_not_memory(memory->data()) == "");
  int pageable = 0;
  auto opened = Driver::open();
  std::get<0>(opened)->cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                            0);
  const std::vector<float> plain(1024);
  CHECK(device->why_not_memory(plain.data()).empty() == (pageable != 0));
  CHECK_THAT(host_backend().open({.host_threads = 1})->why_not_memory(memory->data()),
             ContainsSubstring("cannot be read by the CPU"));
}

}  // namespace
}  // namespace tunedgemm::internal::cuda
