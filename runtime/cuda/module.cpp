#include "runtime/cuda/module.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {
namespace {

std::string text_of(const Binary& binary) {
  return "a cubin of " + std::to_string(binary.code.size()) + " bytes with the kernel " +
         binary.entry;
}

// Check the image first, because the driver takes no length and trusts the headers.
const void* elf_of(const Binary& binary) {
  constexpr std::string_view kMagic =
      "\x7f"
      "ELF";
  constexpr std::size_t kHeaderBytes = 64;
  const void* image = binary.code.data();
  if (binary.code.size() <= kHeaderBytes ||
      std::string_view(static_cast<const char*>(image), kMagic.size()) != kMagic) {
    throw DeviceError(DeviceError::Kind::kBadBinary, text_of(binary) + " is not an ELF file");
  }
  return image;
}

}  // namespace

Module::Module(const PrimaryContext& context, const Binary& binary, std::uint32_t shared_bytes)
    : Module(context, elf_of(binary), binary.entry, shared_bytes, text_of(binary)) {}

Module::Module(const PrimaryContext& context, const void* image, const std::string& entry,
               std::uint32_t shared_bytes, const std::string& what)
    : context_(context) {
  const Driver& driver = context_.driver();
  const Active active(context_);
  TUNEDGEMM_CHECK(driver, cuModuleLoadData(&handle_, image), what);
  CUresult result = driver.cuModuleGetFunction(&function_, handle_, entry.c_str());
  if (result == CUDA_SUCCESS) {
    result = driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(shared_bytes));
  }
  if (result != CUDA_SUCCESS) {
    driver.cuModuleUnload(handle_);
    throw_device_error(
        driver, result, "cuModuleGetFunction or cuFuncSetAttribute",
        what + " and " + std::to_string(shared_bytes) + " bytes of dynamic shared memory");
  }
}

CUfunction Module::function(const std::string& entry) const {
  const Active active(context_);
  CUfunction function = nullptr;
  TUNEDGEMM_CHECK(context_.driver(), cuModuleGetFunction(&function, handle_, entry.c_str()), entry);
  return function;
}

Module::~Module() {
  if (context_.gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuModuleUnload(handle_);
}

namespace {

constexpr unsigned kThreads = 128;

// PTX, because timing a loaded kernel must not require a compiler.
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

InterposedKernel::InterposedKernel(const PrimaryContext& context, int sm_count, CUstream stream)
    : context_(context),
      ctas_(static_cast<unsigned>(std::max(sm_count, 1))),
      words_(context, std::int64_t{sizeof(std::uint32_t)} * ctas_ * kThreads),
      module_(context, kCountUp, "count_up", 0, "a kernel in PTX") {
  TUNEDGEMM_CHECK(context.driver(),
                  cuMemsetD8Async(to_device_pointer(words_.data()), 0,
                                  sizeof(std::uint32_t) * ctas_ * kThreads, stream),
                  "the words of the interposed kernel");
}

void InterposedKernel::launch(CUstream stream) const {
  CUdeviceptr words = to_device_pointer(words_.data());
  void* parameters[] = {&words};
  const CUlaunchConfig config{.gridDimX = ctas_,
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
                  "the interposed kernel of a timing");
}

}  // namespace tunedgemm::internal::cuda
