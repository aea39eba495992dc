#pragma once

// The arrays of Python programs: of PyTorch by DLPack's exchange interface in C, of numpy by the
// buffer protocol, of other libraries by DLPack's Python protocol. Nothing is copied. All functions
// need the GIL.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/python/element_types.h"
#include "runtime/python/view.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

struct DlpackExchangeApi;

/// An array without memory: all that a plan needs to know of an array. The C interface takes its
/// null pointer as aligned to 16 bytes.
struct Placeholder {
  View view;
};

/// A matrix, a vector, a number or a batch of matrices. Keeps its memory while it lives.
class Array {
 public:
  enum class Access { kRead, kWrite };

  /// `argument` is the name in messages. Throws TypeError if `object` is no array, ValueError if
  /// its element type, its device or its strides are not supported, or it must not be written.
  /// `only` is the one element type that the argument may have.
  Array(std::string_view argument, nanobind::handle object, Access access = Access::kRead,
        std::optional<tunedgemm_type> only = std::nullopt);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// Lives as long as the array.
  const View& view() const { return view_; }

  /// The stream on which the array's library launches its kernels now; null for the default stream
  /// and on the host.
  void* current_stream() const;
  /// A new array of the same library on the same device, packed and row-major. Throws TypeError if
  /// arrays of this library cannot be made here, and the library's exception if there is no memory.
  nanobind::object make(std::span<const std::int64_t> shape, tunedgemm_type type) const;

 private:
  void read_by_exchange();
  bool read_by_buffer(Access access);
  void read_by_protocol(Access access);
  void set(const nanobind::dlpack::dltensor& tensor);
  void set_device(int dlpack_type, int id);
  void set_dimensions(int dimensions);
  void check_alignment() const;
  [[noreturn]] void refuse_type() const;

  nanobind::handle object_;
  std::optional<tunedgemm_type> only_;
  const DlpackExchangeApi* exchange_ = nullptr;  ///< null if its library has none
  Py_buffer buffer_{};
  nanobind::ndarray<nanobind::ro> other_;
  View view_;
};

/// "float32" or numpy.float32 or torch.float32 ... Throws ValueError if it is not supported.
tunedgemm_type type_named(std::string_view argument, nanobind::handle type);

}  // namespace tunedgemm::python
