// Tests that a batched call reads nothing between the matrices of an operand. No memory is mapped
// there.

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/calls/launch.h"
#include "runtime/context/context.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/runtime/support/f16_integers.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

// Structures from the chapter "Virtual Memory Management" of the CUDA driver's manual. The library
// itself does not use that part of the driver.
struct MemoryLocation {
  int type = 1;  // a device
  int ordinal = 0;
};
struct AllocationProperties {
  int type = 1;  // pinned to its location
  int requested_handle_types = 0;
  MemoryLocation location;
  void* win32_metadata = nullptr;
  std::uint64_t flags = 0;
};
struct Access {
  MemoryLocation location;
  int flags = 3;  // reads and writes
};
template <typename... Arguments>
cuda::CUresult call_driver(const char* name, Arguments... arguments) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  using Function = cuda::CUresult (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(dlsym(library, name));
  return function == nullptr ? cuda::CUDA_ERROR_NOT_FOUND : function(arguments...);
}

constexpr std::size_t kPage = 2 << 20;  // the granularity of device memory

// Three pages of addresses, with memory behind the first and the last one.
class PagesWithGap {
 public:
  PagesWithGap() {
    constexpr std::size_t kAnyAlignment = 0;
    REQUIRE(call_driver("cuMemAddressReserve", &address_, 3 * kPage, kAnyAlignment,
                        cuda::CUdeviceptr{0}, 0ULL) == cuda::CUDA_SUCCESS);
    const AllocationProperties properties;
    const Access access;
    for (const cuda::CUdeviceptr page : mapped_pages()) {
      unsigned long long memory = 0;
      REQUIRE(call_driver("cuMemCreate", &memory, kPage, &properties, 0ULL) == cuda::CUDA_SUCCESS);
      REQUIRE(call_driver("cuMemMap", page, kPage, std::size_t{0}, memory, 0ULL) ==
              cuda::CUDA_SUCCESS);
      // Unmapping then frees the memory.
      REQUIRE(call_driver("cuMemRelease", memory) == cuda::CUDA_SUCCESS);
      REQUIRE(call_driver("cuMemSetAccess", page, kPage, &access, std::size_t{1}) ==
              cuda::CUDA_SUCCESS);
    }
  }
  ~PagesWithGap() {
    for (const cuda::CUdeviceptr page : mapped_pages()) {
      call_driver("cuMemUnmap", page, kPage);
    }
    call_driver("cuMemAddressFree", address_, 3 * kPage);
  }
  PagesWithGap(const PagesWithGap&) = delete;
  PagesWithGap& operator=(const PagesWithGap&) = delete;

  char* gap() const { return reinterpret_cast<char*>(address_ + kPage); }
  char* end_of_gap() const { return gap() + kPage; }

 private:
  std::array<cuda::CUdeviceptr, 2> mapped_pages() const { return {address_, address_ + 2 * kPage}; }

  cuda::CUdeviceptr address_ = 0;
};

constexpr std::int64_t kSize = 1001;  // rows of no multiple of 16 bytes
constexpr std::int64_t kElements = kSize * kSize, kBytes = 2 * kElements;
// Two square matrices: the first ends where the gap begins, the second begins where the gap ends.
class Operand {
 public:
  Operand(Device& device, std::uint64_t seed)
      : elements_(random_f16_integers(2 * kElements, seed)) {
    device.copy_to_device(first(), elements_.data(), kBytes);
    device.copy_to_device(pages_.end_of_gap(), &elements_[kElements], kBytes);
  }

  char* first() const { return pages_.gap() - kBytes; }
  std::int64_t batch_stride() const { return (pages_.end_of_gap() - first()) / 2; }
  int element(std::size_t batch_index, std::size_t row, std::size_t column) const {
    return integer_of(elements_[(batch_index * kSize + row) * kSize + column]);
  }

 private:
  const PagesWithGap pages_;
  F16Integers elements_;
};

}  // namespace

TEST_CASE("A batched call reads nothing between the matrices of padded operands", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
  Device& device = context->device();
  const Device::Current current(device);
  const std::uint64_t seed = test_seed();
  const Operand a(device, seed), b(device, seed + 1);
  const auto d = device.allocate(2 * kBytes);
  device.set_bytes(d->data(), 0xff, 2 * kBytes);  // NaN

  const tunedgemm_problem problem{.m = kSize,
                                  .n = kSize,
                                  .k = kSize,
                                  .batch = 2,
                                  .type_a = TUNEDGEMM_TYPE_F16,
                                  .type_b = TUNEDGEMM_TYPE_F16,
                                  .type_d = TUNEDGEMM_TYPE_F16,
                                  .batch_stride_a = a.batch_stride(),
                                  .batch_stride_b = b.batch_stride(),
                                  .batch_stride_d = kElements};
  const tunedgemm_buffers buffers{.a = a.first(), .b = b.first(), .d = d->data()};
  const Plan& plan = context->plan(checked_call(call_key(problem, buffers)), nullptr);
  INFO(plan.description);
  const OwnStream stream;
  REQUIRE(launch(plan, buffers, stream.handle()) == 0);
  device.synchronize(stream.handle());

  F16Integers result(2 * kElements);
  device.copy_to_host(result.data(), d->data(), 2 * kBytes);
  std::mt19937_64 random(seed);
  int wrong = 0;
  for (std::size_t sample = 0; sample < 4000; ++sample) {
    const std::size_t batch_index = sample % 2, row = random() % kSize, column = random() % kSize;
    int sum = 0;
    for (std::size_t inner = 0; inner < kSize; ++inner) {
      sum += a.element(batch_index, row, inner) * b.element(batch_index, inner, column);
    }
    wrong += !is_equal(result, (batch_index * kSize + row) * kSize + column, sum);
  }
  CHECK(wrong == 0);
}

}  // namespace tunedgemm::internal
