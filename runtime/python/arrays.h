#pragma once

// The arrays of Python programs: of PyTorch by DLPack's exchange interface in C, of numpy by the
// buffer protocol, of other libraries by DLPack's Python protocol. Nothing is copied. All functions
// need the GIL.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

struct DlpackExchangeApi;

/// A matrix, a vector, a number or a batch of matrices. Keeps its memory while it lives.
class Array {
 public:
  enum class Access { kRead, kWrite };
  static constexpr int kMostDimensions = 8;

  /// `argument` is the name in messages. Throws TypeError if `object` is no array, ValueError if
  /// its element type, its device or its strides are not supported, or it must not be written.
  Array(std::string_view argument, nanobind::handle object, Access access = Access::kRead);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void* data() const { return data_; }
  int dimensions() const { return dimensions_; }
  std::int64_t extent(int dimension) const { return shape_[static_cast<std::size_t>(dimension)]; }
  /// In elements.
  std::int64_t stride(int dimension) const { return strides_[static_cast<std::size_t>(dimension)]; }
  std::int64_t size() const;
  tunedgemm_type type() const { return type_; }
  /// As for default_context(): the ordinal of a GPU, or kHost.
  int device() const { return device_; }
  std::string shape() const;  ///< as shape_text()

  /// The stream on which the array's library launches its kernels now; null for the default stream
  /// and on the host.
  void* current_stream() const;
  /// A new array of the same library on the same device, packed and row-major. Throws TypeError if
  /// arrays of this library cannot be made here, and the library's exception if there is no memory.
  nanobind::object make(std::span<const std::int64_t> shape, tunedgemm_type type) const;

 private:
  void read_by_exchange(std::string_view argument);
  bool read_by_buffer(std::string_view argument, Access access);
  void read_by_protocol(std::string_view argument, Access access);
  void set(std::string_view argument, const nanobind::dlpack::dltensor& tensor);
  void set_device(std::string_view argument, int dlpack_type, int id);
  void set_dimensions(std::string_view argument, int dimensions);
  void check_alignment(std::string_view argument) const;
  [[noreturn]] void refuse_type(std::string_view argument) const;

  nanobind::handle object_;
  const DlpackExchangeApi* exchange_ = nullptr;  ///< null if its library has none
  Py_buffer buffer_{};
  nanobind::ndarray<nanobind::ro> other_;
  void* data_ = nullptr;
  int dimensions_ = 0;
  std::array<std::int64_t, kMostDimensions> shape_, strides_;
  tunedgemm_type type_ = TUNEDGEMM_TYPE_F32;
  int device_ = 0;
};

/// "float32" or numpy.float32 or torch.float32 ... Throws ValueError if it is not supported.
tunedgemm_type type_named(std::string_view argument, nanobind::handle type);
std::string_view name_of(tunedgemm_type type);
/// The element type of a product, unless the caller names one.
tunedgemm_type result_type(tunedgemm_type type_of_a);

/// DLPack's code and bits of an element type.
std::pair<int, int> dlpack_type(tunedgemm_type type);

/// "supported are float64, ..."
extern const char* const kSupportedTypes;
/// "(4, 3)"
std::string shape_text(std::span<const std::int64_t> extents);

[[noreturn]] void refuse(const std::string& why);

}  // namespace tunedgemm::python
