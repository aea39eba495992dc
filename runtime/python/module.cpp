// The extension module tunedgemm._core: contexts, plans and matmul over the C interface. The
// package tunedgemm (the Python files) adds outputs and streams, which the array's own library must
// provide.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/python/arrays.h"
#include "runtime/python/call.h"
#include "runtime/python/context.h"
#include "runtime/python/gil.h"
#include "runtime/python/jax_ffi.h"
#include "runtime/python/names.h"
#include "runtime/python/torch_ops.h"
#include "runtime/python/values.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tunedgemm::python {
namespace {

/// The argument that divides a grouped product.
struct GroupArgument {
  const char* name = "";
  tunedgemm_group_kind kind = TUNEDGEMM_GROUP_KIND_NONE;
  nb::handle numbers = Py_None;
};

/// The arguments of a call that are arrays. Except for a and b they may be None.
struct ArrayArguments {
  nb::handle a, b, out, c, bias, scale_a, scale_b;
  GroupArgument groups = {};
  bool zeroes_new_out = false;
};

/// A call whose arrays live as long as it.
class ArrayCall {
 public:
  /// Makes `out` if there is none, of `type_of_out` or else of the type that a gives. Throws
  /// ValueError if the arrays do not fit together, TypeError for what is no array.
  ArrayCall(const ArrayArguments& arguments, const Scalars& scalars,
            std::optional<tunedgemm_type> type_of_out)
      : a_("a", arguments.a),
        b_("b", arguments.b),
        groups_(groups_or_none(arguments.groups)),
        grouping_(grouping(arguments.groups.kind)),
        out_(given_or_new(arguments, scalars.beta, type_of_out)),
        d_("out", out_, Array::Access::kWrite),
        c_(array_or_none("c", arguments.c)),
        bias_(array_or_none("bias", arguments.bias)),
        scale_a_(array_or_none("scale_a", arguments.scale_a)),
        scale_b_(array_or_none("scale_b", arguments.scale_b)) {
    if (const tunedgemm_type type = d_.view().type; type_of_out && type != *type_of_out) {
      refuse("out_dtype is " + std::string(known(*type_of_out).name) +
             ", but out has elements of " + std::string(known(type).name) +
             "; give one of the two");
    }
    const auto view = [](const std::optional<Array>& array) {
      return array ? &array->view() : nullptr;
    };
    call_ = call_of({.a = &a_.view(),
                     .b = &b_.view(),
                     .d = &d_.view(),
                     .c = view(c_),
                     .bias = view(bias_),
                     .scale_a = view(scale_a_),
                     .scale_b = view(scale_b_),
                     .grouping = grouping_},
                    scalars);
  }

  const tunedgemm_problem& problem() const { return call_.problem; }
  const tunedgemm_buffers& buffers() const { return call_.buffers; }
  const nb::object& out() const { return out_; }
  std::shared_ptr<tunedgemm_context> context(const Context* given) const {
    return given != nullptr ? given->get() : default_context(a_.view().device);
  }
  /// The stream that the caller names, or that of the arrays' library.
  void* stream(nb::handle given) const {
    return given.is_none() ? a_.current_stream() : stream_of(given);
  }

 private:
  static std::optional<Array> array_or_none(std::string_view argument, nb::handle object) {
    return object.is_none() ? std::optional<Array>()
                            : std::optional<Array>(std::in_place, argument, object);
  }

  static std::optional<Array> groups_or_none(const GroupArgument& groups) {
    return groups.numbers.is_none()
               ? std::optional<Array>()
               : std::optional<Array>(std::in_place, groups.name, groups.numbers,
                                      Array::Access::kRead, TUNEDGEMM_TYPE_S32);
  }

  Grouping grouping(tunedgemm_group_kind kind) const {
    if (!groups_) {
      return {};
    }
    check_factors(a_.view(), b_.view());
    return grouping_of(a_.view(), b_.view(), groups_->view(), kind);
  }

  nb::object given_or_new(const ArrayArguments& arguments, double beta,
                          std::optional<tunedgemm_type> type) const {
    if (!arguments.out.is_none()) {
      return nb::borrow(arguments.out);
    }
    if (beta != 0 && arguments.c.is_none()) {
      std::ostringstream text;
      text << beta;
      refuse("beta is " + text.str() + ", so c or out must be given: the product is added to it");
    }
    check_factors(a_.view(), b_.view());
    nb::object made = a_.make(shape_of_result(a_.view(), b_.view(), grouping_),
                              type.value_or(result_type(a_.view().type)));
    if (arguments.zeroes_new_out) {
      run_python([&] { made[nb::ellipsis()] = 0; });
    }
    return made;
  }

  Array a_, b_;
  std::optional<Array> groups_;
  Grouping grouping_;
  nb::object out_;
  Array d_;
  std::optional<Array> c_, bias_, scale_a_, scale_b_;
  Call call_;
};

const Context* context_or_none(nb::handle context) {
  if (context.is_none()) {
    return nullptr;
  }
  if (!nb::isinstance<Context>(context)) {
    refuse_type_of("context", context, "a tunedgemm.Context or None");
  }
  return nb::inst_ptr<Context>(context);
}

Scalars scalars_of(nb::handle activation, nb::handle numerics, nb::handle alpha, nb::handle beta,
                   nb::handle slope, nb::handle invariant, nb::handle sm_limit,
                   nb::handle rows_per_group = Py_None) {
  return {.alpha = number_of("alpha", alpha),
          .beta = number_of("beta", beta),
          .slope = number_of("slope", slope),
          .activation = activation_of(text_of("activation", activation)),
          .numerics = numerics_of(text_of("numerics", numerics)),
          .invariant = flag_of("invariant", invariant),
          .sm_limit = integer_of("sm_limit", sm_limit),
          .rows_per_group =
              rows_per_group.is_none() ? 0 : integer_of("rows_per_group", rows_per_group)};
}

std::optional<tunedgemm_type> type_or_none(nb::handle dtype) {
  return dtype.is_none() ? std::nullopt : std::optional(type_named("out_dtype", dtype));
}

nb::object multiply(const ArrayCall& call, nb::handle stream, nb::handle context) {
  const std::shared_ptr<tunedgemm_context> used = call.context(context_or_none(context));
  void* const used_stream = call.stream(stream);
  tunedgemm_status status;
  {
    const GilRelease released;
    status = tunedgemm_matmul(used.get(), &call.problem(), &call.buffers(), used_stream);
  }
  check(status);
  return call.out();
}

nb::object matmul(nb::handle a, nb::handle b, nb::handle bias, nb::handle activation,
                  nb::handle out, nb::handle out_dtype, nb::handle c, nb::handle alpha,
                  nb::handle beta, nb::handle scale_a, nb::handle scale_b, nb::handle slope,
                  nb::handle numerics, nb::handle invariant, nb::handle sm_limit, nb::handle stream,
                  nb::handle context) {
  return multiply(
      ArrayCall({a, b, out, c, bias, scale_a, scale_b},
                scalars_of(activation, numerics, alpha, beta, slope, invariant, sm_limit),
                type_or_none(out_dtype)),
      stream, context);
}

nb::object grouped_matmul(nb::handle a, nb::handle b, nb::handle ends, nb::handle counts,
                          nb::handle ranges, nb::handle bias, nb::handle activation, nb::handle out,
                          nb::handle out_dtype, nb::handle zero_unused, nb::handle c,
                          nb::handle alpha, nb::handle beta, nb::handle scale_a, nb::handle scale_b,
                          nb::handle slope, nb::handle numerics, nb::handle invariant,
                          nb::handle sm_limit, nb::handle rows_per_group, nb::handle stream,
                          nb::handle context) {
  const std::array<GroupArgument, 3> all{{{"ends", TUNEDGEMM_GROUP_KIND_ROWS, ends},
                                          {"counts", TUNEDGEMM_GROUP_KIND_COUNTS, counts},
                                          {"ranges", TUNEDGEMM_GROUP_KIND_RANGES, ranges}}};
  const auto is_given = [](const GroupArgument& one) { return !one.numbers.is_none(); };
  if (const auto given = std::ranges::count_if(all, is_given); given != 1) {
    refuse(std::to_string(given) + " of ends, counts and ranges are given; give one");
  }
  const bool zeroes = flag_of("zero_unused", zero_unused);
  if (zeroes && (!out.is_none() || !stream.is_none())) {
    refuse(
        "zero_unused is for a new result on the current stream, but out or stream is given; zero "
        "out before the call");
  }
  return multiply(
      ArrayCall(
          {a, b, out, c, bias, scale_a, scale_b, *std::ranges::find_if(all, is_given), zeroes},
          scalars_of(activation, numerics, alpha, beta, slope, invariant, sm_limit, rows_per_group),
          type_or_none(out_dtype)),
      stream, context);
}

// As for default_context().
int ordinal_of(nb::handle device) {
  const NamedDevice named = device_of(text_of("device", device));
  if (named.backend == TUNEDGEMM_BACKEND_AUTO) {
    refuse("device is 'auto'; write 'host', 'cuda' or 'cuda:1'");
  }
  return named.backend == TUNEDGEMM_BACKEND_HOST ? kHost : named.ordinal;
}

std::vector<std::int64_t> integers_of(std::string_view argument, nb::handle value) {
  std::vector<std::int64_t> integers;
  if (!nb::try_cast(value, integers)) {
    refuse_type_of(argument, value, "a tuple of integers");
  }
  return integers;
}

Placeholder placeholder_of(const std::string& name, const std::vector<std::int64_t>& shape,
                           nb::handle dtype, nb::handle device, bool transposed,
                           const std::optional<std::vector<std::int64_t>>& strides) {
  if (shape.size() > View::kMostDimensions || (strides && strides->size() != shape.size())) {
    refuse("a placeholder has the shape " + shape_text(shape) + " and " +
           std::to_string(strides ? strides->size() : shape.size()) + " strides; it may have " +
           std::to_string(View::kMostDimensions) + " dimensions");
  }
  View view{.dimensions = static_cast<int>(shape.size()),
            .type = type_named(name, dtype),
            .device = ordinal_of(device)};
  std::copy(shape.begin(), shape.end(), view.sizes.begin());
  const std::size_t rank = shape.size();
  std::int64_t packed = 1;
  for (std::size_t i = rank; i-- > 0;) {
    // The last two dimensions change places in a transposed array.
    const std::size_t at = transposed && rank >= 2 && i + 2 >= rank ? 2 * rank - 3 - i : i;
    view.strides[at] = strides ? (*strides)[at] : packed;
    packed *= shape[at];
  }
  return {view};
}

std::string text_of(const tunedgemm_problem& problem) {
  std::string text(tunedgemm_problem_text(&problem, nullptr, 0), '\0');
  if (text.empty()) {
    check(TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  }
  tunedgemm_problem_text(&problem, text.data(), text.size() + 1);
  return text;
}

// The device of default_context(), by its name or by an array.
int ordinal_of_either(nb::handle device) {
  return nb::isinstance<nb::str>(device) ? ordinal_of(device) : Array("a", device).view().device;
}

// Of a Context or a device's default context. A text that is no problem is left out.
void announce(nb::handle context, nb::handle policy, const std::vector<std::string>& texts) {
  std::vector<tunedgemm_problem> problems;
  for (const std::string& text : texts) {
    tunedgemm_problem problem;
    tunedgemm_problem_init(&problem, -1, -1, -1, {}, {}, {});
    if (tunedgemm_problem_parse(text.c_str(), &problem) == TUNEDGEMM_STATUS_OK) {
      problems.push_back(problem);
    }
  }
  tunedgemm_plan_options options;
  tunedgemm_plan_options_init(&options);
  options.policy = policy_of(python::text_of("policy", policy));
  const auto used = nb::isinstance<Context>(context) ? nb::inst_ptr<Context>(context)->get()
                                                     : default_context(nb::cast<int>(context));
  tunedgemm_status status;
  {
    const GilRelease released;
    status = tunedgemm_context_announce(used.get(), problems.data(), problems.size(), &options);
  }
  check(status);
}

class Plan {
 public:
  /// Plans a problem in the text of tunedgemm_problem_parse(), for well-aligned buffers without C.
  Plan(const std::string& text, nb::handle device, nb::handle policy, nb::handle name,
       nb::handle accepted_loss, nb::handle context) {
    constexpr tunedgemm_type kNone{};
    tunedgemm_problem_init(&problem_, -1, -1, -1, kNone, kNone, kNone);
    check(tunedgemm_problem_parse(text.c_str(), &problem_));
    for (const auto& [field, is_given] :
         {std::pair("types", problem_.type_a != kNone), std::pair("m", problem_.m >= 0),
          std::pair("n", problem_.n >= 0), std::pair("k", problem_.k >= 0)}) {
      if (!is_given) {
        refuse("the problem '" + text + "' has no " + field + "; add " + field + "=...");
      }
    }
    text_of(problem_);  // refuses a problem that is not valid before a device is opened
    scalars_.activation = problem_.activation, scalars_.numerics = problem_.numerics;
    scalars_.invariant = problem_.invariant != 0, scalars_.sm_limit = problem_.sm_limit;
    const Context* const given = context_or_none(context);
    tunedgemm_buffers buffers;
    tunedgemm_buffers_init(&buffers);
    create(given != nullptr ? given->get() : default_context(ordinal_of(device)), buffers, policy,
           name, accepted_loss);
  }

  Plan(const ArrayArguments& arguments, const Scalars& scalars,
       std::optional<tunedgemm_type> type_of_out, nb::handle policy, nb::handle name,
       nb::handle accepted_loss, nb::handle context)
      : scalars_(scalars) {
    const Context* const given_context = context_or_none(context);
    const ArrayCall call(arguments, scalars, type_of_out);
    problem_ = call.problem();
    create(call.context(given_context), call.buffers(), policy, name, accepted_loss);
  }

  nb::object run(const ArrayArguments& arguments, nb::handle stream) const {
    const std::shared_ptr<tunedgemm_context> used = context();
    const ArrayCall call(arguments, scalars_, problem_.type_d);
    if (std::memcmp(&call.problem(), &problem_, sizeof problem_) != 0) {
      refuse(
          "the arrays have other shapes, strides or types than those of the plan; make another "
          "plan");
    }
    void* const used_stream = call.stream(stream);
    tunedgemm_status status;
    {
      const GilRelease released;
      status = tunedgemm_run(plan_, &call.buffers(), used_stream);
    }
    check(status);
    return call.out();
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
    fields["origin"] = tunedgemm_plan_origin_name(info.origin);
    fields["median_us"] = info.median_us, fields["low_us"] = info.low_us;
    fields["high_us"] = info.high_us, fields["default_us"] = info.default_us;
    fields["naive_us"] = info.naive_us, fields["expected_loss"] = info.expected_loss;
    fields["expected_us"] = info.expected_us, fields["tuned_m"] = info.tuned_m;
    fields["workspace_bytes"] = info.workspace_bytes, fields["candidates"] = info.candidates;
    fields["spent_seconds"] = info.spent_seconds;
    fields["tuned_at"] = info.tuned_at, fields["tuned_with"] = info.tuned_with;
    fields["vendor_us"] = info.vendor_us, fields["vendor"] = info.vendor;
    const nb::object make = nb::module_::import_("tunedgemm._plan_info").attr("plan_info");
    return run_python([&] { return make(**fields); });
  }

 private:
  void create(const std::shared_ptr<tunedgemm_context>& context, const tunedgemm_buffers& buffers,
              nb::handle policy, nb::handle name, nb::handle accepted_loss) {
    tunedgemm_plan_options options;
    tunedgemm_plan_options_init(&options);
    options.policy = policy_of(python::text_of("policy", policy));
    const std::optional<std::string> given_name = text_or_none("name", name);
    options.name = given_name ? given_name->c_str() : nullptr;
    options.accepted_loss = number_of("accepted_loss", accepted_loss);
    tunedgemm_status status;
    {
      const GilRelease released;
      status = tunedgemm_plan_create(context.get(), &problem_, &buffers, &options, &plan_);
    }
    check(status);
    context_ = context;
  }

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

// Arguments that a function does not have, which nanobind would answer with a list of signatures.
void refuse_others(const nb::args& others, const nb::kwargs& named, const char* sentence) {
  if (others.size() + named.size() != 0) {
    throw nb::type_error(sentence);
  }
}

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
          [](Context* self, nb::handle device, const nb::args& others, nb::handle cache,
             nb::handle policy, nb::handle rigor, nb::handle threads, nb::handle seconds,
             nb::handle candidates, nb::handle sm_limit, const nb::kwargs& named) {
            refuse_others(others, named,
                          "Context takes device and, by name, cache, policy, rigor, threads, "
                          "seconds, candidates and sm_limit; this call has others");
            new (self) Context({.device = text_of("device", device),
                                .cache = path_or_none("cache", cache),
                                .policy = text_of("policy", policy),
                                .rigor = text_of("rigor", rigor),
                                .threads = integer_of("threads", threads),
                                .candidates = integer_of("candidates", candidates),
                                .seconds = number_of("seconds", seconds),
                                .sm_limit = integer_of("sm_limit", sm_limit)});
          },
          "device"_a.none() = "auto", "others"_a, "cache"_a.none() = nb::none(),
          "policy"_a.none() = "default", "rigor"_a.none() = "default", "threads"_a.none() = 0,
          "seconds"_a.none() = 0.0, "candidates"_a.none() = 0, "sm_limit"_a.none() = 0, "named"_a,
          nb::sig("def __init__(self, device: str = 'auto', *, "
                  "cache: str | os.PathLike[str] | None = None, policy: Policy = 'default', "
                  "rigor: Rigor = 'default', threads: int = 0, seconds: float = 0.0, "
                  "candidates: int = 0, sm_limit: int = 0) -> None"),
          "device: 'auto', 'host', 'cuda' or 'cuda:1'.\n"
          "cache: the cache file; '' keeps winners in memory only; None: $TUNEDGEMM_CACHE, else\n"
          "    tunedgemm/tunedgemm.db in the user's cache folder.\n"
          "policy: what a problem without a winner does: 'tune', 'tune_in_background', 'compile',\n"
          "    'stored' or 'fail'; 'default': $TUNEDGEMM_POLICY, else 'tune'.\n"
          "rigor: 'quick' (5 seconds), 'normal' (30 seconds) or 'exhaustive'.\n"
          "threads: of the host, at most 1024; 0: $TUNEDGEMM_THREADS, else all cores.\n"
          "seconds, candidates: limits of one tuning; 0: the rigor's.\n"
          "sm_limit: of calls without one; 0: $TUNEDGEMM_SM_LIMIT, else all SMs.")
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

  const nb::sig run_signature(
      "def run(self, a: object, b: object, *, bias: object = None, out: object = None, "
      "c: object = None, scale_a: object = None, scale_b: object = None, "
      "stream: int | None = None) -> object");
  nb::class_<Plan>(module, "Plan",
                   "A problem whose kernel is chosen and loaded; made by tunedgemm.plan(). Threads "
                   "may share it.")
      .def(
          "__init__",
          [](Plan* self, nb::handle a, nb::handle b, nb::handle bias, nb::handle activation,
             nb::handle out, nb::handle out_dtype, nb::handle c, nb::handle alpha, nb::handle beta,
             nb::handle scale_a, nb::handle scale_b, nb::handle slope, nb::handle numerics,
             nb::handle invariant, nb::handle sm_limit, nb::handle policy, nb::handle name,
             nb::handle accepted_loss, nb::handle context) {
            new (self)
                Plan({a, b, out, c, bias, scale_a, scale_b},
                     scalars_of(activation, numerics, alpha, beta, slope, invariant, sm_limit),
                     type_or_none(out_dtype), policy, name, accepted_loss, context);
          },
          "a"_a.none(), "b"_a.none(), "bias"_a.none(), "activation"_a.none(), "out"_a.none(),
          "out_dtype"_a.none(), "c"_a.none(), "alpha"_a.none(), "beta"_a.none(), "scale_a"_a.none(),
          "scale_b"_a.none(), "slope"_a.none(), "numerics"_a.none(), "invariant"_a.none(),
          "sm_limit"_a.none(), "policy"_a.none(), "name"_a.none(), "accepted_loss"_a.none(),
          "context"_a.none(), nb::keep_alive<1, 20>())
      .def_static(
          "of_text",
          [](nb::handle problem, nb::handle device, nb::handle policy, nb::handle name,
             nb::handle accepted_loss, nb::handle context, const nb::kwargs& named) {
            refuse_others(
                {}, named,
                "a problem in text takes device, policy, name, accepted_loss and context; "
                "this one has others");
            return Plan(text_of("problem", problem), device, policy, name, accepted_loss, context);
          },
          "problem"_a.none(), nb::kw_only(), "device"_a.none() = "host",
          "policy"_a.none() = "default", "name"_a = nb::none(), "accepted_loss"_a.none() = 0.0,
          "context"_a = nb::none(), "named"_a, nb::keep_alive<0, 6>(),
          "The plan of a problem that is written as in a list of shapes, for arrays at addresses\n"
          "that are multiples of 16.")
      .def(
          "run",
          [](const Plan& self, nb::handle a, nb::handle b, nb::handle bias, nb::handle out,
             nb::handle c, nb::handle scale_a, nb::handle scale_b, nb::handle stream) {
            return self.run({a, b, out, c, bias, scale_a, scale_b}, stream);
          },
          "a"_a.none(), "b"_a.none(), nb::kw_only(), "bias"_a = nb::none(), "out"_a = nb::none(),
          "c"_a = nb::none(), "scale_a"_a = nb::none(), "scale_b"_a = nb::none(),
          "stream"_a = nb::none(), run_signature,
          "The product of other arrays with the shapes, strides and types of the plan's; returns\n"
          "out. See tunedgemm.matmul().")
      .def(
          "run",  // of its own, since nb::kwargs would cost each call 70 ns
          [](nb::handle, const nb::args&, const nb::kwargs&) {
            throw nb::type_error(
                "run takes a, b and, by name, bias, out, c, scale_a, scale_b and stream; this call "
                "has others, or lacks one");
          },
          run_signature)
      .def_prop_ro("description", &Plan::description,
                   "One line for people: family, config and origin of the kernel.")
      .def_prop_ro("info", &Plan::info, nb::sig("def info(self) -> PlanInfo"),
                   "The kernel that the plan runs now, and its tuning.")
      .def("__repr__",
           [](const Plan& self) { return "<tunedgemm.Plan " + self.description() + ">"; })
      .def("_repr_html_", [](nb::handle self) {
        const nb::object of_plan = nb::module_::import_("tunedgemm._html").attr("of_plan");
        return run_python([&] { return of_plan(self); });
      });

  module.def("matmul", &matmul, "a"_a.none(), "b"_a.none(), "bias"_a.none(), "activation"_a.none(),
             "out"_a.none(), "out_dtype"_a.none(), "c"_a.none(), "alpha"_a.none(), "beta"_a.none(),
             "scale_a"_a.none(), "scale_b"_a.none(), "slope"_a.none(), "numerics"_a.none(),
             "invariant"_a.none(), "sm_limit"_a.none(), "stream"_a.none(), "context"_a.none());
  module.def("grouped_matmul", &grouped_matmul, "a"_a.none(), "b"_a.none(), "ends"_a.none(),
             "counts"_a.none(), "ranges"_a.none(), "bias"_a.none(), "activation"_a.none(),
             "out"_a.none(), "out_dtype"_a.none(), "zero_unused"_a.none(), "c"_a.none(),
             "alpha"_a.none(), "beta"_a.none(), "scale_a"_a.none(), "scale_b"_a.none(),
             "slope"_a.none(), "numerics"_a.none(), "invariant"_a.none(), "sm_limit"_a.none(),
             "rows_per_group"_a.none(), "stream"_a.none(), "context"_a.none());
  module.def(
      "result_type",
      [](nb::handle dtype) {
        return std::string(known(result_type(type_named("dtype", dtype))).name);
      },
      "dtype"_a, "The name of the element type of a product, by that of a.");
  nb::class_<Placeholder>(
      module, "Placeholder",
      "An array without memory, for plan() and problem_text(). transposed: the "
      "elements of a column are consecutive. strides: in elements; None: packed. "
      "name: of the argument in a message about the dtype.")
      .def(
          "__init__",
          [](Placeholder* self, nb::handle shape, nb::handle dtype, nb::handle device,
             bool transposed, nb::handle strides, const std::string& name) {
            std::optional<std::vector<std::int64_t>> given_strides;
            if (!strides.is_none()) {
              given_strides = integers_of("strides", strides);
            }
            new (self) Placeholder(placeholder_of(name, integers_of("shape", shape), dtype, device,
                                                  transposed, given_strides));
          },
          "shape"_a, "dtype"_a, "device"_a = "host", "transposed"_a = false,
          "strides"_a = nb::none(), "name"_a = "dtype")
      .def_prop_ro(
          "has_layout", [](const Placeholder& self) { return layout_of(self.view).has_value(); },
          "Whether the matrices need no copy.")
      .def_prop_ro("shape",
                   [](const Placeholder& self) {
                     const auto* const sizes = self.view.sizes.data();
                     return nb::tuple(
                         nb::cast(std::vector<std::int64_t>(sizes, sizes + self.view.dimensions)));
                   })
      .def_prop_ro("dtype",
                   [](const Placeholder& self) { return std::string(known(self.view.type).name); });
  module.def(
      "shape_of_result",
      [](nb::handle a, nb::handle b) {
        const Array left("a", a), right("b", b);
        check_factors(left.view(), right.view());
        return nb::tuple(nb::cast(shape_of_result(left.view(), right.view())));
      },
      "a"_a, "b"_a, "(M, N) or (batch, M, N).");
  module.def(
      "problem_text",
      [](nb::handle a, nb::handle b, nb::handle out, nb::handle bias, nb::handle activation,
         nb::handle c, nb::handle beta, nb::handle scale_a, nb::handle scale_b, nb::handle numerics,
         nb::handle invariant, nb::handle sm_limit, nb::handle ends) {
        const ArrayCall call(
            {a, b, out, c, bias, scale_a, scale_b, {"ends", TUNEDGEMM_GROUP_KIND_ROWS, ends}},
            {.beta = number_of("beta", beta),
             .activation = activation_of(text_of("activation", activation)),
             .numerics = numerics_of(text_of("numerics", numerics)),
             .invariant = flag_of("invariant", invariant),
             .sm_limit = integer_of("sm_limit", sm_limit)},
            std::nullopt);
        return text_of(call.problem());
      },
      "a"_a, "b"_a, "out"_a.none(), nb::kw_only(), "bias"_a = nb::none(), "activation"_a = "none",
      "c"_a = nb::none(), "beta"_a = 0.0, "scale_a"_a = nb::none(), "scale_b"_a = nb::none(),
      "numerics"_a = "default", "invariant"_a = false, "sm_limit"_a = 0, "ends"_a = nb::none(),
      "The problem of a call, as a list of shapes has it: 'types=bf16 layout=nt m=16 n=32 k=64'.\n"
      "Raises ValueError if the call is wrong.");
  module.def("announce", &announce, "context"_a, "policy"_a, "texts"_a,
             "Announces the problems that are planned next; see tunedgemm_context_announce().");
  module.def("ordinal_of", &ordinal_of_either, "device"_a);
  module.attr("__version__") = tunedgemm_version();
  module.def("write_pending", &write_pending);
  module.def("_close_default_contexts", &close_default_contexts, "for_good"_a);
  module.def("_register_torch_operators", &register_torch_operators, "folder"_a);
  module.def(
      "_set_torch_fields",
      [](nb::handle invariant, nb::handle sm_limit) {
        set_torch_fields({flag_of("invariant", invariant), integer_of("sm_limit", sm_limit)});
      },
      "invariant"_a, "sm_limit"_a);
  module.def("_jax_handlers", &jax_handlers);
}
