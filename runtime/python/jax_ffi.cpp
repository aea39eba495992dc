// A custom call has the operands A, B, then C, the bias and the scales of A and B as far as the
// attributes say so, all row-major and packed. Matrices have the shape (batch..., rows, columns),
// the bias (batch..., extent), scales (batch..., 1). The batch dimensions are those of the result D
// or 1, for what all their indices share: jax.vmap with the method "expand_dims" adds such
// dimensions in front.

#include "runtime/python/jax_ffi.h"

namespace nb = nanobind;

#ifdef TUNEDGEMM_JAXLIB  // the version of jaxlib whose headers are used

#include <xla/ffi/api/ffi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "runtime/python/context.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::python {

/// The attributes of a custom call. Names and numbers of enumerators are those of the C interface.
struct ProductAttributes {
  std::int32_t activation, bias, numerics, order_a, order_b;
  bool has_c, has_scale_a, has_scale_b;
  double alpha, beta, slope;
};

}  // namespace tunedgemm::python

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(
    tunedgemm::python::ProductAttributes, StructMember<std::int32_t>("activation"),
    StructMember<std::int32_t>("bias"), StructMember<std::int32_t>("numerics"),
    StructMember<std::int32_t>("order_a"), StructMember<std::int32_t>("order_b"),
    StructMember<bool>("has_c"), StructMember<bool>("has_scale_a"),
    StructMember<bool>("has_scale_b"), StructMember<double>("alpha"), StructMember<double>("beta"),
    StructMember<double>("slope"));

namespace tunedgemm::python {
namespace {

namespace ffi = xla::ffi;

constexpr std::size_t kVector = 1, kMatrix = 2;

/// An array of XLA as a batch of vectors or matrices.
class Operand {
 public:
  Operand(const ffi::AnyBuffer& array, std::size_t rank) : array_(array), rank_(rank) {}

  ffi::DataType type() const { return array_.element_type(); }
  std::size_t batch_rank() const { return array_.dimensions().size() - rank_; }
  std::int64_t extent(std::size_t dimension) const { return array_.dimensions()[dimension]; }
  std::int64_t rows() const { return extent(batch_rank()); }
  std::int64_t columns() const { return extent(batch_rank() + 1); }
  bool is_empty() const { return array_.element_count() == 0; }

  /// Whether all of d's batch indices from a dimension on share one item.
  bool is_shared(const Operand& d, std::size_t first) const {
    return every(d, first, [](std::int64_t extent, std::int64_t) { return extent == 1; });
  }

  /// Whether one batched product can read the items of d's batch indices from a dimension on.
  bool is_uniform(const Operand& d, std::size_t first) const {
    const auto is_own = [](std::int64_t extent, std::int64_t of_d) { return extent == of_d; };
    return is_shared(d, first) || (rank_ == kMatrix && every(d, first, is_own));
  }

  /// The first item of d's batch index, counted over the dimensions before `first`.
  void* item(const Operand& d, std::size_t first, std::int64_t index) const {
    const ffi::Span<const std::int64_t> extents = array_.dimensions();
    auto stride = static_cast<std::int64_t>(ffi::ByteWidth(type()));
    for (std::size_t i = first; i < extents.size(); ++i) {
      stride *= extents[i];
    }
    std::int64_t offset = 0;
    for (std::size_t i = first; i-- > 0;) {
      offset += extents[i] == 1 ? 0 : index % d.extent(i) * stride;
      index /= d.extent(i);
      stride *= extents[i];
    }
    return static_cast<std::byte*>(array_.untyped_data()) + offset;
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
  std::size_t rank_;
};

struct Operands {
  Operand a, b, d;
  std::optional<Operand> c, bias, scale_a, scale_b;
};

Operands operands_of(const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& d,
                     const ProductAttributes& attributes) {
  std::size_t next = 0;
  const auto take = [&](std::size_t rank) {
    return Operand(arguments.get<ffi::AnyBuffer>(next++).value(), rank);
  };
  const auto take_if = [&](bool is_given, std::size_t rank) {
    return is_given ? std::optional(take(rank)) : std::nullopt;
  };
  const Operand a = take(kMatrix), b = take(kMatrix);
  Operands operands{.a = a, .b = b, .d = Operand(d, kMatrix)};
  operands.c = take_if(attributes.has_c, kMatrix);
  operands.bias = take_if(attributes.bias != TUNEDGEMM_BIAS_NONE, kVector);
  operands.scale_a = take_if(attributes.has_scale_a, kVector);
  operands.scale_b = take_if(attributes.has_scale_b, kVector);
  return operands;
}

/// The first batch dimension of those that a single batched product covers.
std::size_t first_in_product(const Operands& operands) {
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

tunedgemm_type type_of(const Operand& operand) {
  switch (operand.type()) {
    case ffi::F64:
      return TUNEDGEMM_TYPE_F64;
    case ffi::F32:
      return TUNEDGEMM_TYPE_F32;
    case ffi::F16:
      return TUNEDGEMM_TYPE_F16;
    case ffi::BF16:
      return TUNEDGEMM_TYPE_BF16;
    case ffi::F8E4M3FN:
      return TUNEDGEMM_TYPE_E4M3;
    case ffi::F8E5M2:
      return TUNEDGEMM_TYPE_E5M2;
    case ffi::S8:
      return TUNEDGEMM_TYPE_S8;
    case ffi::S32:
      return TUNEDGEMM_TYPE_S32;
    default:
      return {};  // refused by the library
  }
}

/// The product of the batch dimensions from `first` on.
tunedgemm_problem problem_of(const Operands& operands, const ProductAttributes& attributes,
                             std::size_t first) {
  const Operand &a = operands.a, &b = operands.b, &d = operands.d;
  tunedgemm_problem problem;
  const bool is_transposed = attributes.order_a == TUNEDGEMM_ORDER_COLUMN_MAJOR;
  tunedgemm_problem_init(&problem, d.rows(), d.columns(), is_transposed ? a.rows() : a.columns(),
                         type_of(a), type_of(b), type_of(d));
  for (std::size_t i = first; i < d.batch_rank(); ++i) {
    problem.batch *= d.extent(i);
  }
  const auto batch_stride = [&](const Operand& operand) {
    return problem.batch > 1 && operand.is_shared(d, first) ? TUNEDGEMM_BROADCAST : 0;
  };
  problem.order_a = static_cast<tunedgemm_order>(attributes.order_a);
  problem.order_b = static_cast<tunedgemm_order>(attributes.order_b);
  problem.batch_stride_a = batch_stride(a);
  problem.batch_stride_b = batch_stride(b);
  problem.batch_stride_c = operands.c ? batch_stride(*operands.c) : 0;
  problem.activation = static_cast<tunedgemm_activation>(attributes.activation);
  problem.bias = static_cast<tunedgemm_bias>(attributes.bias);
  problem.numerics = static_cast<tunedgemm_numerics>(attributes.numerics);
  return problem;
}

tunedgemm_buffers buffers_of(const Operands& operands, const ProductAttributes& attributes,
                             std::size_t first, std::int64_t index) {
  const auto item = [&](const std::optional<Operand>& operand) {
    return operand ? operand->item(operands.d, first, index) : nullptr;
  };
  tunedgemm_buffers buffers;
  tunedgemm_buffers_init(&buffers);
  buffers.a = item(operands.a), buffers.b = item(operands.b);
  buffers.c = item(operands.c), buffers.d = item(operands.d);
  buffers.bias = item(operands.bias);
  buffers.scale_a = static_cast<const float*>(item(operands.scale_a));
  buffers.scale_b = static_cast<const float*>(item(operands.scale_b));
  buffers.alpha = attributes.alpha, buffers.beta = attributes.beta;
  buffers.slope = static_cast<float>(attributes.slope);
  return buffers;
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

/// Calls `act` with the problem and the buffers of each product until one fails.
template <class Act>
ffi::Error for_each_product(const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& d,
                            const ProductAttributes& attributes, Act act) try {
  const Operands operands = operands_of(arguments, d, attributes);
  if (operands.d.is_empty()) {
    return ffi::Error::Success();
  }
  const std::size_t first = first_in_product(operands);
  const tunedgemm_problem problem = problem_of(operands, attributes, first);
  std::int64_t products = 1;
  for (std::size_t i = 0; i < first; ++i) {
    products *= operands.d.extent(i);
  }
  for (std::int64_t index = 0; index < products; ++index) {
    const tunedgemm_buffers buffers = buffers_of(operands, attributes, first, index);
    if (const tunedgemm_status status = act(problem, buffers); status != TUNEDGEMM_STATUS_OK) {
      return error_of(status);
    }
  }
  return ffi::Error::Success();
} catch (const std::exception& error) {  // of default_context()
  return ffi::Error::Internal(error.what());
}

ffi::Error multiply(int device, void* stream, const ffi::RemainingArgs& arguments,
                    const ffi::AnyBuffer& d, const ProductAttributes& attributes) {
  return for_each_product(arguments, d, attributes,
                          [&](const tunedgemm_problem& problem, const tunedgemm_buffers& buffers) {
                            return tunedgemm_matmul(default_context(device).get(), &problem,
                                                    &buffers, stream);
                          });
}

ffi::Error multiply_on_host(ffi::RemainingArgs arguments, ffi::Result<ffi::AnyBuffer> d,
                            ProductAttributes attributes) {
  return multiply(kHost, nullptr, arguments, *d, attributes);
}

ffi::Error multiply_on_cuda(std::int32_t ordinal, void* stream, ffi::RemainingArgs arguments,
                            ffi::Result<ffi::AnyBuffer> d, ProductAttributes attributes) {
  return multiply(ordinal, stream, arguments, *d, attributes);
}

/// XLA calls it before each run, and never during a capture, so that tuning happens here.
ffi::Error plan_on_cuda(std::int32_t ordinal, ffi::RemainingArgs arguments,
                        ffi::Result<ffi::AnyBuffer> d, ProductAttributes attributes) {
  return for_each_product(arguments, *d, attributes,
                          [&](const tunedgemm_problem& problem, const tunedgemm_buffers& buffers) {
                            const tunedgemm_plan* plan = nullptr;
                            return tunedgemm_plan_create(default_context(ordinal).get(), &problem,
                                                         &buffers, nullptr, &plan);
                          });
}

XLA_FFI_DEFINE_HANDLER(
    kMultiplyOnHost, multiply_on_host,
    ffi::Ffi::Bind().RemainingArgs().Ret<ffi::AnyBuffer>().Attrs<ProductAttributes>());
XLA_FFI_DEFINE_HANDLER(kMultiplyOnCuda, multiply_on_cuda,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::DeviceOrdinal>()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>()
                           .Attrs<ProductAttributes>(),
                       {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER(kPlanOnCuda, plan_on_cuda,
                       ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>()
                           .Ctx<ffi::DeviceOrdinal>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>()
                           .Attrs<ProductAttributes>(),
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
