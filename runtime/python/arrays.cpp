#include "runtime/python/arrays.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "runtime/python/context.h"
#include "runtime/python/dlpack.h"
#include "runtime/python/gil.h"
#include "runtime/python/values.h"

namespace nb = nanobind;

namespace tunedgemm::python {
namespace {

/// The facts that we cache for each array type.
struct Producer {
  PyTypeObject* type;
  const DlpackExchangeApi* exchange;
  bool is_numpy, is_placeholder;
  bool may_negate;  ///< as PyTorch's views with a negative bit, of which DLPack knows nothing
};

const DlpackExchangeApi* exchange_of(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (capsule.is_none()) {
    return nullptr;
  }
  const auto* api = static_cast<const DlpackExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api == nullptr) {
    PyErr_Clear();
  }
  while (api != nullptr && api->major != kDlpackMajor) {
    api = api->previous;
  }
  return api != nullptr && api->tensor_of != nullptr ? api : nullptr;
}

// Remembers the first types, which live for good.
Producer producer_of(nb::handle object) {
  static std::array<Producer, 8> seen{};
  static std::size_t count = 0;
  PyTypeObject* const type = Py_TYPE(object.ptr());
  for (std::size_t i = 0; i < count; ++i) {
    if (seen[i].type == type) {
      return seen[i];
    }
  }
  const nb::handle of_type(reinterpret_cast<PyObject*>(type));
  const auto module = nb::cast<std::string>(nb::str(of_type.attr("__module__")));
  const Producer made{type, exchange_of(of_type), module == "numpy",
                      nb::isinstance<Placeholder>(object), nb::hasattr(of_type, "is_neg")};
  if (count < seen.size()) {
    of_type.inc_ref();
    seen[count++] = made;
  }
  return made;
}

bool negates(nb::handle object) {
  static PyObject* const name = PyUnicode_InternFromString("is_neg");
  PyObject* const self[] = {object.ptr()};
  const nb::object answer =
      nb::steal(run_python([&] { return PyObject_VectorcallMethod(name, self, 1, nullptr); }));
  if (!answer.is_valid()) {
    throw nb::python_error();
  }
  return answer.is(nb::handle(Py_True));
}

template <class... Arguments>
nb::object call_python_part(const char* function, const Arguments&... arguments) {
  static const nb::handle module = nb::module_::import_("tunedgemm._arrays").release();
  const nb::object called = module.attr(function);
  return run_python([&] { return called(arguments...); });
}

}  // namespace

Array::Array(std::string_view argument, nb::handle object, Access access,
             std::optional<tunedgemm_type> only)
    : object_(object), only_(only) {
  view_.name = argument;
  const Producer producer = producer_of(object);
  if (producer.is_placeholder) {
    view_ = nb::inst_ptr<Placeholder>(object)->view;
    view_.name = argument;
    return;
  }
  exchange_ = producer.exchange;
  if (producer.may_negate && negates(object)) {
    refuse(std::string(argument) + " is a view of negated elements: pass its resolve_neg()");
  }
  if (exchange_ != nullptr) {
    read_by_exchange();
  } else if (!producer.is_numpy || !read_by_buffer(access)) {
    read_by_protocol(access);
  }
  if (only_ && view_.type != *only_) {
    refuse_type();
  }
}

Array::~Array() {
  if (buffer_.obj != nullptr) {
    PyBuffer_Release(&buffer_);
  }
}

void Array::read_by_exchange() {
  nb::dlpack::dltensor tensor;
  if (exchange_->tensor_of(object_.ptr(), &tensor) != 0) {
    const nb::python_error error;
    const std::string why = nb::str(error.value()).c_str();
    refuse(std::string(view_.name) + " cannot be read: " + why.substr(0, why.find('\n')));
  }
  set(tensor);
}

// False if numpy has no format for the element type, or the array must not be written.
bool Array::read_by_buffer(Access access) {
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (access == Access::kWrite ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object_.ptr(), &buffer_, flags) != 0) {
    PyErr_Clear();
    return false;
  }
  std::string_view format(buffer_.format);
  if (format.size() == 2 && format[0] == '=') {
    format.remove_prefix(1);  // how numpy writes the type of an array that is not aligned
  }
  const auto* const type = find_type(
      [&](const ElementType& one) { return format.size() == 1 && format[0] == one.format; });
  if (type == nullptr) {
    refuse_type();
  }
  view_.type = type->type;
  view_.data = buffer_.buf;
  view_.device = kHost;
  check_alignment();
  set_dimensions(buffer_.ndim);
  for (int i = 0; i < buffer_.ndim; ++i) {
    if (buffer_.strides[i] % buffer_.itemsize != 0) {
      refuse(std::string(view_.name) + " has a stride of " + std::to_string(buffer_.strides[i]) +
             " bytes, which are no whole elements: pass a copy");
    }
    view_.sizes[static_cast<std::size_t>(i)] = buffer_.shape[i];
    view_.strides[static_cast<std::size_t>(i)] = buffer_.strides[i] / buffer_.itemsize;
  }
  return true;
}

void Array::read_by_protocol(Access access) {
  const std::string name(view_.name);
  if (!nb::hasattr(object_, "__dlpack__")) {
    throw nb::type_error((name + " is a " + nb::cast<std::string>(nb::inst_name(object_)) +
                          "; pass an array of numpy, PyTorch or another library with DLPack")
                             .c_str());
  }
  if (access == Access::kWrite && nb::cast<bool>(call_python_part("is_immutable", object_))) {
    refuse(name + " is an array of JAX, which is never written; pass an array that may be");
  }
  const nb::object pair = call_python_part("as_dlpack", object_);
  const auto type_name = nb::cast<std::string>(pair[1]);
  const nb::object array(pair[0]);
  if (!run_python([&] { return nb::try_cast(array, other_); })) {
    const auto reason = nb::cast<std::string>(call_python_part("why_no_dlpack", array));
    reason.empty() ? refuse_type() : refuse(name + " cannot be read: " + reason);
  }
  if (nb::ndarray<> written;
      access == Access::kWrite && !run_python([&] { return nb::try_cast(array, written); })) {
    refuse(name + " is read-only; pass an array that may be written");
  }
  const auto dimensions = static_cast<int>(other_.ndim());
  const nb::dlpack::dltensor tensor{.data = const_cast<void*>(other_.data()),
                                    .device = {other_.device_type(), other_.device_id()},
                                    .ndim = dimensions,
                                    .dtype = other_.dtype(),
                                    .shape = const_cast<std::int64_t*>(other_.shape_ptr()),
                                    .strides = const_cast<std::int64_t*>(other_.stride_ptr())};
  if (type_name.empty()) {
    set(tensor);
  } else {
    auto typed = tensor;
    const auto& type = *find_type([&](const ElementType& one) { return one.name == type_name; });
    typed.dtype = {type.dlpack_code, type.bits, 1};
    set(typed);
  }
}

void Array::set(const nb::dlpack::dltensor& tensor) {
  const auto* const type = find_type([&](const ElementType& one) {
    return tensor.dtype.code == one.dlpack_code && tensor.dtype.bits == one.bits &&
           tensor.dtype.lanes == 1;
  });
  if (type == nullptr) {
    refuse_type();
  }
  view_.type = type->type;
  view_.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  set_device(tensor.device.device_type, tensor.device.device_id);
  check_alignment();
  set_dimensions(tensor.ndim);
  std::copy_n(tensor.shape, tensor.ndim, view_.sizes.begin());
  std::int64_t packed = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    view_.strides[static_cast<std::size_t>(i)] =
        tensor.strides != nullptr ? tensor.strides[i]
                                  : std::exchange(packed, packed * view_.size(i));
  }
}

// Pinned host memory belongs to the host.
void Array::set_device(int dlpack_type, int id) {
  switch (dlpack_type) {
    case nb::device::cpu::value:
    case nb::device::cuda_host::value:
      view_.device = kHost;
      return;
    case nb::device::cuda::value:
    case nb::device::cuda_managed::value:
      view_.device = id;
      return;
    default:
      refuse(std::string(view_.name) + " is on a device of DLPack type " +
             std::to_string(dlpack_type) + "; only the CPU and NVIDIA GPUs are supported");
  }
}

void Array::set_dimensions(int dimensions) {
  if (dimensions > View::kMostDimensions) {
    refuse(std::string(view_.name) + " has " + std::to_string(dimensions) +
           " dimensions; it must be a matrix, or a batch of matrices with 3 dimensions");
  }
  view_.dimensions = dimensions;
}

void Array::check_alignment() const {
  const std::uintptr_t size = known(view_.type).bits / 8U;
  if (std::bit_cast<std::uintptr_t>(view_.data) % size != 0) {
    refuse(std::string(view_.name) + " is not aligned: its address is no multiple of the " +
           std::to_string(size) + " bytes of an element; pass a copy");
  }
}

void Array::refuse_type() const {
  const nb::object type = nb::getattr(object_, "dtype", nb::str("an unknown type"));
  const nb::object text = run_python([&] { return nb::str(type); });
  refuse(std::string(view_.name) + " has elements of " + nb::cast<std::string>(text) + "; " +
         (only_ ? "pass an array of " + std::string(known(*only_).name) : supported_types()));
}

void* Array::current_stream() const {
  if (view_.device == kHost) {
    return nullptr;
  }
  if (exchange_ == nullptr) {
    return PyLong_AsVoidPtr(call_python_part("current_stream", object_).ptr());
  }
  void* stream = nullptr;
  if (exchange_->current_stream(nb::device::cuda::value, view_.device, &stream) != 0) {
    throw nb::python_error();
  }
  return stream;
}

nb::object Array::make(std::span<const std::int64_t> shape, tunedgemm_type type) const {
  const ElementType& element = known(type);
  if (exchange_ == nullptr) {
    const nb::tuple extents = shape.size() == 2 ? nb::make_tuple(shape[0], shape[1])
                                                : nb::make_tuple(shape[0], shape[1], shape[2]);
    return call_python_part("new_array", object_, extents, element.name);
  }
  nb::dlpack::dltensor prototype{
      .device = {view_.device == kHost ? nb::device::cpu::value : nb::device::cuda::value,
                 std::max(view_.device, 0)},
      .ndim = static_cast<std::int32_t>(shape.size()),
      .dtype = {element.dlpack_code, element.bits, 1},
      .shape = const_cast<std::int64_t*>(shape.data())};
  const auto set_error = [](void* /*error*/, const char* kind, const char* message) {
    PyErr_SetString(
        std::string_view(kind) == "MemoryError" ? PyExc_MemoryError : PyExc_RuntimeError, message);
  };
  void *managed_tensor = nullptr, *object = nullptr;
  if (exchange_->allocate(&prototype, &managed_tensor, nullptr, set_error) != 0 ||
      exchange_->object_of(managed_tensor, &object) != 0) {
    throw nb::python_error();
  }
  return nb::steal(static_cast<PyObject*>(object));
}

tunedgemm_type type_named(std::string_view argument, nb::handle type) {
  const auto name = text_of(argument, call_python_part("name_of_type", type));
  const auto* const found = find_type([&](const ElementType& one) { return one.name == name; });
  if (found == nullptr) {
    refuse(std::string(argument) + " is " + name + "; " + supported_types());
  }
  return found->type;
}

}  // namespace tunedgemm::python
