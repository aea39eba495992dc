#pragma once

// The functions of PyTorch's stable C interface that the operators call, and owners of its objects.
// They are declared here after the interface's documentation:
// https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python::torch {

struct TensorObject;   ///< a reference to a tensor
struct StringObject;   ///< a string argument
struct LibraryObject;  ///< a set of registrations

/// An argument or a result of an operator. Tensors and strings are owning pointers. An optional is
/// an owning pointer to its value, allocated by `new`, or 0.
using StackValue = std::uint64_t;
using Kernel = void(StackValue* stack, std::uint64_t arguments, std::uint64_t results);
/// The interface that we were written for: that of PyTorch 2.10.
constexpr std::uint64_t kVersion = (2ULL << 56) | (10ULL << 48);
using Status = std::int32_t;  ///< 0 if the call succeeded

/// Each member has the name of its function.
struct Functions {
  std::int32_t (*aoti_torch_device_type_cpu)();
  std::int32_t (*aoti_torch_device_type_cuda)();

  Status (*aoti_torch_delete_tensor_object)(TensorObject* tensor);
  Status (*aoti_torch_get_dim)(TensorObject* tensor, std::int64_t* dimensions);
  Status (*aoti_torch_get_sizes)(TensorObject* tensor, std::int64_t** sizes);
  Status (*aoti_torch_get_strides)(TensorObject* tensor, std::int64_t** strides);
  Status (*aoti_torch_get_dtype)(TensorObject* tensor, std::int32_t* dtype);
  Status (*aoti_torch_get_device_type)(TensorObject* tensor, std::int32_t* type);
  Status (*aoti_torch_get_device_index)(TensorObject* tensor, std::int32_t* index);
  Status (*torch_get_const_data_ptr)(TensorObject* tensor, const void** data);
  Status (*torch_get_mutable_data_ptr)(TensorObject* tensor, void** data);
  Status (*aoti_torch_empty_strided)(std::int64_t dimensions, const std::int64_t* sizes,
                                     const std::int64_t* strides, std::int32_t dtype,
                                     std::int32_t device_type, std::int32_t device_index,
                                     TensorObject** tensor);
  Status (*aoti_torch_copy_)(TensorObject* to, TensorObject* from, std::int32_t non_blocking);
  bool (*aoti_torch_grad_mode_is_enabled)();
  void (*aoti_torch_grad_mode_set_enabled)(bool enabled);

  Status (*torch_string_length)(StringObject* string, std::size_t* length);
  Status (*torch_string_c_str)(StringObject* string, const char** characters);
  Status (*torch_delete_string)(StringObject* string);

  Status (*aoti_torch_library_init_def)(const char* name, const char* file, std::uint32_t line,
                                        LibraryObject** library);
  Status (*aoti_torch_library_init_impl)(const char* name, const char* dispatch_key,
                                         const char* file, std::uint32_t line,
                                         LibraryObject** library);
  Status (*aoti_torch_library_def)(LibraryObject* library, const char* schema);
  Status (*torch_library_impl)(LibraryObject* library, const char* name, Kernel* kernel,
                               std::uint64_t version);
  Status (*torch_call_dispatcher)(const char* name, const char* overload, StackValue* stack,
                                  std::uint64_t version);

  /// The text of the thread's last failure; null in an old PyTorch.
  const char* (*torch_exception_get_what_without_backtrace)();

  /// In libtorch_cuda; null in a PyTorch for the CPU.
  Status (*aoti_torch_get_current_cuda_stream)(std::int32_t device, void** stream);
};

/// PyTorch calls kernels without any argument of ours, so the functions and numbers of its process
/// are global. They are set before the first kernel is registered and never change.
struct Torch : Functions {
  std::int32_t cpu, cuda;
  std::int32_t dtypes[9];  ///< by tunedgemm_type
};
extern constinit Torch the_torch;

/// Finds the functions in the libraries of `folder`, which the process has loaded. Throws
/// ImportError if one is missing.
void find_torch(const std::string& folder);

/// How a kernel reports failure: as kernels of the stable interface do, it throws
/// std::runtime_error, of which PyTorch makes a RuntimeError.
[[noreturn]] void fail(const std::string& why);

/// Owns a reference to a tensor, or nothing.
class Tensor {
 public:
  explicit Tensor(TensorObject* object = nullptr) : object_(object) {}
  explicit Tensor(StackValue value) : Tensor(std::bit_cast<TensorObject*>(value)) {}

  TensorObject* get() const { return object_.get(); }
  explicit operator bool() const { return object_ != nullptr; }
  StackValue release() { return std::bit_cast<StackValue>(object_.release()); }

 private:
  struct Deleter {
    void operator()(TensorObject* object) const {
      the_torch.aoti_torch_delete_tensor_object(object);
    }
  };
  std::unique_ptr<TensorObject, Deleter> object_;
};

/// Owns a string argument.
class String {
 public:
  explicit String(StackValue value) : object_(std::bit_cast<StringObject*>(value)) {}
  std::string_view text() const;

 private:
  struct Deleter {
    void operator()(StringObject* object) const { the_torch.torch_delete_string(object); }
  };
  std::unique_ptr<StringObject, Deleter> object_;
};

/// The value of an optional argument, which it frees; `otherwise` if there is none.
StackValue take_optional(StackValue value, StackValue otherwise);

}  // namespace tunedgemm::python::torch
