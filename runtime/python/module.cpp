// The extension module tunedgemm._core: contexts, plans and matmul over the C interface. The
// package tunedgemm (the Python files) adds what needs the producer of an array: outputs and
// streams.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/python/context.h"
#include "runtime/python/gil.h"
#include "runtime/python/jax_ffi.h"
#include "runtime/python/layout.h"
#include "runtime/python/problem.h"
#include "runtime/python/torch_ops.h"
#include "runtime/python/values.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tunedgemm::python {
namespace {

std::shared_ptr<tunedgemm_context> context_for(const Product& product, const Context* context) {
  return context != nullptr ? context->get() : default_context(product.device());
}

// The stream that the caller names, or that of the arrays' library.
void* stream_for(const Product& product, nb::handle stream) {
  return stream.is_none() ? product.current_stream() : stream_of(stream);
}

const Context* context_or_none(nb::handle context) {
  if (context.is_none()) {
    return nullptr;
  }
  if (!nb::isinstance<Context>(context)) {
    refuse_type_of("context", context, "a tunedgemm.Context or None");
  }
  return nb::inst_ptr<Context>(context);
}

Scalars scalars_of(nb::handle activation, nb::handle numerics, nb::handle out_dtype,
                   nb::handle alpha, nb::handle beta, nb::handle slope) {
  Scalars scalars{.alpha = number_of("alpha", alpha),
                  .beta = number_of("beta", beta),
                  .slope = number_of("slope", slope),
                  .activation = activation_of(text_of("activation", activation)),
                  .numerics = numerics_of(text_of("numerics", numerics))};
  if (!out_dtype.is_none()) {
    scalars.type_of_out = type_named("out_dtype", out_dtype);
  }
  return scalars;
}

nb::object matmul(nb::handle a, nb::handle b, nb::handle bias, nb::handle activation,
                  nb::handle out, nb::handle out_dtype, nb::handle c, nb::handle alpha,
                  nb::handle beta, nb::handle scale_a, nb::handle scale_b, nb::handle slope,
                  nb::handle numerics, nb::handle stream, nb::handle context) {
  const Product product({a, b, out, c, bias, scale_a, scale_b},
                        scalars_of(activation, numerics, out_dtype, alpha, beta, slope));
  const std::shared_ptr<tunedgemm_context> used = context_for(product, context_or_none(context));
  void* const used_stream = stream_for(product, stream);
  tunedgemm_status status;
  {
    const GilRelease released;
    status = tunedgemm_matmul(used.get(), &product.problem(), &product.buffers(), used_stream);
  }
  check(status);
  return product.out();
}

bool is_same(const tunedgemm_problem& a, const tunedgemm_problem& b) {
  const auto members = [](const tunedgemm_problem& p) {
    return std::tie(p.m, p.n, p.k, p.batch, p.type_a, p.type_b, p.type_d, p.order_a, p.order_b,
                    p.order_c, p.order_d, p.lda, p.ldb, p.ldc, p.ldd, p.batch_stride_a,
                    p.batch_stride_b, p.batch_stride_c, p.batch_stride_d, p.activation, p.bias,
                    p.numerics);
  };
  return members(a) == members(b);
}

class Plan {
 public:
  Plan(const Arguments& arguments, const Scalars& scalars, nb::handle policy, nb::handle name,
       nb::handle accepted_loss, nb::handle context)
      : scalars_(scalars) {
    tunedgemm_plan_options options;
    tunedgemm_plan_options_init(&options);
    options.policy = policy_of(text_of("policy", policy));
    const std::optional<std::string> given_name = text_or_none("name", name);
    options.name = given_name ? given_name->c_str() : nullptr;
    options.accepted_loss = number_of("accepted_loss", accepted_loss);
    const Context* const given_context = context_or_none(context);
    const Product product(arguments, scalars);
    const std::shared_ptr<tunedgemm_context> used = context_for(product, given_context);
    tunedgemm_status status;
    {
      const GilRelease released;
      status = tunedgemm_plan_create(used.get(), &product.problem(), &product.buffers(), &options,
                                     &plan_);
    }
    check(status);
    problem_ = product.problem();
    scalars_.type_of_out = problem_.type_d;
    context_ = used;
  }

  nb::object run(const Arguments& arguments, nb::handle stream) const {
    const std::shared_ptr<tunedgemm_context> used = context();
    const Product product(arguments, scalars_);
    if (!is_same(product.problem(), problem_)) {
      throw nb::value_error(
          "the arrays have other shapes, strides or types than those of the plan; make another "
          "plan");
    }
    void* const used_stream = stream_for(product, stream);
    tunedgemm_status status;
    {
      const GilRelease released;
      status = tunedgemm_run(plan_, &product.buffers(), used_stream);
    }
    check(status);
    return product.out();
  }

  std::string description() const {
    const std::shared_ptr<tunedgemm_context> used = context();
    return tunedgemm_plan_description(plan_);
  }

  nb::object info() const {
    const std::shared_ptr<tunedgemm_context> used = context();
    tunedgemm_plan_info info;
    tunedgemm_plan_info_init(&info);
    tunedgemm_status status;
    {
      const GilRelease released;
      status = tunedgemm_plan_get_info(plan_, &info);
    }
    check(status);
    nb::dict fields;
    fields["origin"] = static_cast<int>(info.origin);
    fields["median_us"] = info.median_us, fields["low_us"] = info.low_us;
    fields["high_us"] = info.high_us, fields["default_us"] = info.default_us;
    fields["naive_us"] = info.naive_us, fields["expected_loss"] = info.expected_loss;
    fields["expected_us"] = info.expected_us, fields["tuned_m"] = info.tuned_m;
    fields["workspace_bytes"] = info.workspace_bytes, fields["candidates"] = info.candidates;
    fields["spent_seconds"] = info.spent_seconds;
    fields["tuned_at"] = info.tuned_at, fields["tuned_with"] = info.tuned_with;
    const nb::object make = nb::module_::import_("tunedgemm._plan_info").attr("plan_info");
    return run_python([&] { return make(**fields); });
  }

 private:
  // The plan's context, which owns plan_.
  std::shared_ptr<tunedgemm_context> context() const {
    std::shared_ptr<tunedgemm_context> context = context_.lock();
    if (!context) {
      throw nb::value_error("the plan's context is closed; make another plan");
    }
    return context;
  }

  Scalars scalars_;
  tunedgemm_problem problem_;
  const tunedgemm_plan* plan_ = nullptr;
  std::weak_ptr<tunedgemm_context> context_;
};

}  // namespace
}  // namespace tunedgemm::python

NB_MODULE(_core, module) {
  using namespace tunedgemm::python;

  // At exit, threads that wait for ever (gil.h) still have objects. Nothing is printed about them.
  nb::set_leak_warnings(false);

  nb::class_<Context>(
      module, "Context",
      "One device and one cache file, with the plans and kernels made with them.\n\n"
      "Threads may share it. `with Context(...) as context:` closes it at the end.")
      .def(
          "__init__",
          [](Context* self, nb::handle device, nb::handle cache, nb::handle policy,
             nb::handle rigor, nb::handle threads, nb::handle seconds, nb::handle candidates) {
            new (self) Context({.device = text_of("device", device),
                                .cache = path_or_none("cache", cache),
                                .policy = text_of("policy", policy),
                                .rigor = text_of("rigor", rigor),
                                .threads = integer_of("threads", threads),
                                .candidates = integer_of("candidates", candidates),
                                .seconds = number_of("seconds", seconds)});
          },
          "device"_a.none() = "auto", nb::kw_only(), "cache"_a.none() = nb::none(),
          "policy"_a.none() = "default", "rigor"_a.none() = "default", "threads"_a.none() = 0,
          "seconds"_a.none() = 0.0, "candidates"_a.none() = 0,
          nb::sig("def __init__(self, device: str = 'auto', *, "
                  "cache: str | os.PathLike[str] | None = None, policy: str = 'default', "
                  "rigor: str = 'default', threads: int = 0, seconds: float = 0.0, "
                  "candidates: int = 0) -> None"),
          "device: 'auto', 'host', 'cuda' or 'cuda:1'.\n"
          "cache: the cache file; '' keeps winners in memory only; None: $TUNEDGEMM_CACHE, else\n"
          "    tunedgemm/tunedgemm.db in the user's cache folder.\n"
          "policy: what a product without a winner does: 'tune', 'tune_in_background', 'compile',\n"
          "    'stored' or 'fail'; 'default': $TUNEDGEMM_POLICY, else 'tune'.\n"
          "rigor: 'quick' (5 seconds), 'normal' (30 seconds) or 'exhaustive'.\n"
          "threads: of the host, at most 1024; 0: $TUNEDGEMM_THREADS, else all cores.\n"
          "seconds, candidates: limits of one tuning; 0: the rigor's.")
      .def("close", &Context::close,
           "Writes pending results to the cache and frees the kernels. Its plans cannot run any "
           "more.")
      .def("report", &Context::report,
           "Several lines for people: device, toolchain, state of the cache, plans by origin.")
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Context"))
      .def(
          "__exit__", [](Context& self, const nb::args&) { self.close(); }, nb::arg("args"));

  nb::class_<Plan>(module, "Plan",
                   "A product whose kernel is chosen and loaded; made by tunedgemm.plan(). Threads "
                   "may share it.")
      .def(
          "__init__",
          [](Plan* self, nb::handle a, nb::handle b, nb::handle bias, nb::handle activation,
             nb::handle out, nb::handle out_dtype, nb::handle c, nb::handle alpha, nb::handle beta,
             nb::handle scale_a, nb::handle scale_b, nb::handle slope, nb::handle numerics,
             nb::handle policy, nb::handle name, nb::handle accepted_loss, nb::handle context) {
            new (self) Plan({a, b, out, c, bias, scale_a, scale_b},
                            scalars_of(activation, numerics, out_dtype, alpha, beta, slope), policy,
                            name, accepted_loss, context);
          },
          "a"_a.none(), "b"_a.none(), "bias"_a.none(), "activation"_a.none(), "out"_a.none(),
          "out_dtype"_a.none(), "c"_a.none(), "alpha"_a.none(), "beta"_a.none(), "scale_a"_a.none(),
          "scale_b"_a.none(), "slope"_a.none(), "numerics"_a.none(), "policy"_a.none(),
          "name"_a.none(), "accepted_loss"_a.none(), "context"_a.none(), nb::keep_alive<1, 18>())
      .def(
          "run",
          [](const Plan& self, nb::handle a, nb::handle b, nb::handle bias, nb::handle out,
             nb::handle c, nb::handle scale_a, nb::handle scale_b, nb::handle stream) {
            return self.run({a, b, out, c, bias, scale_a, scale_b}, stream);
          },
          "a"_a.none(), "b"_a.none(), nb::kw_only(), "bias"_a = nb::none(), "out"_a = nb::none(),
          "c"_a = nb::none(), "scale_a"_a = nb::none(), "scale_b"_a = nb::none(),
          "stream"_a = nb::none(),
          "The product of other arrays with the shapes, strides and types of the plan's; returns\n"
          "out. See tunedgemm.matmul().")
      .def_prop_ro("description", &Plan::description,
                   "One line for people: family, config and origin of the kernel.")
      .def_prop_ro("info", &Plan::info, nb::sig("def info(self) -> PlanInfo"),
                   "The kernel that the plan runs now, and its tuning.")
      .def("__repr__",
           [](const Plan& self) { return "<tunedgemm.Plan " + self.description() + ">"; });

  module.def("matmul", &matmul, "a"_a.none(), "b"_a.none(), "bias"_a.none(), "activation"_a.none(),
             "out"_a.none(), "out_dtype"_a.none(), "c"_a.none(), "alpha"_a.none(), "beta"_a.none(),
             "scale_a"_a.none(), "scale_b"_a.none(), "slope"_a.none(), "numerics"_a.none(),
             "stream"_a.none(), "context"_a.none());
  module.def(
      "result_type",
      [](nb::handle dtype) {
        return std::string(name_of(result_type(type_named("dtype", dtype))));
      },
      "dtype"_a, "The name of the element type of a product, by that of a.");
  module.def(
      "dlpack_type",
      [](nb::handle dtype) {
        const auto [code, bits] = dlpack_type(type_named("dtype", dtype));
        return nb::make_tuple(code, bits);
      },
      "dtype"_a, "DLPack's code and the bits of an element type.");
  module.def(
      "layout_of",
      [](std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
         std::int64_t column_stride) -> nb::object {
        const std::optional<Layout> layout = layout_of(rows, columns, row_stride, column_stride);
        if (!layout) {
          return nb::none();
        }
        return nb::make_tuple(layout->order == TUNEDGEMM_ORDER_ROW_MAJOR ? "n" : "t",
                              layout->leading_dimension);
      },
      "rows"_a, "columns"_a, "row_stride"_a, "column_stride"_a,
      "'n' for row-major or 't' for column-major, with the leading dimension, 0 if it means\n"
      "nothing; None if a matrix with these strides must be copied.");
  module.attr("activations") = activation_numbers();
  module.attr("numerics") = numerics_numbers();
  module.attr("__version__") = tunedgemm_version();
  module.def("_close_default_contexts", &close_default_contexts, "for_good"_a);
  module.def("_register_torch_operators", &register_torch_operators, "folder"_a);
  module.def("_jax_handlers", &jax_handlers);
}
