#include "runtime/python/context.h"

#include <nanobind/nanobind.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/python/gil.h"
#include "runtime/python/names.h"
#include "runtime/python/per_process.h"

namespace nb = nanobind;

namespace tunedgemm::python {
namespace {

template <class Value>
using Named = std::pair<std::string_view, Value>;

tunedgemm_rigor rigor_of(std::string_view name) {
  static constexpr Named<tunedgemm_rigor> kRigors[] = {{"default", TUNEDGEMM_RIGOR_DEFAULT},
                                                       {"quick", TUNEDGEMM_RIGOR_QUICK},
                                                       {"normal", TUNEDGEMM_RIGOR_NORMAL},
                                                       {"exhaustive", TUNEDGEMM_RIGOR_EXHAUSTIVE}};
  return named("rigor", name, kRigors);
}

/// The contexts of this process. The GIL guards it.
using OpenContexts = std::vector<std::weak_ptr<tunedgemm_context>>;

class DefaultContexts {
 public:
  std::shared_ptr<tunedgemm_context> of(int device) {
    if (auto found = find(device)) {
      return found;
    }
    const GilAcquire gil;
    // Without the lock, because opening a device releases the GIL.
    auto made = std::make_unique<Context>(
        ContextOptions{.device = device == kHost ? "host" : "cuda:" + std::to_string(device)});
    const std::scoped_lock lock(mutex_);
    return contexts_.try_emplace(device, std::move(made)).first->second->get();
  }

  void close(bool for_good) {
    std::map<int, std::unique_ptr<Context>> closed;
    {
      const std::scoped_lock lock(mutex_);
      is_closed_ = for_good;
      closed.swap(contexts_);
    }
    for (const auto& [device, context] : closed) {
      context->close();
    }
  }

 private:
  std::shared_ptr<tunedgemm_context> find(int device) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) {
      refuse("the interpreter is ending, so nothing can be multiplied any more");
    }
    const auto found = contexts_.find(device);
    return found == contexts_.end() ? nullptr : found->second->get();
  }

  std::mutex mutex_;
  bool is_closed_ = false;
  std::map<int, std::unique_ptr<Context>> contexts_;
};

}  // namespace

NamedDevice device_of(std::string_view device) {
  static constexpr Named<tunedgemm_backend> kBackends[] = {{"auto", TUNEDGEMM_BACKEND_AUTO},
                                                           {"cuda", TUNEDGEMM_BACKEND_CUDA},
                                                           {"host", TUNEDGEMM_BACKEND_HOST}};
  const std::string_view kind = device.substr(0, device.find(':'));
  const tunedgemm_backend backend = named("device", kind, kBackends);
  if (kind == device) {
    return {backend, 0};
  }
  const std::string number(device.substr(kind.size() + 1));
  const bool is_number = !number.empty() && number.size() < 5 &&
                         number.find_first_not_of("0123456789") == std::string::npos;
  if (kind != "cuda" || !is_number) {
    refuse("device is '" + std::string(device) + "'; write 'cuda:1' for the second GPU");
  }
  return {backend, std::stoi(number)};
}

void check(tunedgemm_status status) {
  if (status == TUNEDGEMM_STATUS_OK) {
    return;
  }
  const std::string message = tunedgemm_error_message();
  const nb::object by_status = nb::module_::import_("tunedgemm._errors").attr("BY_STATUS");
  const nb::object type = by_status[nb::int_(static_cast<int>(status))];
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

tunedgemm_policy policy_of(std::string_view name) {
  static constexpr Named<tunedgemm_policy> kPolicies[] = {
      {"default", TUNEDGEMM_POLICY_DEFAULT},
      {"tune", TUNEDGEMM_POLICY_TUNE},
      {"tune_in_background", TUNEDGEMM_POLICY_TUNE_IN_BACKGROUND},
      {"compile", TUNEDGEMM_POLICY_COMPILE},
      {"stored", TUNEDGEMM_POLICY_STORED},
      {"fail", TUNEDGEMM_POLICY_FAIL}};
  return named("policy", name, kPolicies);
}

Context::Context(const ContextOptions& wanted) {
  tunedgemm_context_options options;
  tunedgemm_context_options_init(&options);
  const NamedDevice device = device_of(wanted.device);
  options.backend = device.backend, options.ordinal = device.ordinal;
  options.cache_path = wanted.cache ? wanted.cache->c_str() : nullptr;
  options.policy = policy_of(wanted.policy);
  options.rigor = rigor_of(wanted.rigor);
  options.host_threads = wanted.threads;
  options.tune_seconds = wanted.seconds;
  options.tune_candidates = wanted.candidates;
  options.sm_limit = wanted.sm_limit;
  tunedgemm_context* context = nullptr;
  tunedgemm_status status;
  {
    const GilRelease released;
    status = tunedgemm_context_create(&options, &context);
  }
  check(status);
  context_.reset(context, tunedgemm_context_destroy);
  auto& open = PerProcess<OpenContexts>::get();
  std::erase_if(open, [](const auto& one) { return one.expired(); });
  open.push_back(context_);
}

std::shared_ptr<tunedgemm_context> Context::get() const {
  if (!context_) {
    refuse("the context is closed; make another one");
  }
  return context_;
}

void Context::close() {
  std::shared_ptr<tunedgemm_context> closed = std::move(context_);
  const GilRelease released;
  closed.reset();
}

std::string Context::report() const {
  const std::shared_ptr<tunedgemm_context> context = get();
  std::string text(tunedgemm_context_report(context.get(), nullptr, 0), '\0');
  tunedgemm_context_report(context.get(), text.data(), text.size() + 1);
  return text.c_str();
}

std::shared_ptr<tunedgemm_context> default_context(int device) {
  return PerProcess<DefaultContexts>::get().of(device);
}

void write_pending() {
  const OpenContexts open = PerProcess<OpenContexts>::get();
  const GilRelease released;
  for (const auto& one : open) {
    if (const auto context = one.lock()) {
      tunedgemm_context_request(context.get(), nullptr, nullptr, nullptr, 0);
    }
  }
}

void close_default_contexts(bool for_good) {
  PerProcess<DefaultContexts>::get().close(for_good);
}

}  // namespace tunedgemm::python
