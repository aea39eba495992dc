#include "runtime/calls/arguments.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/number_text.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

// The name of an enumerator; "unknown" if the enumeration does not have that number.
using NameOf = std::string_view (*)(std::int32_t number);

template <class Enum>
std::string_view name_of(std::int32_t number) {
  return name(static_cast<Enum>(number));
}

template <>
std::string_view name_of<Numerics>(std::int32_t number) {
  return number == TUNEDGEMM_NUMERICS_DEFAULT ? "default" : name(static_cast<Numerics>(number));
}

std::string_view name_of_policy(std::int32_t number) {
  return number == TUNEDGEMM_POLICY_DEFAULT ? "default" : name_of<Policy>(number);
}

std::string_view name_of_rigor(std::int32_t number) {
  return number == TUNEDGEMM_RIGOR_DEFAULT ? "default" : name_of<Rigor>(number);
}

std::string_view name_of_backend(std::int32_t number) {
  if (number == TUNEDGEMM_BACKEND_AUTO) {
    return "auto";
  }
  const Backend* backend = find_backend(number);
  return backend == nullptr ? "unknown" : backend->name();
}

bool is_known(std::int32_t number, NameOf name_of) {
  return name_of(number) != "unknown";
}

void refuse_unknown(std::string_view what, std::int32_t number, NameOf name_of) {
  if (is_known(number, name_of)) {
    return;
  }
  constexpr std::int32_t kLeast = -1;
  constexpr std::int32_t kGreatest = 31;
  std::vector<std::string> valid;
  for (std::int32_t other = kLeast; other <= kGreatest; ++other) {
    if (is_known(other, name_of)) {
      valid.push_back(std::to_string(other) + " (" + std::string(name_of(other)) + ")");
    }
  }
  std::string sentence = std::string(what) + " is " + std::to_string(number) + "; use ";
  for (std::size_t index = 0; index < valid.size(); ++index) {
    sentence += index == 0 ? "" : index + 1 == valid.size() ? " or " : ", ";
    sentence += valid[index];
  }
  refuse(sentence);
}

// The size of every version of a struct is a multiple of the struct's alignment.
template <class Struct>
void check_size(const Struct* partial, const char* name) {
  static_assert(alignof(Struct) == sizeof(std::int64_t));
  if (partial == nullptr) {
    refuse(std::string("the ") + name + " is a null pointer");
  }
  const std::size_t size = partial->struct_size;
  if (size < sizeof(size_t) || size > sizeof(Struct) || size % alignof(Struct) != 0) {
    refuse(std::string("struct_size of the ") + name + " is " + std::to_string(size) +
           ", but must be a multiple of " + std::to_string(alignof(Struct)) + " up to " +
           std::to_string(sizeof(Struct)) + "; use tunedgemm_" + name + "_init");
  }
}

template <class Struct>
Struct complete(const Struct* partial, const char* name) {
  check_size(partial, name);
  Struct whole;
  std::memcpy(&whole, partial, partial->struct_size);
  whole.struct_size = sizeof(Struct);
  return whole;
}

std::optional<Policy> checked_policy(std::int32_t number) {
  refuse_unknown("policy of the options", number, name_of_policy);
  return number == TUNEDGEMM_POLICY_DEFAULT ? std::nullopt
                                            : std::optional(static_cast<Policy>(number));
}

// The value of an environment variable, or the default if it is unset.
template <class Value>
Value value_of_environment(const char* variable, Value otherwise,
                           std::optional<Value> (*parse)(std::string_view), const char* allowed) {
  const std::string text = environment(variable);
  if (text.empty()) {
    return otherwise;
  }
  const std::optional<Value> parsed = parse(text);
  if (!parsed) {
    refuse(std::string(variable) + " is \"" + text + "\"; use " + allowed);
  }
  return *parsed;
}

template <class Number>
std::optional<Number> parse_positive(std::string_view text) {
  const std::optional<Number> number = whole_number<Number>(text);
  return number > Number{} && std::isfinite(static_cast<double>(*number)) ? number : std::nullopt;
}

Policy policy_of_environment() {
  return value_of_environment("TUNEDGEMM_POLICY", Policy::kTune, parse_policy,
                              "tune, tune_in_background, compile, stored or fail");
}

Rigor rigor_of_environment() {
  return value_of_environment("TUNEDGEMM_RIGOR", Rigor::kNormal, parse_rigor_of_user,
                              "quick, normal or exhaustive");
}

double tune_seconds_of_environment() {
  return value_of_environment("TUNEDGEMM_TUNE_SECONDS", 0.0, parse_positive<double>,
                              "a number of seconds above 0");
}

int sm_limit_of_environment() {
  return value_of_environment("TUNEDGEMM_SM_LIMIT", 0, parse_positive<int>,
                              "a number of SMs above 0");
}

// The device reads the variable itself.
void check_threads_of_environment() {
  value_of_environment("TUNEDGEMM_THREADS", 0, parse_positive<int>, "a number of threads above 0");
}

Problem as_written(const tunedgemm_problem& problem) {
  return written_problem(call_key(problem, tunedgemm_buffers{}));
}

// Where a call has the fields of the grammar that are no members of tunedgemm_problem.
std::string place_of(std::string_view field) {
  return field == "alpha" || field == "beta" ? "set it in tunedgemm_buffers"
         : field == "c_is_d"   ? "set c and d of tunedgemm_buffers to the same pointer"
         : field == "launches" ? "set launch_regime of tunedgemm_plan_options"
                               : "leave it out";
}

template <class Number>
void refuse_below_zero(const char* what, Number number) {
  if (!(number >= 0) || !std::isfinite(static_cast<double>(number))) {
    refuse(std::string(what) + " of the options is " + four_digits(static_cast<double>(number)) +
           "; use 0 or more");
  }
}

}  // namespace

void refuse(const std::string& message) {
  throw CallError(CallError::Kind::kInvalidArgument, message);
}

tunedgemm_problem complete(const tunedgemm_problem* problem) {
  return complete(problem, "problem");
}

tunedgemm_buffers complete(const tunedgemm_buffers* buffers) {
  return complete(buffers, "buffers");
}

template <class Struct>
Struct complete(const Struct* list, std::size_t index) {
  const std::size_t size = list->struct_size;
  const auto* element =
      reinterpret_cast<const Struct*>(reinterpret_cast<const std::byte*>(list) + index * size);
  if (element->struct_size != size) {
    refuse("struct_size is " + std::to_string(element->struct_size) +
           ", but that of the first element is " + std::to_string(size) +
           "; make all elements of the list equal in size");
  }
  return complete(element);
}
template tunedgemm_problem complete(const tunedgemm_problem* list, std::size_t index);
template tunedgemm_buffers complete(const tunedgemm_buffers* list, std::size_t index);

void check_size(const tunedgemm_plan_info* info) {
  check_size(info, "plan_info");
}

void check_size(const tunedgemm_problem* problem) {
  check_size(problem, "problem");
}

void check_size(const tunedgemm_buffers* buffers) {
  check_size(buffers, "buffers");
}

void parse(const char* text, tunedgemm_problem* problem) {
  tunedgemm_problem whole = complete(problem);
  if (text == nullptr) {
    refuse("the text of the problem is a null pointer");
  }
  Problem written = as_written(whole);
  try {
    read_text(text, written);
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  set_members(whole, written);
  whole.struct_size = problem->struct_size;
  const Problem held = as_written(complete(&whole));
  for (const ProblemField& field : grammar_fields()) {
    if (const std::string value = field.text(written); value != field.text(held)) {
      refuse(std::string(field.name) + " is \"" + value +
             "\", but this tunedgemm_problem has no such member; " + place_of(field.name));
    }
  }
  std::memcpy(problem, &whole, whole.struct_size);
}

std::string text_of(const tunedgemm_problem* problem) {
  const CallKey key = call_key(complete(problem), tunedgemm_buffers{});
  return written_text(written_problem(checked_call(key).key));
}

std::vector<std::string> wrong_variables() {
  using Check = void (*)();
  std::vector<std::string> sentences;
  for (const Check check :
       {Check([] { policy_of_environment(); }), Check([] { rigor_of_environment(); }),
        Check([] { tune_seconds_of_environment(); }), Check([] { sm_limit_of_environment(); }),
        Check(check_threads_of_environment)}) {
    try {
      check();
    } catch (const CallError& error) {
      sentences.emplace_back(error.what());
    }
  }
  return sentences;
}

ContextOptions checked_options(const tunedgemm_context_options* caller_options) {
  const tunedgemm_context_options whole = caller_options == nullptr
                                              ? tunedgemm_context_options()
                                              : complete(caller_options, "context_options");
  refuse_unknown("backend of the options", whole.backend, name_of_backend);
  refuse_unknown("rigor of the options", whole.rigor, name_of_rigor);
  const std::optional<Policy> policy = checked_policy(whole.policy);
  refuse_below_zero("ordinal", whole.ordinal);
  refuse_below_zero("host_threads", whole.host_threads);
  refuse_below_zero("tune_candidates", whole.tune_candidates);
  refuse_below_zero("tune_seconds", whole.tune_seconds);
  refuse_below_zero("sm_limit", whole.sm_limit);

  ContextOptions options;
  options.backend = find_backend(static_cast<int>(whole.backend));  // null for AUTO
  options.device.ordinal = whole.ordinal;
  options.device.host_threads = whole.host_threads;
  options.policy = policy ? *policy : policy_of_environment();
  options.rigor = whole.rigor == TUNEDGEMM_RIGOR_DEFAULT ? rigor_of_environment()
                                                         : static_cast<Rigor>(whole.rigor);
  options.budget = {whole.tune_seconds > 0 ? whole.tune_seconds : tune_seconds_of_environment(),
                    whole.tune_candidates};
  options.sm_limit = whole.sm_limit > 0 ? whole.sm_limit : sm_limit_of_environment();
  if (whole.host_threads == 0) {
    check_threads_of_environment();
  }
  if (whole.cache_path != nullptr) {
    options.store.path = whole.cache_path;
    options.store.access = *whole.cache_path == '\0' ? StoreOptions::Access::kMemoryOnly
                                                     : StoreOptions::Access::kReadWrite;
  }
  return options;
}

PlanOptions checked_options(const tunedgemm_plan_options* caller_options) {
  if (caller_options == nullptr) {
    return {};
  }
  const tunedgemm_plan_options whole = complete(caller_options, "plan_options");
  refuse_unknown("launch regime of the options", whole.launch_regime, name_of<LaunchRegime>);
  refuse_below_zero("accepted_loss", whole.accepted_loss);
  return {.policy = checked_policy(whole.policy),
          .launch_regime = static_cast<LaunchRegime>(whole.launch_regime),
          .name = whole.name == nullptr ? "" : whole.name,
          .accepted_loss = whole.accepted_loss};
}

CheckedCall checked_call(const CallKey& key) {
  refuse_unknown("launch regime of the plan", key.launch_regime, name_of<LaunchRegime>);
  Problem problem = written_problem(key);
  pair_members(key.problem, problem, [](const char* name, std::int64_t number, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_enum_v<Member>) {
      refuse_unknown(std::string(name) + " of the problem", static_cast<std::int32_t>(number),
                     name_of<Member>);
    }
  });
  problem = completed(problem);
  if (const std::string reason = why_not(problem); !reason.empty()) {
    refuse(reason);
  }
  const bool in_place = problem.c.order == problem.d.order &&
                        problem.c.leading_dimension == problem.d.leading_dimension &&
                        (problem.batch <= 1 || problem.c.batch_stride == problem.d.batch_stride);
  if (problem.c_is_d && !in_place) {
    refuse(
        "C and D are the same memory, but differ in order, leading dimension or batch stride; make "
        "them equal or give D memory of its own");
  }
  return {key, problem, canonical(problem)};
}

}  // namespace tunedgemm::internal
