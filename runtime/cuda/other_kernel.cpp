#include "runtime/cuda/other_kernel.h"

#include <algorithm>
#include <cstdint>

#include "runtime/cuda/check.h"

namespace tunedgemm::internal::cuda {
namespace {

constexpr unsigned kThreads = 128;

// In the driver's own language, since timing a kernel that is there must not need a compiler.
constexpr char kCountUp[] = R"(.version 6.0
.target sm_60
.address_size 64
.visible .entry count_up(.param .u64 words)
{
  .reg .b32 %block, %size, %thread, %index, %count;
  .reg .b64 %word, %offset;
  ld.param.u64 %word, [words];
  cvta.to.global.u64 %word, %word;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %size, %thread;
  mul.wide.u32 %offset, %index, 4;
  add.s64 %word, %word, %offset;
  ld.global.u32 %count, [%word];
  add.u32 %count, %count, 1;
  st.global.u32 [%word], %count;
  ret;
}
)";

}  // namespace

OtherKernel::OtherKernel(const PrimaryContext& context, int sm_count)
    : context_(context),
      blocks_(static_cast<unsigned>(std::max(sm_count, 1))),
      words_(context, std::int64_t{sizeof(std::uint32_t)} * blocks_ * kThreads),
      module_(context, kCountUp, "count_up", 0, "a kernel in PTX") {}

void OtherKernel::launch(CUstream stream) const {
  CUdeviceptr words = to_device_pointer(words_.data());
  void* parameters[] = {&words};
  const CUlaunchConfig config{.gridDimX = blocks_,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = kThreads,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = 0,
                              .hStream = stream,
                              .attrs = nullptr,
                              .numAttrs = 0};
  TUNEDGEMM_CHECK(context_.driver(),
                  cuLaunchKernelEx(&config, module_.function(), parameters, nullptr),
                  "the kernel between those that are timed");
}

}  // namespace tunedgemm::internal::cuda
