// A custom call has the operands A, B, then C, the bias and the scales of A and B as far as the
// attributes say so, all row-major and packed, with the shape (batch..., rows, columns): (1, N) or
// (M, 1) of a bias, (1, 1) of a scale. The batch dimensions are those of the result D or 1, for
// what all their indices share: jax.vmap with the method "expand_dims" adds such dimensions in
// front.

#include "runtime/python/jax_ffi.h"

namespace nb = nanobind;

#ifdef TUNEDGEMM_JAXLIB  // the version of jaxlib whose headers are used

#include <xla/ffi/api/ffi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/python/call.h"
#include "runtime/python/context.h"
#include "runtime/python/element_types.h"
#include "runtime/python/names.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// The attributes of a custom call. Activation and numerics have their names.
struct CallAttributes {
  std::string_view activation, numerics;
  bool transpose_a, transpose_b, has_c, has_bias, has_scale_a, has_scale_b, invariant;
  std::int64_t sm_limit;
  double alpha, beta, slope;
};

}  // namespace tunedgemm::python

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(
    tunedgemm::python::CallAttributes, StructMember<std::string_view>("activation"),
    StructMember<std::string_view>("numerics"), StructMember<bool>("transpose_a"),
    StructMember<bool>("transpose_b"), StructMember<bool>("has_c"), StructMember<bool>("has_bias"),
    StructMember<bool>("has_scale_a"), StructMember<bool>("has_scale_b"),
    StructMember<bool>("invariant"), StructMember<std::int64_t>("sm_limit"),
    StructMember<double>("alpha"), StructMember<double>("beta"), StructMember<double>("slope"));

namespace tunedgemm::python {
namespace {

namespace ffi = xla::ffi;

constexpr std::size_t kRank = 2;  // of a matrix

/// Whether one batched product may read an operand's own matrix for each batch index.
enum class InBatch { kShared, kOwn };

/// An array of XLA as a batch of matrices.
class Operand {
 public:
  Operand(const ffi::AnyBuffer& array, InBatch in_batch) : array_(array), in_batch_(in_batch) {}

  std::size_t batch_rank() const { return array_.dimensions().size() - kRank; }
  std::int64_t extent(std::size_t dimension) const { return array_.dimensions()[dimension]; }
  bool is_empty() const { return array_.element_count() == 0; }

  /// Whether all of d's batch indices from a dimension on share one item.
  bool is_shared(const Operand& d, std::size_t first) const {
    return every(d, first, [](std::int64_t extent, std::int64_t) { return extent == 1; });
  }

  /// Whether one batched product can read the items of d's batch indices from a dimension on.
  bool is_uniform(const Operand& d, std::size_t first) const {
    const auto is_own = [](std::int64_t extent, std::int64_t of_d) { return extent == of_d; };
    return is_shared(d, first) || (in_batch_ == InBatch::kOwn && every(d, first, is_own));
  }

  /// The matrices of one product: d's batch index, counted over the dimensions before `first`, and
  /// all indices of the others.
  View view(std::string_view name, const Operand& d, std::size_t first, std::int64_t index,
            int device) const {
    const std::int64_t rows = extent(batch_rank()), columns = extent(batch_rank() + 1);
    std::int64_t batch = 1, offset = 0;
    for (std::size_t i = first; i < batch_rank(); ++i) {
      batch *= extent(i);
    }
    std::int64_t stride = batch * rows * columns;
    for (std::size_t i = first; i-- > 0;) {
      offset += extent(i) == 1 ? 0 : index % d.extent(i) * stride;
      index /= d.extent(i);
      stride *= extent(i);
    }
    const ElementType* const type = find_type([&](const ElementType& one) {
      return one.xla_type == static_cast<std::int32_t>(array_.element_type());
    });
    if (type == nullptr) {
      refuse(std::string(name) + " has an element type that is not supported");
    }
    return {.name = name,
            .data = static_cast<std::byte*>(array_.untyped_data()) + offset * type->bits / 8,
            .dimensions = 3,
            .sizes = {batch, rows, columns},
            .strides = {rows * columns, columns, 1},
            .type = type->type,
            .device = device};
  }

 private:
  template <class Predicate>
  bool every(const Operand& d, std::size_t first, Predicate predicate) const {
    for (std::size_t i = first; i < batch_rank(); ++i) {
      if (d.extent(i) != 1 && !predicate(extent(i), d.extent(i))) {
        return false;
      }
    }
    return true;
  }

  ffi::AnyBuffer array_;
  InBatch in_batch_;
};

struct BatchedOperands {
  Operand a, b, d;
  std::optional<Operand> c, bias, scale_a, scale_b;
};

BatchedOperands operands_of(const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& d,
                            const CallAttributes& attributes) {
  std::size_t next = 0;
  const auto take = [&](InBatch in_batch) {
    return Operand(arguments.get<ffi::AnyBuffer>(next++).value(), in_batch);
  };
  const auto take_if = [&](bool is_given, InBatch in_batch) {
    return is_given ? std::optional(take(in_batch)) : std::nullopt;
  };
  const Operand a = take(InBatch::kOwn), b = take(InBatch::kOwn);
  BatchedOperands operands{.a = a, .b = b, .d = Operand(d, InBatch::kOwn)};
  operands.c = take_if(attributes.has_c, InBatch::kOwn);
  operands.bias = take_if(attributes.has_bias, InBatch::kShared);
  operands.scale_a = take_if(attributes.has_scale_a, InBatch::kShared);
  operands.scale_b = take_if(attributes.has_scale_b, InBatch::kShared);
  return operands;
}

/// The first batch dimension of those that a single batched product covers.
std::size_t first_in_product(const BatchedOperands& operands) {
  const auto is_uniform = [&](const std::optional<Operand>& operand, std::size_t first) {
    return !operand || operand->is_uniform(operands.d, first);
  };
  std::size_t first = operands.d.batch_rank();
  while (first > 0 && is_uniform(operands.a, first - 1) && is_uniform(operands.b, first - 1) &&
         is_uniform(operands.c, first - 1) && is_uniform(operands.bias, first - 1) &&
         is_uniform(operands.scale_a, first - 1) && is_uniform(operands.scale_b, first - 1)) {
    --first;
  }
  return first;
}

View transposed(View view) {
  std::swap(view.sizes[1], view.sizes[2]);
  std::swap(view.strides[1], view.strides[2]);
  return view;
}

// The one matrix of an operand that all batch indices share.
View single(View view) {
  view.dimensions = 2;
  view.sizes = {view.sizes[1], view.sizes[2]};
  view.strides = {view.strides[1], view.strides[2]};
  return view;
}

/// The call of one product, see Operand::view().
Call call_of(const BatchedOperands& operands, const CallAttributes& attributes, std::size_t first,
             std::int64_t index, int device) {
  const auto view = [&](std::string_view name, const Operand& operand) {
    return operand.view(name, operands.d, first, index, device);
  };
  const auto shared = [&](std::string_view name, const std::optional<Operand>& operand) {
    return operand ? std::optional(single(view(name, *operand))) : std::nullopt;
  };
  View a = view("a", operands.a), b = view("b", operands.b);
  a = attributes.transpose_a ? transposed(a) : a;
  b = attributes.transpose_b ? transposed(b) : b;
  const View d = view("the result", operands.d);
  const auto c = operands.c ? std::optional(view("c", *operands.c)) : std::nullopt;
  const auto bias = shared("bias", operands.bias);
  const auto scale_a = shared("scale_a", operands.scale_a);
  const auto scale_b = shared("scale_b", operands.scale_b);
  return python::call_of({.a = &a,
                          .b = &b,
                          .d = &d,
                          .c = pointer_to(c),
                          .bias = pointer_to(bias),
                          .scale_a = pointer_to(scale_a),
                          .scale_b = pointer_to(scale_b)},
                         {.alpha = attributes.alpha,
                          .beta = attributes.beta,
                          .slope = attributes.slope,
                          .activation = activation_of(attributes.activation),
                          .numerics = numerics_of(attributes.numerics),
                          .invariant = attributes.invariant,
                          .sm_limit = static_cast<int>(attributes.sm_limit)});
}

ffi::Error error_of(tunedgemm_status status) {
  const auto code = [&] {
    switch (status) {
      case TUNEDGEMM_STATUS_INVALID_ARGUMENT:
        return ffi::ErrorCode::kInvalidArgument;
      case TUNEDGEMM_STATUS_UNSUPPORTED:
        return ffi::ErrorCode::kUnimplemented;
      case TUNEDGEMM_STATUS_NOT_TUNED:
        return ffi::ErrorCode::kFailedPrecondition;
      case TUNEDGEMM_STATUS_OUT_OF_MEMORY:
        return ffi::ErrorCode::kResourceExhausted;
      case TUNEDGEMM_STATUS_NO_DEVICE:
        return ffi::ErrorCode::kUnavailable;
      default:
        return ffi::ErrorCode::kInternal;
    }
  };
  return {code(), tunedgemm_error_message()};
}

/// Calls `act` with the call of each product until one fails.
template <class Act>
ffi::Error for_each_product(int device, const ffi::RemainingArgs& arguments,
                            const ffi::AnyBuffer& d, const CallAttributes& attributes,
                            Act act) try {
  const BatchedOperands operands = operands_of(arguments, d, attributes);
  if (operands.d.is_empty()) {
    return ffi::Error::Success();
  }
  const std::size_t first = first_in_product(operands);
  std::int64_t products = 1;
  for (std::size_t i = 0; i < first; ++i) {
    products *= operands.d.extent(i);
  }
  for (std::int64_t index = 0; index < products; ++index) {
    const Call call = call_of(operands, attributes, first, index, device);
    if (const tunedgemm_status status = act(call); status != TUNEDGEMM_STATUS_OK) {
      return error_of(status);
    }
  }
  return ffi::Error::Success();
} catch (const std::exception& error) {  // of default_context()
  return ffi::Error::Internal(error.what());
}

ffi::Error multiply(int device, void* stream, const ffi::RemainingArgs& arguments,
                    const ffi::AnyBuffer& d, const CallAttributes& attributes) {
  return for_each_product(device, arguments, d, attributes, [&](const Call& call) {
    return tunedgemm_matmul(default_context(device).get(), &call.problem, &call.buffers, stream);
  });
}

ffi::Error multiply_on_host(ffi::RemainingArgs arguments, ffi::Result<ffi::AnyBuffer> d,
                            CallAttributes attributes) {
  return multiply(kHost, nullptr, arguments, *d, attributes);
}

ffi::Error multiply_on_cuda(std::int32_t ordinal, void* stream, ffi::RemainingArgs arguments,
                            ffi::Result<ffi::AnyBuffer> d, CallAttributes attributes) {
  return multiply(ordinal, stream, arguments, *d, attributes);
}

/// XLA calls it before each run, and never during a capture, so that tuning happens here.
ffi::Error plan_on_cuda(std::int32_t ordinal, ffi::RemainingArgs arguments,
                        ffi::Result<ffi::AnyBuffer> d, CallAttributes attributes) {
  return for_each_product(ordinal, arguments, *d, attributes, [&](const Call& call) {
    const tunedgemm_plan* plan = nullptr;
    return tunedgemm_plan_create(default_context(ordinal).get(), &call.problem, &call.buffers,
                                 nullptr, &plan);
  });
}

XLA_FFI_DEFINE_HANDLER(
    kMultiplyOnHost, multiply_on_host,
    ffi::Ffi::Bind().RemainingArgs().Ret<ffi::AnyBuffer>().Attrs<CallAttributes>());
XLA_FFI_DEFINE_HANDLER(kMultiplyOnCuda, multiply_on_cuda,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::DeviceOrdinal>()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>()
                           .Attrs<CallAttributes>(),
                       {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER(kPlanOnCuda, plan_on_cuda,
                       ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>()
                           .Ctx<ffi::DeviceOrdinal>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>()
                           .Attrs<CallAttributes>(),
                       {ffi::Traits::kCmdBufferCompatible});

nb::capsule capsule_of(XLA_FFI_Handler* handler) {
  return nb::capsule(reinterpret_cast<void*>(handler));
}

}  // namespace

nb::tuple jax_handlers() {
  nb::dict cpu, cuda, handlers;
  cpu["execute"] = capsule_of(kMultiplyOnHost);
  cuda["execute"] = capsule_of(kMultiplyOnCuda);
  cuda["initialize"] = capsule_of(kPlanOnCuda);
  handlers["cpu"] = cpu;
  handlers["CUDA"] = cuda;
  return nb::make_tuple(TUNEDGEMM_JAXLIB, handlers);
}

}  // namespace tunedgemm::python

#else

nb::tuple tunedgemm::python::jax_handlers() {
  return nb::make_tuple("", nb::dict());
}

#endif
