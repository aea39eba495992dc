#include "runtime/cuda/module.h"

#include <string_view>

#include "runtime/cuda/check.h"

namespace tunedgemm::cuda {
namespace {

std::string text_of(const Binary& binary) {
  return "a cubin of " + std::to_string(binary.code.size()) + " bytes with the kernel " +
         binary.entry;
}

// The driver takes no length and trusts what the image says of itself.
bool is_elf(const Binary& binary) {
  constexpr std::string_view kMagic =
      "\x7f"
      "ELF";
  constexpr std::size_t kHeaderBytes = 64;
  return binary.code.size() > kHeaderBytes &&
         std::string_view(reinterpret_cast<const char*>(binary.code.data()), kMagic.size()) ==
             kMagic;
}

}  // namespace

Module::Module(const PrimaryContext& context, const Binary& binary, std::uint32_t shared_bytes)
    : context_(context) {
  const Driver& driver = context_.driver();
  const Active active(context_);
  if (!is_elf(binary)) {
    throw DeviceError(DeviceError::Kind::kFailed, text_of(binary) + " is not an ELF file");
  }
  TUNEDGEMM_CHECK(driver, cuModuleLoadData(&handle_, binary.code.data()), text_of(binary));
  CUresult result = driver.cuModuleGetFunction(&function_, handle_, binary.entry.c_str());
  if (result == CUDA_SUCCESS) {
    result = driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(shared_bytes));
  }
  if (result != CUDA_SUCCESS) {
    driver.cuModuleUnload(handle_);
    throw_device_error(driver, result, "cuModuleGetFunction or cuFuncSetAttribute",
                       text_of(binary) + " and " + std::to_string(shared_bytes) +
                           " bytes of dynamic shared memory");
  }
}

Module::~Module() {
  const Active active(context_);
  context_.driver().cuModuleUnload(handle_);
}

}  // namespace tunedgemm::cuda
