// Little memory is free, and a kernel needs a large workspace for padded copies of its operands. No
// call may fail for lack of memory, and every result must be right.

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
#include "tests/support/skip.h"

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kSize = 8191;  // rows are not a multiple of 16 bytes
constexpr std::int64_t kElements = kSize * kSize, kBytes = 2 * kElements;
constexpr int kResults = 3;

class LargeProduct {
 public:
  explicit LargeProduct(Device& device)
      : device_(device), memory_(device.allocate((2 + kResults) * (kBytes + 256))) {
    device.copy_to_device(at(0), a_.data(), kBytes);
    device.copy_to_device(at(1), b_.data(), kBytes);
    poison();
    problem = {.m = kSize,
               .n = kSize,
               .k = kSize,
               .type_a = TUNEDGEMM_TYPE_F16,
               .type_b = TUNEDGEMM_TYPE_F16,
               .type_d = TUNEDGEMM_TYPE_F16};
  }

  tunedgemm_buffers buffers(int result) const {
    return {.a = at(0), .b = at(1), .d = at(2 + result)};
  }
  void poison() const {  // with NaN
    for (int result = 0; result < kResults; ++result) {
      device_.set_bytes(at(2 + result), 0xff, kBytes);
    }
  }
  // Compares some elements of each result, and all results with each other. Returns the number of
  // wrong elements.
  int wrong() const {
    F16Integers first(kElements), other(kElements);
    device_.copy_to_host(first.data(), at(2), kBytes);
    int count = 0;
    for (int result = 1; result < kResults; ++result) {
      device_.copy_to_host(other.data(), at(2 + result), kBytes);
      count += other != first;
    }
    std::mt19937_64 random(test_seed());
    for (int sample = 0; sample < 2000; ++sample) {
      const std::size_t row = random() % kSize, column = random() % kSize;
      int sum = 0;
      for (std::size_t inner = 0; inner < kSize; ++inner) {
        sum += integer_of(a_[row * kSize + inner]) * integer_of(b_[inner * kSize + column]);
      }
      count += !is_equal(first, row * kSize + column, sum);
    }
    return count;
  }

  tunedgemm_problem problem;

 private:
  void* at(int index) const {
    return static_cast<char*>(memory_->data()) + index * (kBytes + 256) / 256 * 256;
  }

  const F16Integers a_ = random_f16_integers(kElements, test_seed()),
                    b_ = random_f16_integers(kElements, test_seed() + 1);
  Device& device_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace

TEST_CASE("Little free memory fails no call with a large workspace, on streams or in a graph",
          "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(owner);
  const Device::Current current(*owner);
  const LargeProduct product(*owner);
  for (const std::int64_t left : {owner->free_memory_bytes() / 10, std::int64_t{200} << 20}) {
    std::string why_not;
    const auto context = open_test_gpu_context(why_not);
    const tunedgemm_buffers some = product.buffers(0);
    const Plan& plan = context->plan(checked_call(call_key(product.problem, some)), nullptr);
    INFO(plan.description << ", " << left << " bytes are free");
    if (!plan.launch.needs_workspace()) {
      TUNEDGEMM_SKIP("the kernel of this GPU needs no workspace");
    }
    const auto taken = owner->allocate(owner->free_memory_bytes() - left);
    product.poison();
    const OwnStream first, second, captured;
    CHECK(launch(plan, product.buffers(0), first.handle()) == 0);
    CHECK(launch(plan, product.buffers(1), second.handle()) == 0);
    captured.begin_capture();
    CHECK(launch(plan, product.buffers(2), captured.handle()) == 0);
    {
      const CapturedGraph executable(captured);
      executable.launch_on(captured.handle());
      for (const OwnStream* stream : {&first, &second, &captured}) {
        owner->synchronize(stream->handle());
      }
    }
    CHECK(product.wrong() == 0);
  }
}

}  // namespace tunedgemm::internal
