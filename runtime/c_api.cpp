// The C API over Context. Every function that can fail is `return guarded(...)`: exceptions stop
// there.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "kernel_templates/environment.h"
#include "kernel_templates/log.h"
#include "runtime/launch.h"
#include "runtime/process_contexts.h"

struct tunedgemm_context {
  std::unique_ptr<tunedgemm::Context> context;
};

namespace {

using tunedgemm::CallError;
using tunedgemm::Context;
using tunedgemm::DeviceError;
using tunedgemm::Plan;

std::string& error_message() {
  thread_local std::string message;
  return message;
}

tunedgemm_status to_status(CallError::Kind kind) {
  switch (kind) {
    case CallError::Kind::kInvalidArgument:
      return TUNEDGEMM_INVALID_ARGUMENT;
    case CallError::Kind::kUnsupported:
      return TUNEDGEMM_UNSUPPORTED;
    case CallError::Kind::kNotTuned:
      return TUNEDGEMM_NOT_TUNED;
  }
  return TUNEDGEMM_INTERNAL;
}

tunedgemm_status to_status(DeviceError::Kind kind) {
  switch (kind) {
    case DeviceError::Kind::kUnavailable:
      return TUNEDGEMM_NO_DEVICE;
    case DeviceError::Kind::kOutOfMemory:
      return TUNEDGEMM_OUT_OF_MEMORY;
    case DeviceError::Kind::kFailed:
      return TUNEDGEMM_DEVICE_FAILED;
  }
  return TUNEDGEMM_INTERNAL;
}

tunedgemm_status fail(tunedgemm_status status, const char* message) noexcept {
  try {
    error_message() = message;
  } catch (...) {
    error_message().clear();
  }
  return status;
}

// The only place where exceptions become statuses. `body` returns a status.
template <class Body>
tunedgemm_status guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const CallError& error) {
    return fail(to_status(error.kind()), error.what());
  } catch (const DeviceError& error) {
    return fail(to_status(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TUNEDGEMM_OUT_OF_MEMORY, "the host's memory is used up");
  } catch (const std::exception& error) {
    return fail(TUNEDGEMM_INTERNAL, error.what());
  } catch (...) {
    return fail(TUNEDGEMM_INTERNAL, "an exception of unknown type");
  }
}

[[noreturn]] void refuse(const std::string& message) {
  throw CallError(CallError::Kind::kInvalidArgument, message);
}

// A caller that was compiled against an older header has a shorter struct: the rest keeps its
// default.
template <class Struct, class Initialize>
Struct complete(const Struct* given, const char* name, Initialize initialize) {
  if (given == nullptr) {
    refuse(std::string("the ") + name + " is a null pointer");
  }
  if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof(Struct)) {
    refuse(std::string("struct_size of the ") + name + " is " + std::to_string(given->struct_size) +
           ", and this library knows up to " + std::to_string(sizeof(Struct)) + "; use tunedgemm_" +
           name + "_init");
  }
  Struct whole;
  initialize(&whole);
  std::memcpy(&whole, given, given->struct_size);
  whole.struct_size = sizeof(Struct);
  return whole;
}

std::optional<tunedgemm::Policy> policy_asked(tunedgemm_policy policy) {
  if (policy == TUNEDGEMM_POLICY_DEFAULT) {
    return std::nullopt;
  }
  if (policy < TUNEDGEMM_POLICY_TUNE || policy > TUNEDGEMM_POLICY_BACKGROUND) {
    refuse("the policy " + std::to_string(static_cast<int>(policy)) +
           " is not one of tunedgemm_policy");
  }
  return static_cast<tunedgemm::Policy>(policy);
}

tunedgemm::Policy policy_of(tunedgemm_policy policy) {
  if (const auto asked = policy_asked(policy)) {
    return *asked;
  }
  const std::string text = tunedgemm::environment("TUNEDGEMM_POLICY");
  if (text.empty()) {
    return tunedgemm::Policy::kTune;
  }
  const auto parsed = tunedgemm::parse_policy(text);
  if (!parsed) {
    refuse("TUNEDGEMM_POLICY is \"" + text + "\"; use tune, background, stored, never or replay");
  }
  return *parsed;
}

tunedgemm::ContextOptions options_of(const tunedgemm_context_options& given) {
  tunedgemm::ContextOptions options;
  if (given.backend != TUNEDGEMM_BACKEND_AUTO) {
    options.backend = tunedgemm::find_backend(static_cast<int>(given.backend));
    if (options.backend == nullptr) {
      refuse("the backend " + std::to_string(static_cast<int>(given.backend)) +
             " is not one of tunedgemm_backend");
    }
  }
  if (given.ordinal < 0 || given.host_threads < 0 || given.tune_candidates < 0 ||
      !(given.tune_seconds >= 0)) {
    refuse("ordinal, host_threads, tune_candidates and tune_seconds must be 0 or more");
  }
  options.ordinal = given.ordinal;
  options.host_threads = given.host_threads;
  options.policy = policy_of(given.policy);
  if (given.rigor != TUNEDGEMM_RIGOR_DEFAULT) {
    if (given.rigor < TUNEDGEMM_QUICK || given.rigor > TUNEDGEMM_EXHAUSTIVE) {
      refuse("the rigor " + std::to_string(static_cast<int>(given.rigor)) +
             " is not one of tunedgemm_rigor");
    }
    options.rigor = static_cast<tunedgemm::Rigor>(given.rigor);
  }
  options.budget = {given.tune_seconds, given.tune_candidates};
  if (given.cache_path != nullptr) {
    options.store.path = given.cache_path;
    options.store.access = *given.cache_path == '\0' ? tunedgemm::StoreOptions::Access::kMemoryOnly
                                                     : tunedgemm::StoreOptions::Access::kReadWrite;
  }
  return options;
}

tunedgemm::ProcessContexts& process_contexts() {
  const auto make = [](const tunedgemm::Backend& backend, int ordinal) {
    tunedgemm_context_options defaults;
    tunedgemm_context_options_init(&defaults);
    tunedgemm::ContextOptions options = options_of(defaults);
    options.backend = &backend;
    options.ordinal = ordinal;
    return Context::create(options);
  };
  // A forked child has its own, and leaves its parent's as they are, whose locks may be held.
  struct OfProcess {
    explicit OfProcess(const tunedgemm::ProcessContexts::Make& make_context)
        : contexts(tunedgemm::automatic_backend(), make_context) {}
    tunedgemm::ProcessContexts contexts;
    const std::uint32_t forks = tunedgemm::forks();
  };
  static std::atomic<OfProcess*> newest{nullptr};
  OfProcess* known = newest.load(std::memory_order_acquire);
  if (known != nullptr && known->forks == tunedgemm::forks()) [[likely]] {
    return known->contexts;
  }
  auto made = std::make_unique<OfProcess>(make);
  const bool is_first = known == nullptr;
  if (!newest.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
    return known->contexts;  // another thread was faster
  }
  if (is_first) {  // a child has the parent's handlers
    // Threads that tune must not run on while what they use is destroyed: the last that was made is
    // the first that goes, so the logger, the families and the tables must be there before.
    tunedgemm::log_info("calls without a context use those of the process");
    for (const char* name : {"cuda", "host"}) {
      for (const tunedgemm::Family* family : tunedgemm::families(name)) {
        static_cast<void>(tunedgemm::find_family(family->name()));
      }
    }
    static_cast<void>(tunedgemm::to_text(tunedgemm::Problem()));
    std::atexit([] {
      guarded([] {
        process_contexts().settle();
        return TUNEDGEMM_OK;
      });
    });
  }
  return made.release()->contexts;
}

void check_process(const Context& context) {
  if (!context.is_of_this_process()) [[unlikely]] {
    refuse(
        "the context was made before fork(), in the parent process, and can only be destroyed "
        "here; "
        "make another one in the child, or pass none");
  }
}

Context& context_of(tunedgemm_context* context) {
  if (context == nullptr) {
    return process_contexts().current();
  }
  check_process(*context->context);
  return *context->context;
}

void check_memory(const Context& context, const tunedgemm::CallKey& key,
                  const tunedgemm_buffers& buffers) {
  const std::string reason =
      tunedgemm::why_not_memory(context.device(), tunedgemm::to_problem(key), buffers);
  if (!reason.empty()) {
    refuse(reason);
  }
}

tunedgemm_plan_options default_plan_options() {
  tunedgemm_plan_options options;
  tunedgemm_plan_options_init(&options);
  return options;
}

const Plan& plan_for(Context& context, const tunedgemm_problem& problem,
                     const tunedgemm_buffers& buffers, void* stream,
                     const tunedgemm_plan_options& options) {
  tunedgemm::CallKey key = tunedgemm::call_key(problem, buffers);
  std::memcpy(&key.launches, &options.launches, sizeof key.launches);  // C may give any integer
  check_memory(context, key, buffers);
  return context.plan(key, stream, policy_asked(options.policy),
                      options.name == nullptr ? "" : options.name);
}

tunedgemm_status run(const Plan& asked, const tunedgemm_buffers& buffers, void* stream) {
  const Plan& plan = asked.newest();
  check_process(*plan.context);
  plan.context->note_call();
  if (!tunedgemm::plainly_usable(plan, buffers)) [[unlikely]] {
    if (const std::string reason = tunedgemm::why_not_buffers(plan, buffers); !reason.empty()) {
      refuse(reason);
    }
  }
  if (!plan.has_seen_memory.load(std::memory_order_relaxed)) [[unlikely]] {
    check_memory(*plan.context, plan.key, buffers);
    plan.has_seen_memory.store(true, std::memory_order_relaxed);
  }
  const int error = tunedgemm::launch(plan, buffers, stream);
  if (error != 0) [[unlikely]] {
    throw DeviceError(DeviceError::Kind::kFailed, "launching " + plan.description + ": " +
                                                      plan.context->device().describe(error));
  }
  if (!plan.is_final) [[unlikely]] {
    plan.calls.fetch_add(1, std::memory_order_relaxed);
  }
  return TUNEDGEMM_OK;
}

bool is_complete(const tunedgemm_problem* problem, const tunedgemm_buffers* buffers) noexcept {
  return problem != nullptr && buffers != nullptr &&
         problem->struct_size == sizeof(tunedgemm_problem) &&
         buffers->struct_size == sizeof(tunedgemm_buffers);
}

tunedgemm_problem complete_problem(const tunedgemm_problem* problem) {
  return complete(problem, "problem", [](tunedgemm_problem* whole) {
    tunedgemm_problem_init(whole, 0, 0, 0, TUNEDGEMM_F32, TUNEDGEMM_F32, TUNEDGEMM_F32);
  });
}

tunedgemm_buffers complete_buffers(const tunedgemm_buffers* buffers) {
  return complete(buffers, "buffers", tunedgemm_buffers_init);
}

}  // namespace

void tunedgemm_context_options_init(tunedgemm_context_options* options) {
  *options = tunedgemm_context_options{};
  options->struct_size = sizeof *options;
}

void tunedgemm_problem_init(tunedgemm_problem* problem, int64_t m, int64_t n, int64_t k,
                            tunedgemm_type type_a, tunedgemm_type type_b, tunedgemm_type type_d) {
  *problem = tunedgemm_problem{};
  problem->struct_size = sizeof *problem;
  problem->m = m;
  problem->n = n;
  problem->k = k;
  problem->batch = 1;
  problem->type_a = type_a;
  problem->type_b = type_b;
  problem->type_d = type_d;
  problem->numerics = TUNEDGEMM_NUMERICS_DEFAULT;
}

void tunedgemm_buffers_init(tunedgemm_buffers* buffers) {
  *buffers = tunedgemm_buffers{};
  buffers->struct_size = sizeof *buffers;
  buffers->alpha = 1;
  buffers->slope = 0.01f;
}

tunedgemm_status tunedgemm_context_create(const tunedgemm_context_options* options,
                                          tunedgemm_context** context) {
  return guarded([&] {
    if (context == nullptr) {
      refuse("the place for the new context is a null pointer");
    }
    *context = nullptr;
    tunedgemm_context_options whole;
    tunedgemm_context_options_init(&whole);
    if (options != nullptr) {
      whole = complete(options, "context_options", tunedgemm_context_options_init);
    }
    *context = new tunedgemm_context{Context::create(options_of(whole))};
    return TUNEDGEMM_OK;
  });
}

void tunedgemm_context_destroy(tunedgemm_context* context) {
  if (context != nullptr && !context->context->is_of_this_process()) {
    // What it owns is the parent's: threads, connections to files, a GPU's memory.
    static_cast<void>(context->context.release());
  }
  delete context;
}

tunedgemm_status tunedgemm_context_freeze(tunedgemm_context* context) {
  return guarded([&] {
    context_of(context).freeze();
    return TUNEDGEMM_OK;
  });
}

tunedgemm_status tunedgemm_matmul(tunedgemm_context* context, const tunedgemm_problem* problem,
                                  const tunedgemm_buffers* buffers, void* stream) {
  return guarded([&] {
    Context& on = context_of(context);
    if (!is_complete(problem, buffers)) [[unlikely]] {
      const tunedgemm_problem whole_problem = complete_problem(problem);
      const tunedgemm_buffers whole_buffers = complete_buffers(buffers);
      return run(plan_for(on, whole_problem, whole_buffers, stream, default_plan_options()),
                 whole_buffers, stream);
    }
    const Plan* plan = on.find_plan(tunedgemm::call_key(*problem, *buffers));
    if (plan == nullptr) [[unlikely]] {
      plan = &plan_for(on, *problem, *buffers, stream, default_plan_options());
    }
    return run(*plan, *buffers, stream);
  });
}

void tunedgemm_plan_options_init(tunedgemm_plan_options* options) {
  *options = tunedgemm_plan_options{};
  options->struct_size = sizeof *options;
}

tunedgemm_status tunedgemm_plan_create(tunedgemm_context* context, const tunedgemm_problem* problem,
                                       const tunedgemm_buffers* buffers,
                                       const tunedgemm_plan** plan) {
  return tunedgemm_plan_create_with(context, problem, buffers, nullptr, plan);
}

tunedgemm_status tunedgemm_plan_create_with(tunedgemm_context* context,
                                            const tunedgemm_problem* problem,
                                            const tunedgemm_buffers* buffers,
                                            const tunedgemm_plan_options* options,
                                            const tunedgemm_plan** plan) {
  return guarded([&] {
    if (plan == nullptr) {
      refuse("the place for the new plan is a null pointer");
    }
    *plan = nullptr;
    const tunedgemm_plan_options whole =
        options == nullptr ? default_plan_options()
                           : complete(options, "plan_options", tunedgemm_plan_options_init);
    const Plan& made = plan_for(context_of(context), complete_problem(problem),
                                complete_buffers(buffers), nullptr, whole);
    *plan = reinterpret_cast<const tunedgemm_plan*>(&made);
    return TUNEDGEMM_OK;
  });
}

tunedgemm_status tunedgemm_run(const tunedgemm_plan* plan, const tunedgemm_buffers* buffers,
                               void* stream) {
  return guarded([&] {
    if (plan == nullptr) {
      refuse("the plan is a null pointer");
    }
    const Plan& known = *reinterpret_cast<const Plan*>(plan);
    const bool complete = buffers != nullptr && buffers->struct_size == sizeof(tunedgemm_buffers);
    return complete ? run(known, *buffers, stream) : run(known, complete_buffers(buffers), stream);
  });
}

size_t tunedgemm_plan_workspace_bytes(const tunedgemm_plan* plan) {
  return plan == nullptr
             ? 0
             : static_cast<size_t>(
                   reinterpret_cast<const Plan*>(plan)->newest().launch.workspace_bytes);
}

const char* tunedgemm_plan_description(const tunedgemm_plan* plan) {
  return plan == nullptr ? "" : reinterpret_cast<const Plan*>(plan)->newest().description.c_str();
}

const char* tunedgemm_error_message(void) {
  return error_message().c_str();
}

const char* tunedgemm_status_name(tunedgemm_status status) {
  switch (status) {
    case TUNEDGEMM_OK:
      return "ok";
    case TUNEDGEMM_INVALID_ARGUMENT:
      return "invalid argument";
    case TUNEDGEMM_UNSUPPORTED:
      return "unsupported";
    case TUNEDGEMM_NOT_TUNED:
      return "not tuned";
    case TUNEDGEMM_OUT_OF_MEMORY:
      return "out of memory";
    case TUNEDGEMM_NO_DEVICE:
      return "no device";
    case TUNEDGEMM_DEVICE_FAILED:
      return "device failed";
    case TUNEDGEMM_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

size_t tunedgemm_context_report(tunedgemm_context* context, char* text, size_t size) {
  std::string report;
  const tunedgemm_status status = guarded([&] {
    report = context_of(context).report();
    return TUNEDGEMM_OK;
  });
  if (status != TUNEDGEMM_OK) {
    report = error_message();
  }
  if (text != nullptr && size > 0) {
    const size_t copied = std::min(size - 1, report.size());
    std::memcpy(text, report.data(), copied);
    text[copied] = '\0';
  }
  return report.size() + 1;
}
