// The extension module tunedgemm._core: contexts, plans and matmul over the C interface. The
// package tunedgemm (the Python files) adds what needs the producer of an array: outputs and
// streams.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/python/context.h"
#include "runtime/python/jax_ffi.h"
#include "runtime/python/problem.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tunedgemm::python {
namespace {

Array writable(const nb::object& out) {
  nb::ndarray<> array;
  if (!nb::try_cast(out, array)) {
    throw nb::value_error("out is read-only, or has no DLPack; pass an array that may be written");
  }
  return Array(array);
}

std::shared_ptr<tunedgemm_context> context_for(const Operands& operands, const Context* context) {
  return context != nullptr ? context->get() : default_context(operands.device);
}

void matmul(const Call& call, std::uintptr_t stream, const Context* context) {
  const Operands operands = operands_of(call);
  const std::shared_ptr<tunedgemm_context> used = context_for(operands, context);
  tunedgemm_status status;
  {
    const nb::gil_scoped_release released;
    status = tunedgemm_matmul(used.get(), &operands.problem, &operands.buffers,
                              std::bit_cast<void*>(stream));
  }
  check(status);
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
  Plan(const Call& call, const std::string& policy, const std::optional<std::string>& name,
       double accepted_loss, const Context* context) {
    const Operands operands = operands_of(call);
    tunedgemm_plan_options options;
    tunedgemm_plan_options_init(&options);
    options.policy = policy_of(policy);
    options.name = name ? name->c_str() : nullptr;
    options.accepted_loss = accepted_loss;
    const std::shared_ptr<tunedgemm_context> used = context_for(operands, context);
    tunedgemm_status status;
    {
      const nb::gil_scoped_release released;
      status =
          tunedgemm_plan_create(used.get(), &operands.problem, &operands.buffers, &options, &plan_);
    }
    check(status);
    problem_ = operands.problem;
    context_ = used;
  }

  void run(const Call& call, std::uintptr_t stream) const {
    const std::shared_ptr<tunedgemm_context> used = context();
    const Operands operands = operands_of(call);
    if (!is_same(operands.problem, problem_)) {
      throw nb::value_error(
          "the arrays have other shapes, strides or types than those of the plan; make another "
          "plan");
    }
    tunedgemm_status status;
    {
      const nb::gil_scoped_release released;
      status = tunedgemm_run(plan_, &operands.buffers, std::bit_cast<void*>(stream));
    }
    check(status);
  }

  std::string description() const {
    const std::shared_ptr<tunedgemm_context> used = context();
    return tunedgemm_plan_description(plan_);
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

  tunedgemm_problem problem_;
  const tunedgemm_plan* plan_ = nullptr;
  std::weak_ptr<tunedgemm_context> context_;
};

}  // namespace
}  // namespace tunedgemm::python

NB_MODULE(_core, module) {
  using namespace tunedgemm::python;

  nb::class_<Call>(module, "Call", "The arguments of one product; see tunedgemm.matmul.")
      .def(
          "__init__",
          [](Call* self, Array a, Array b, const nb::object& out, std::optional<Array> c,
             std::optional<Array> bias, std::optional<Array> scale_a, std::optional<Array> scale_b,
             std::string type_of_a, std::string type_of_b, std::string type_of_out,
             std::string type_of_c, std::string type_of_bias, double alpha, double beta,
             double slope, std::string activation, std::string numerics) {
            new (self) Call{.a = std::move(a),
                            .b = std::move(b),
                            .out = writable(out),
                            .c = std::move(c),
                            .bias = std::move(bias),
                            .scale_a = std::move(scale_a),
                            .scale_b = std::move(scale_b),
                            .type_of_a = std::move(type_of_a),
                            .type_of_b = std::move(type_of_b),
                            .type_of_out = std::move(type_of_out),
                            .type_of_c = std::move(type_of_c),
                            .type_of_bias = std::move(type_of_bias),
                            .alpha = alpha,
                            .beta = beta,
                            .slope = slope,
                            .activation = std::move(activation),
                            .numerics = std::move(numerics)};
          },
          "a"_a, "b"_a, "out"_a, nb::kw_only(), "c"_a.none() = nb::none(),
          "bias"_a.none() = nb::none(), "scale_a"_a.none() = nb::none(),
          "scale_b"_a.none() = nb::none(), "type_of_a"_a = "", "type_of_b"_a = "",
          "type_of_out"_a = "", "type_of_c"_a = "", "type_of_bias"_a = "", "alpha"_a = 1.0,
          "beta"_a = 0.0, "slope"_a = 0.01, "activation"_a = "none", "numerics"_a = "default");

  nb::class_<Context>(
      module, "Context",
      "One device and one cache file, with the plans and kernels made with them.\n\n"
      "Threads may share it. `with Context(...) as context:` closes it at the end.")
      .def(
          "__init__",
          [](Context* self, std::string device, std::optional<std::string> cache,
             std::string policy, std::string rigor, int threads, double seconds, int candidates) {
            new (self) Context({.device = std::move(device),
                                .cache = std::move(cache),
                                .policy = std::move(policy),
                                .rigor = std::move(rigor),
                                .threads = threads,
                                .candidates = candidates,
                                .seconds = seconds});
          },
          "device"_a = "auto", nb::kw_only(), "cache"_a.none() = nb::none(), "policy"_a = "default",
          "rigor"_a = "default", "threads"_a = 0, "seconds"_a = 0.0, "candidates"_a = 0,
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
      .def("__enter__", [](nb::object self) { return self; })
      .def(
          "__exit__", [](Context& self, const nb::args&) { self.close(); }, nb::arg("args"));

  nb::class_<Plan>(module, "Plan",
                   "A product whose kernel is chosen and loaded; see tunedgemm.plan.")
      .def(nb::init<const Call&, const std::string&, const std::optional<std::string>&, double,
                    const Context*>(),
           "call"_a, "policy"_a = "default", "name"_a.none() = nb::none(), "accepted_loss"_a = 0.0,
           "context"_a.none() = nb::none(), nb::keep_alive<1, 6>())
      .def("_run", &Plan::run, "call"_a, "stream"_a = 0)
      .def_prop_ro("description", &Plan::description,
                   "One line for people: family, config and origin of the kernel.");

  module.def("matmul", &matmul, "call"_a, "stream"_a = 0, "context"_a.none() = nb::none());
  module.def("_close_default_contexts", &close_default_contexts, "for_good"_a);
  module.def("_jax_handlers", &jax_handlers);
}
