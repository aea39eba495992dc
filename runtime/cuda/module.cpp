#include "runtime/cuda/module.h"

#include <string_view>

#include "runtime/cuda/check.h"

namespace tunedgemm::internal::cuda {
namespace {

std::string text_of(const Binary& binary) {
  return "a cubin of " + std::to_string(binary.code.size()) + " bytes with the kernel " +
         binary.entry;
}

// The driver takes no length and trusts what the image says of itself.
const void* elf_of(const Binary& binary) {
  constexpr std::string_view kMagic =
      "\x7f"
      "ELF";
  constexpr std::size_t kHeaderBytes = 64;
  const void* image = binary.code.data();
  if (binary.code.size() <= kHeaderBytes ||
      std::string_view(static_cast<const char*>(image), kMagic.size()) != kMagic) {
    throw DeviceError(DeviceError::Kind::kFailed, text_of(binary) + " is not an ELF file");
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
  CUfunction found = nullptr;
  TUNEDGEMM_CHECK(context_.driver(), cuModuleGetFunction(&found, handle_, entry.c_str()), entry);
  return found;
}

Module::~Module() {
  if (context_.driver().gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuModuleUnload(handle_);
}

}  // namespace tunedgemm::internal::cuda
