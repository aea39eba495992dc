// The C API over Context. The body of every function that returns a status is `return
// guarded(...)`, so that no exception reaches the caller.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernel_templates/base/log.h"
#include "kernel_templates/base/text.h"
#include "runtime/backend.h"
#include "runtime/calls/arguments.h"
#include "runtime/calls/launch.h"
#include "runtime/calls/process_contexts.h"

namespace internal = tunedgemm::internal;

struct tunedgemm_context {
  std::unique_ptr<internal::Context> context;
};

namespace {

using internal::CallError;
using internal::CallKey;
using internal::CanonicalProblem;
using internal::Context;
using internal::DeviceError;
using internal::Plan;
using internal::Policy;
using internal::refuse;

std::string& error_message() {
  thread_local std::string message;
  return message;
}

tunedgemm_status to_status(CallError::Kind kind) {
  switch (kind) {
    case CallError::Kind::kInvalidArgument:
      return TUNEDGEMM_STATUS_INVALID_ARGUMENT;
    case CallError::Kind::kUnsupported:
      return TUNEDGEMM_STATUS_UNSUPPORTED;
    case CallError::Kind::kNotTuned:
      return TUNEDGEMM_STATUS_NOT_TUNED;
  }
  return TUNEDGEMM_STATUS_INTERNAL;
}

tunedgemm_status to_status(DeviceError::Kind kind) {
  switch (kind) {
    case DeviceError::Kind::kUnavailable:
      return TUNEDGEMM_STATUS_NO_DEVICE;
    case DeviceError::Kind::kOutOfMemory:
      return TUNEDGEMM_STATUS_OUT_OF_MEMORY;
    case DeviceError::Kind::kFailed:
    case DeviceError::Kind::kBadBinary:
    case DeviceError::Kind::kLost:
      return TUNEDGEMM_STATUS_DEVICE_FAILED;
  }
  return TUNEDGEMM_STATUS_INTERNAL;
}

tunedgemm_status fail(tunedgemm_status status, const char* message) noexcept {
  try {
    // The message may contain a path or an environment variable with control characters.
    error_message() = internal::printable(message, internal::Lines::kMany);
  } catch (...) {
    error_message().clear();
  }
  return status;
}

// Converts exceptions to statuses. No other code does that. `body` returns a status.
template <class Body>
tunedgemm_status guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const CallError& error) {
    return fail(to_status(error.kind()), error.what());
  } catch (const DeviceError& error) {
    return fail(to_status(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TUNEDGEMM_STATUS_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return fail(TUNEDGEMM_STATUS_INTERNAL, error.what());
  } catch (...) {
    return fail(TUNEDGEMM_STATUS_INTERNAL, "an exception of unknown type");
  }
}

internal::ProcessContexts& process_contexts() {
  const auto make = [](const internal::Backend& backend, int ordinal) {
    internal::ContextOptions options =
        internal::checked_options(static_cast<const tunedgemm_context_options*>(nullptr));
    options.backend = &backend;
    options.device.ordinal = ordinal;
    return Context::create(options);
  };
  // A forked child makes its own contexts, because the locks of the parent's contexts may be held.
  struct Owned {
    explicit Owned(const internal::ProcessContexts::Make& make_context)
        : contexts(internal::automatic_backend, make_context) {}
    internal::ProcessContexts contexts;
    const pid_t process = internal::process_id();
  };
  static std::atomic<Owned*> newest{nullptr};
  Owned* current = newest.load(std::memory_order_acquire);
  if (current != nullptr && current->process == internal::process_id()) [[likely]] {
    return current->contexts;
  }
  auto owned = std::make_unique<Owned>(make);
  const bool is_first = current == nullptr;
  if (!newest.compare_exchange_strong(current, owned.get(), std::memory_order_acq_rel)) {
    return current->contexts;  // another thread was faster
  }
  if (is_first) {  // a forked child inherits the atexit handler
    // The handler stops the tuning threads. exit() runs handlers and destructors in reverse order
    // of registration. Construct the logger, the backends, the families and the tables of to_text()
    // first, so that they are destroyed after the threads have ended.
    internal::log_info("the threads of contexts end when the process exits");
    for (const internal::Backend* backend : internal::backends()) {
      for (const internal::Family* family : internal::families(backend->name())) {
        static_cast<void>(internal::find_family(family->name()));
      }
    }
    static_cast<void>(internal::to_text(internal::Problem()));
    std::atexit([] {
      guarded([] {
        process_contexts().shut_down();
        return TUNEDGEMM_STATUS_OK;
      });
    });
  }
  return owned.release()->contexts;
}

void check_process(const Context& context) {
  if (!context.is_of_this_process()) [[unlikely]] {
    refuse(
        "the context was created before fork(), in the parent process, and the child can only "
        "destroy it; create another context in the child, or pass none");
  }
}

Context& context_of(tunedgemm_context* context) {
  if (context == nullptr) {
    return process_contexts().current();
  }
  check_process(*context->context);
  return *context->context;
}

void check_stream(bool has_streams, void* stream) {
  if (stream != nullptr && !has_streams) [[unlikely]] {
    refuse(
        "the stream is not null, but the host has no streams; pass NULL, or use a context with the "
        "backend cuda");
  }
}

void check_memory(const Context& context, const internal::Problem& problem,
                  const tunedgemm_buffers& buffers) {
  const std::string reason = internal::why_not_memory(context.device(), problem, buffers);
  if (!reason.empty()) {
    refuse(reason);
  }
}

internal::CheckedCall checked_call(Context& context, const CallKey& key,
                                   const tunedgemm_buffers& buffers, void* stream) {
  const internal::CheckedCall call = internal::checked_call(key);
  check_stream(context.device().has_streams(), stream);
  check_memory(context, call.asked, buffers);
  return call;
}

const Plan& plan_for(Context& context, const CallKey& key, const tunedgemm_buffers& buffers,
                     const internal::PlanOptions& options) {
  const Plan& plan = context.plan(checked_call(context, key, buffers, nullptr), nullptr,
                                  options.policy, options.name, options.accepted_loss);
  if (plan.is_final && !options.name.empty()) {  // else it is a request, which has the name
    context.store().add_name(plan.problem, context.device().identity(), options.name);
  }
  return plan;
}

tunedgemm_status run(const Plan& callers_plan, const tunedgemm_buffers& buffers, void* stream) {
  const Plan& plan = callers_plan.newest();
  check_process(*plan.context);
  check_stream(plan.has_streams, stream);
  plan.context->note_call();
  if (!internal::plainly_usable(plan, buffers)) [[unlikely]] {
    if (const std::string reason = internal::why_not_buffers(plan, buffers); !reason.empty()) {
      refuse(reason);
    }
  }
  if (!plan.is_memory_checked.load(std::memory_order_relaxed)) [[unlikely]] {
    check_memory(*plan.context, internal::to_problem(plan.key), buffers);
    plan.is_memory_checked.store(true, std::memory_order_relaxed);
  }
  const int error = internal::launch(plan, buffers, stream);
  if (error != 0) [[unlikely]] {
    throw DeviceError(DeviceError::Kind::kFailed, "launching " + plan.description + ": " +
                                                      plan.context->device().describe(error));
  }
  if (!plan.is_final || plan.is_counted) [[unlikely]] {
    plan.calls.fetch_add(1, std::memory_order_relaxed);
  }
  return TUNEDGEMM_STATUS_OK;
}

CallKey key_of_call(const Context& context, const tunedgemm_problem& problem,
                    const tunedgemm_buffers& buffers) noexcept {
  CallKey key = internal::call_key(problem, buffers);
  if (key.problem.sm_limit == 0) {
    key.problem.sm_limit = context.sm_limit();
  }
  return key;
}

CallKey key_of_plan(const Context& context, const tunedgemm_problem& problem,
                    const tunedgemm_buffers& buffers, const internal::PlanOptions& options) {
  CallKey key = key_of_call(context, problem, buffers);
  key.launch_regime = static_cast<std::int32_t>(options.launch_regime);
  return key;
}

// Runs a call whose plan the context does not keep.
tunedgemm_status run_new_or_recent(Context& context, const CallKey& key,
                                   const tunedgemm_buffers& buffers, void* stream) {
  std::shared_ptr<const Plan> plan = context.find_recent(key);
  if (plan == nullptr) {
    plan = context.plan_for_launch(checked_call(context, key, buffers, stream), stream);
  }
  return run(*plan, buffers, stream);
}

// The problems of a list that calls may have to tune. Leaves out those that plans will refuse.
std::deque<CanonicalProblem> problems_to_tune(const Context& context, const tunedgemm_problem* list,
                                              size_t count, const internal::PlanOptions& options) {
  std::deque<CanonicalProblem> problems;
  if (options.policy.value_or(context.options().policy) != Policy::kTune) {
    return problems;
  }
  for (size_t index = 0; index < count; ++index) {
    try {
      const CallKey key = key_of_plan(context, internal::complete(list, index), {}, options);
      const Plan* plan = context.find_plan(key);
      if (plan == nullptr || (!plan->is_final && options.policy == Policy::kTune)) {
        problems.push_back(internal::checked_call(key).problem);
      }
    } catch (const CallError&) {
      continue;
    }
  }
  return problems;
}

// Makes the plans of tunedgemm_prepare(), whose problems are announced during its lifetime.
class Preparation {
 public:
  struct Result {
    tunedgemm_status status = TUNEDGEMM_STATUS_OK;
    const Plan* plan = nullptr;
    std::string message{};
  };

  [[nodiscard]] Preparation(Context& context, const internal::PlanOptions& options,
                            std::deque<CanonicalProblem> to_tune)
      : context_(context), options_(options) {
    context.announce(std::move(to_tune));
  }
  ~Preparation() { context_.announce({}); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  Result prepare(const tunedgemm_problem* list, size_t index) {
    Result result;
    result.status = guarded([&] {
      const tunedgemm_problem problem = internal::complete(list, index);
      const CallKey key = key_of_plan(context_, problem, buffers_, options_);
      const auto [known, is_new] = results_.try_emplace(key);
      if (is_new) {
        known->second = make(key);
      }
      result = known->second;
      return result.status;
    });
    if (result.status != TUNEDGEMM_STATUS_OK && result.message.empty()) {
      result.message = error_message();
    }
    return result;
  }

 private:
  Result make(const CallKey& key) {
    Result result;
    result.status = guarded([&] {
      result.plan = &plan_for(context_, key, buffers_, options_);
      return TUNEDGEMM_STATUS_OK;
    });
    if (result.status != TUNEDGEMM_STATUS_OK) {
      result.message = error_message();
    }
    return result;
  }

  Context& context_;
  const internal::PlanOptions& options_;
  const tunedgemm_buffers buffers_{};  // null pointers, which have every alignment
  std::unordered_map<CallKey, Result> results_;
};

// Seconds since 1970 of a time as utc_now() writes it; 0 for another text.
std::int64_t unix_seconds(const std::string& utc) {
  std::tm parts{};
  return strptime(utc.c_str(), "%Y-%m-%d %H:%M:%S", &parts) == nullptr ? 0 : timegm(&parts);
}

tunedgemm_plan_info info_of(const Plan& plan) {
  using internal::Origin;
  const internal::KernelOrigin& origin = plan.origin;
  tunedgemm_plan_info info;
  info.origin = static_cast<tunedgemm_plan_origin>(origin.kind);
  info.workspace_bytes = static_cast<size_t>(plan.launch.workspace_bytes);
  info.tuned_m = origin.tuned_m;
  info.expected_us = origin.expected_us;
  const bool is_loss_known = origin.kind == Origin::kNothing || origin.kind == Origin::kTuned ||
                             origin.kind == Origin::kOtherM;
  info.expected_loss = is_loss_known ? plan.context->described_loss(plan) : -1;
  if (origin.winner) {
    const internal::Record& winner = *origin.winner;
    info.candidates = winner.candidates_tried;
    info.median_us = winner.measurement.median_us;
    info.low_us = winner.measurement.low_us;
    info.high_us = winner.measurement.high_us;
    info.default_us = winner.default_us;
    info.naive_us = winner.naive_us;
    info.tuned_at = unix_seconds(winner.tuned_at);
    info.spent_seconds = winner.spent_seconds;
    info.tuned_with = winner.toolchain.compiler.c_str();
    info.vendor_us = winner.vendor_us;
    info.vendor = winner.vendor.c_str();
  }
  return info;
}

void copy(const std::string& from, char* text, size_t size) {
  if (text != nullptr && size > 0) {
    text[from.copy(text, size - 1)] = '\0';
  }
}

bool is_complete(const tunedgemm_problem* problem, const tunedgemm_buffers* buffers) noexcept {
  return problem != nullptr && buffers != nullptr &&
         problem->struct_size == sizeof(tunedgemm_problem) &&
         buffers->struct_size == sizeof(tunedgemm_buffers);
}

}  // namespace

tunedgemm_status tunedgemm_problem_parse(const char* text, tunedgemm_problem* problem) {
  return guarded([&] {
    internal::parse(text, problem);
    return TUNEDGEMM_STATUS_OK;
  });
}

size_t tunedgemm_problem_text(const tunedgemm_problem* problem, char* text, size_t size) {
  std::string written;
  guarded([&] {
    written = internal::text_of(problem);
    return TUNEDGEMM_STATUS_OK;
  });
  copy(written, text, size);
  return written.size();
}

tunedgemm_status tunedgemm_context_create(const tunedgemm_context_options* options,
                                          tunedgemm_context** context) {
  return guarded([&] {
    if (context == nullptr) {
      refuse("the pointer to the new context is null");
    }
    *context = nullptr;
    internal::ProcessContexts& contexts = process_contexts();
    std::unique_ptr<tunedgemm_context> created(
        new tunedgemm_context{Context::create(internal::checked_options(options))});
    contexts.note(*created->context);
    *context = created.release();
    return TUNEDGEMM_STATUS_OK;
  });
}

void tunedgemm_context_destroy(tunedgemm_context* context) {
  if (context != nullptr && !context->context->is_of_this_process()) {
    // Leak the context, because its threads, open files and GPU memory belong to the parent
    // process.
    static_cast<void>(context->context.release());
  } else if (context != nullptr) {
    process_contexts().forget(*context->context);
  }
  delete context;
}

tunedgemm_status tunedgemm_context_request(tunedgemm_context* context,
                                           const tunedgemm_problem* problems,
                                           const tunedgemm_buffers* buffers, const int64_t* calls,
                                           size_t count) {
  tunedgemm_status first_failure = TUNEDGEMM_STATUS_OK;
  const auto request = [&](Context& on, size_t index) {
    const tunedgemm_status status = guarded([&] {
      const CallKey key =
          key_of_call(on, internal::complete(problems, index), internal::complete(buffers, index));
      on.store().note_request(internal::checked_call(key).problem, on.device().identity(),
                              calls[index]);
      return TUNEDGEMM_STATUS_OK;
    });
    first_failure = first_failure == TUNEDGEMM_STATUS_OK ? status : first_failure;
  };
  const tunedgemm_status status = guarded([&] {
    if (count > 0) {
      internal::check_size(problems);
      internal::check_size(buffers);
      if (calls == nullptr) {
        refuse("the pointer to the numbers of calls is null");
      }
    }
    Context& on = context_of(context);
    for (size_t index = 0; index < count; ++index) {
      request(on, index);
    }
    on.store().flush();
    return TUNEDGEMM_STATUS_OK;
  });
  return status == TUNEDGEMM_STATUS_OK ? first_failure : status;
}

tunedgemm_status tunedgemm_context_freeze(tunedgemm_context* context) {
  return guarded([&] {
    context_of(context).freeze();
    return TUNEDGEMM_STATUS_OK;
  });
}

tunedgemm_status tunedgemm_matmul(tunedgemm_context* context, const tunedgemm_problem* problem,
                                  const tunedgemm_buffers* buffers, void* stream) {
  return guarded([&] {
    Context& on = context_of(context);
    if (!is_complete(problem, buffers)) [[unlikely]] {
      const tunedgemm_problem whole_problem = internal::complete(problem);
      const tunedgemm_buffers whole_buffers = internal::complete(buffers);
      const CallKey key = key_of_call(on, whole_problem, whole_buffers);
      const Plan* plan = on.find_plan(key);
      return plan != nullptr ? run(*plan, whole_buffers, stream)
                             : run_new_or_recent(on, key, whole_buffers, stream);
    }
    const CallKey key = key_of_call(on, *problem, *buffers);
    const Plan* plan = on.find_plan(key);
    if (plan == nullptr) [[unlikely]] {
      return run_new_or_recent(on, key, *buffers, stream);
    }
    return run(*plan, *buffers, stream);
  });
}

tunedgemm_status tunedgemm_plan_create(tunedgemm_context* context, const tunedgemm_problem* problem,
                                       const tunedgemm_buffers* buffers,
                                       const tunedgemm_plan_options* options,
                                       const tunedgemm_plan** plan) {
  return guarded([&] {
    if (plan == nullptr) {
      refuse("the pointer to the new plan is null");
    }
    *plan = nullptr;
    const internal::PlanOptions checked = internal::checked_options(options);
    const tunedgemm_buffers whole_buffers = internal::complete(buffers);
    Context& on = context_of(context);
    const CallKey key = key_of_plan(on, internal::complete(problem), whole_buffers, checked);
    const Plan& new_plan = plan_for(on, key, whole_buffers, checked);
    *plan = reinterpret_cast<const tunedgemm_plan*>(&new_plan);
    return TUNEDGEMM_STATUS_OK;
  });
}

tunedgemm_status tunedgemm_prepare(tunedgemm_context* context, const tunedgemm_problem* problems,
                                   size_t count, const tunedgemm_plan_options* options,
                                   tunedgemm_progress_function function, void* user_data) {
  return guarded([&] {
    const auto begin = std::chrono::steady_clock::now();
    const internal::PlanOptions checked = internal::checked_options(options);
    if (count > 0) {
      internal::check_size(problems);
    }
    Context& on = context_of(context);
    Preparation preparation(on, checked, problems_to_tune(on, problems, count, checked));
    tunedgemm_status status = TUNEDGEMM_STATUS_OK;
    std::string message;
    bool goes_on = true;
    for (size_t index = 0; index < count && goes_on; ++index) {
      const Preparation::Result result = preparation.prepare(problems, index);
      if (status == TUNEDGEMM_STATUS_OK && result.status != TUNEDGEMM_STATUS_OK) {
        status = result.status;
        message = "problems[" + std::to_string(index) + "]: " + result.message;
      }
      if (function != nullptr) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        const tunedgemm_progress progress{
            .struct_size = sizeof progress,
            .index = index,
            .count = count,
            .plan = reinterpret_cast<const tunedgemm_plan*>(result.plan),
            .status = result.status,
            .message = result.message.c_str(),
            .seconds = spent.count()};
        goes_on = function(user_data, &progress) == 0;
      }
    }
    return status == TUNEDGEMM_STATUS_OK ? status : fail(status, message.c_str());
  });
}

tunedgemm_status tunedgemm_context_announce(tunedgemm_context* context,
                                            const tunedgemm_problem* problems, size_t count,
                                            const tunedgemm_plan_options* options) {
  return guarded([&] {
    const internal::PlanOptions checked = internal::checked_options(options);
    if (count > 0) {
      internal::check_size(problems);
    }
    Context& on = context_of(context);
    on.announce(problems_to_tune(on, problems, count, checked));
    return TUNEDGEMM_STATUS_OK;
  });
}

tunedgemm_status tunedgemm_run(const tunedgemm_plan* plan, const tunedgemm_buffers* buffers,
                               void* stream) {
  return guarded([&] {
    if (plan == nullptr) {
      refuse("the plan is a null pointer");
    }
    const Plan& callers_plan = *reinterpret_cast<const Plan*>(plan);
    const bool complete = buffers != nullptr && buffers->struct_size == sizeof(tunedgemm_buffers);
    return complete ? run(callers_plan, *buffers, stream)
                    : run(callers_plan, internal::complete(buffers), stream);
  });
}

tunedgemm_status tunedgemm_plan_check(const tunedgemm_plan* plan,
                                      const tunedgemm_problem* problem) {
  return guarded([&] {
    if (plan == nullptr) {
      refuse("the plan is a null pointer");
    }
    const Plan& plan_to_run = *reinterpret_cast<const Plan*>(plan);
    const CallKey& key = plan_to_run.key;
    CallKey asked = key;
    asked.problem = key_of_call(*plan_to_run.context, internal::complete(problem), {}).problem;
    if (!(asked == key) && !(internal::checked_call(asked).asked == internal::to_problem(key))) {
      refuse("the call's problem is " + internal::text_of(problem) + ", but the plan's is " +
             internal::text_of(&key.problem) + "; make a plan for it");
    }
    return TUNEDGEMM_STATUS_OK;
  });
}

size_t tunedgemm_plan_workspace_bytes(const tunedgemm_plan* plan) {
  return plan == nullptr
             ? 0
             : static_cast<size_t>(
                   reinterpret_cast<const Plan*>(plan)->newest().launch.workspace_bytes);
}

tunedgemm_status tunedgemm_plan_get_info(const tunedgemm_plan* plan, tunedgemm_plan_info* info) {
  return guarded([&] {
    if (plan == nullptr) {
      refuse("the plan is a null pointer");
    }
    internal::check_size(info);
    const Plan& newest = reinterpret_cast<const Plan*>(plan)->newest();
    check_process(*newest.context);
    tunedgemm_plan_info whole = info_of(newest);
    whole.struct_size = info->struct_size;
    std::memcpy(info, &whole, whole.struct_size);
    return TUNEDGEMM_STATUS_OK;
  });
}

const char* tunedgemm_plan_description(const tunedgemm_plan* plan) {
  if (plan == nullptr) {
    return "";
  }
  const Plan& newest = reinterpret_cast<const Plan*>(plan)->newest();
  const char* text = newest.description.c_str();
  if (newest.context != nullptr && newest.context->is_of_this_process()) {
    guarded([&] {
      text = newest.context->description(newest).c_str();
      return TUNEDGEMM_STATUS_OK;
    });
  }
  return text;
}

const char* tunedgemm_error_message(void) {
  return error_message().c_str();
}

void tunedgemm_set_log(tunedgemm_log_function function, void* user_data) {
  guarded([&] {
    if (function == nullptr) {
      internal::send_log_to_standard_error();
      return TUNEDGEMM_STATUS_OK;
    }
    internal::send_log_to([=](internal::LogLevel level, std::string_view sentence) {
      const bool is_warning = level == internal::LogLevel::kWarning;
      function(user_data, is_warning ? TUNEDGEMM_LOG_LEVEL_WARNING : TUNEDGEMM_LOG_LEVEL_INFO,
               std::string(sentence).c_str());
    });
    return TUNEDGEMM_STATUS_OK;
  });
}

#define TUNEDGEMM_TEXT_OF(number) #number
#define TUNEDGEMM_VERSION_TEXT(major, minor, patch) \
  TUNEDGEMM_TEXT_OF(major) "." TUNEDGEMM_TEXT_OF(minor) "." TUNEDGEMM_TEXT_OF(patch)
const char* tunedgemm_version(void) {
  return TUNEDGEMM_VERSION_TEXT(TUNEDGEMM_VERSION_MAJOR, TUNEDGEMM_VERSION_MINOR,
                                TUNEDGEMM_VERSION_PATCH);
}
#undef TUNEDGEMM_TEXT_OF
#undef TUNEDGEMM_VERSION_TEXT

const char* tunedgemm_status_name(tunedgemm_status status) {
  switch (status) {
    case TUNEDGEMM_STATUS_OK:
      return "ok";
    case TUNEDGEMM_STATUS_INVALID_ARGUMENT:
      return "invalid argument";
    case TUNEDGEMM_STATUS_UNSUPPORTED:
      return "unsupported";
    case TUNEDGEMM_STATUS_NOT_TUNED:
      return "not tuned";
    case TUNEDGEMM_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case TUNEDGEMM_STATUS_NO_DEVICE:
      return "no device";
    case TUNEDGEMM_STATUS_DEVICE_FAILED:
      return "device failed";
    case TUNEDGEMM_STATUS_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

// The internal names are string literals.
#define TUNEDGEMM_NAME_OF(enumeration, Enum)                                  \
  const char* tunedgemm_##enumeration##_name(tunedgemm_##enumeration value) { \
    return internal::name(internal::Enum{value}).data();                      \
  }
TUNEDGEMM_NAME_OF(plan_origin, Origin)
TUNEDGEMM_NAME_OF(type, DataType)
TUNEDGEMM_NAME_OF(order, Order)
TUNEDGEMM_NAME_OF(activation, Activation)
TUNEDGEMM_NAME_OF(bias, Bias)
TUNEDGEMM_NAME_OF(scaling, Scaling)
TUNEDGEMM_NAME_OF(group_kind, GroupKind)
#undef TUNEDGEMM_NAME_OF

const char* tunedgemm_numerics_name(tunedgemm_numerics numerics) {
  return numerics == TUNEDGEMM_NUMERICS_DEFAULT
             ? "default"
             : internal::name(internal::Numerics{numerics}).data();
}

size_t tunedgemm_context_report(tunedgemm_context* context, char* text, size_t size) {
  std::string report;
  const tunedgemm_status status = guarded([&] {
    report = context_of(context).report();
    return TUNEDGEMM_STATUS_OK;
  });
  const std::string& shown = status == TUNEDGEMM_STATUS_OK ? report : error_message();
  copy(shown, text, size);
  return shown.size();
}
