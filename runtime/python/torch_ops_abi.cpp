#include "runtime/python/torch_ops_abi.h"

#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "runtime/python/element_types.h"

namespace nb = nanobind;

namespace tunedgemm::python::torch {

constinit Torch the_torch{};

namespace {

void* loaded_library(const std::string& path) {
  return dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

template <class Function>
void find_optional(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
  find_optional(library, name, function);
  if (function == nullptr) {
    throw nb::import_error(("tunedgemm.torch needs PyTorch 2.10 or later: this PyTorch has no "
                            "function " +
                            std::string(name))
                               .c_str());
  }
}

}  // namespace

#define FIND(name) find(library, #name, torch.name)
void find_torch(const std::string& folder) {
  void* const library = loaded_library(folder + "/libtorch_cpu.so");
  if (library == nullptr) {
    throw nb::import_error(("tunedgemm.torch needs PyTorch 2.10 or later for Linux: " + folder +
                            "/libtorch_cpu.so is not loaded")
                               .c_str());
  }
  Torch torch{};
  FIND(aoti_torch_device_type_cpu);
  FIND(aoti_torch_device_type_cuda);
  FIND(aoti_torch_delete_tensor_object);
  FIND(aoti_torch_get_dim);
  FIND(aoti_torch_get_sizes);
  FIND(aoti_torch_get_strides);
  FIND(aoti_torch_get_dtype);
  FIND(aoti_torch_get_device_type);
  FIND(aoti_torch_get_device_index);
  FIND(torch_get_const_data_ptr);
  FIND(torch_get_mutable_data_ptr);
  FIND(aoti_torch_empty_strided);
  FIND(aoti_torch_copy_);
  FIND(aoti_torch_grad_mode_is_enabled);
  FIND(aoti_torch_grad_mode_set_enabled);
  FIND(torch_string_length);
  FIND(torch_string_c_str);
  FIND(torch_delete_string);
  FIND(aoti_torch_library_init_def);
  FIND(aoti_torch_library_init_impl);
  FIND(aoti_torch_library_def);
  FIND(torch_library_impl);
  FIND(torch_call_dispatcher);
  find_optional(library, "torch_exception_get_what_without_backtrace",
                torch.torch_exception_get_what_without_backtrace);
  if (void* const cuda_library = loaded_library(folder + "/libtorch_cuda.so")) {
    find(cuda_library, "aoti_torch_get_current_cuda_stream",
         torch.aoti_torch_get_current_cuda_stream);
  }
  torch.cpu = torch.aoti_torch_device_type_cpu();
  torch.cuda = torch.aoti_torch_device_type_cuda();
  std::fill(std::begin(torch.dtypes), std::end(torch.dtypes), -1);
  for (const ElementType& type : kElementTypes) {
    std::int32_t (*number)() = nullptr;
    find(library, ("aoti_torch_dtype_" + std::string(type.name)).c_str(), number);
    torch.dtypes[type.type] = number();
  }
  the_torch = torch;
}
#undef FIND

void fail(const std::string& why) {
  throw std::runtime_error(why);
}

std::string_view String::text() const {
  std::size_t length = 0;
  const char* characters = nullptr;
  if (the_torch.torch_string_length(object_.get(), &length) != 0 ||
      the_torch.torch_string_c_str(object_.get(), &characters) != 0) {
    fail("PyTorch could not pass a string");
  }
  return {characters, length};
}

StackValue take_optional(StackValue value, StackValue otherwise) {
  const std::unique_ptr<StackValue> taken(std::bit_cast<StackValue*>(value));
  return taken ? *taken : otherwise;
}

}  // namespace tunedgemm::python::torch
