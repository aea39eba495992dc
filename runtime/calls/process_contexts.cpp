#include "runtime/calls/process_contexts.h"

#include <atomic>
#include <new>
#include <string>

namespace tunedgemm::internal {

std::uint64_t ProcessContexts::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

const Backend& ProcessContexts::backend() {
  std::call_once(backend_is_found_, [this] { backend_ = &find_backend_(); });
  return *backend_;
}

Context& ProcessContexts::current() {
  struct Last {
    std::uint64_t owner = 0;
    Context* context = nullptr;
    int ordinal = 0;
  };
  thread_local Last last;
  if (last.owner != id_ || !last.context->device().is_current()) [[unlikely]] {
    // is_current() is also false if a non-primary CUDA context of the device is current, so compare
    // ordinals.
    const int ordinal = backend().current_ordinal();
    if (last.owner != id_ || last.ordinal != ordinal) {
      last = {id_, &find_or_make(ordinal), ordinal};
    }
  }
  return *last.context;
}

void ProcessContexts::note(Context& context) {
  const std::scoped_lock lock(mutex_);
  of_program_.insert(&context);
}

void ProcessContexts::forget(Context& context) noexcept {
  const std::scoped_lock lock(mutex_);
  of_program_.erase(&context);
  try {
    context.add_to(of_forgotten_);
  } catch (const std::bad_alloc&) {  // the summary lacks it
  }
}

void ProcessContexts::shut_down() {
  const std::scoped_lock lock(mutex_);
  std::set<Context*> contexts = of_program_;
  for (const auto& [ordinal, context] : by_ordinal_) {
    contexts.insert(context.get());
  }
  contexts.erase(nullptr);
  CallSummary summary = of_forgotten_;
  for (Context* context : contexts) {
    context->freeze();
    context->note_calls();
    context->store().flush();
    context->add_to(summary);
  }
  if (const std::string text = summary.text(); !text.empty()) {
    log_summary(text);
  }
}

Context& ProcessContexts::find_or_make(int ordinal) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Context>& context = by_ordinal_[ordinal];
  if (context == nullptr) {
    context = make_(backend(), ordinal);
  }
  return *context;
}

}  // namespace tunedgemm::internal
