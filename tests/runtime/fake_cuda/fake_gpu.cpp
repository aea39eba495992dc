#include "tests/runtime/fake_cuda/fake_gpu.h"

#include <dlfcn.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <bit>
#include <cstdlib>
#include <cstring>

#include "kernel_templates/cuda/families.h"
#include "runtime/calls/arguments.h"
#include "runtime/cuda/memory.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

std::size_t bytes_of(std::int64_t elements) {
  return static_cast<std::size_t>(elements) * sizeof(float);
}

}  // namespace

Control& control() {
  static Control& found = [&]() -> Control& {
    spdlog::null_logger_mt("tunedgemm");  // thousands of failures would be logged
    setenv("TUNEDGEMM_NVRTC", TUNEDGEMM_FAKE_NVRTC, 1);
    void* const library = dlopen(TUNEDGEMM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    REQUIRE(dlopen(TUNEDGEMM_FAKE_NVML, RTLD_NOW | RTLD_LOCAL) != nullptr);
    return *reinterpret_cast<FindControl>(dlsym(library, kControlSymbol))();
  }();
  return found;
}

FakeGpu::FakeGpu() {
  control().reset();
  current_.emplace(0);
}

FakeGpu::~FakeGpu() {
  CHECK(why_not_clean().empty());
  current_.reset();
  control().reset();
}

std::string FakeGpu::why_not_clean() {
  std::string text;
  for (const std::string& complaint : control().complaints()) {
    text += complaint + "; ";
  }
  const std::string left = control().left();
  return left == "1 references to contexts 1 contexts pushed by this thread " ? text : text + left;
}

OnDevice::OnDevice(int ordinal) : ordinal_(ordinal) {
  cuda::CUcontext context = nullptr;
  test_driver().cuDevicePrimaryCtxRetain(&context, ordinal_);
  test_driver().cuCtxPushCurrent(context);
}

OnDevice::~OnDevice() {
  cuda::CUcontext context = nullptr;
  test_driver().cuCtxPopCurrent(&context);
  test_driver().cuDevicePrimaryCtxRelease(ordinal_);
}

std::unique_ptr<Context> open_context(Policy policy, int ordinal) {
  ContextOptions options;
  options.backend = &cuda_backend();
  options.device.ordinal = ordinal;
  options.policy = policy;
  options.store.access = StoreOptions::Access::kMemoryOnly;
  options.budget = {.seconds = 100, .candidates = 2};
  return Context::create(options);
}

SmallProduct::SmallProduct(std::int64_t k) {
  problem_ = {.m = kM, .n = kN, .k = k};
  const std::int64_t inputs = kM * k + k * kN;
  TUNEDGEMM_CHECK(test_driver(), cuMemAlloc(&memory_, bytes_of(inputs + kResults * kM * kN)),
                  "a test's matrices");
  auto* const elements = std::bit_cast<float*>(memory_);  // the fake's memory is CPU memory
  for (std::int64_t index = 0; index < inputs; ++index) {
    elements[index] = static_cast<float>(index * 7 % 5 - 2);
  }
  for (std::int64_t row = 0; row < kM; ++row) {
    for (std::int64_t column = 0; column < kN; ++column) {
      float sum = 0;
      for (std::int64_t step = 0; step < k; ++step) {
        sum += elements[row * k + step] * elements[kM * k + step * kN + column];
      }
      expected_.push_back(sum);
    }
  }
  erase();
}

SmallProduct::~SmallProduct() {
  test_driver().cuMemFree(memory_);
}

tunedgemm_buffers SmallProduct::buffers(int index) const {
  auto* const elements = std::bit_cast<float*>(memory_);
  return {.a = elements,
          .b = elements + kM * problem_.k,
          .d = elements + (kM + kN) * problem_.k + index * kM * kN};
}

void SmallProduct::erase() const {
  std::memset(buffers().d, 0xff, bytes_of(kResults * kM * kN));
}

bool SmallProduct::is_right(int index) const {
  return std::memcmp(buffers(index).d, expected_.data(), bytes_of(kM * kN)) == 0;
}

const Plan& split_k_plan(Context& context, const SmallProduct& product) {
  Device& device = context.device();
  const CallKey key = call_key(product.problem(), product.buffers());
  for (const Instance& instance : ranked_candidates(to_problem(key), device.limits())) {
    if (!instance.launch.needs_workspace() || instance.launch.swaps_operands) {
      continue;
    }
    const Record record = store_winner(context.store(), instance, device);
    const Plan& plan = context.plan(checked_call(key), nullptr);
    REQUIRE(plan.candidate.config == record.config);
    return plan;
  }
  FAIL("no candidate splits K");
  std::abort();
}

}  // namespace tunedgemm::internal::fake_cuda
