#include "runtime/process_contexts.h"

namespace tunedgemm {

Context& ProcessContexts::current() {
  struct Last {
    const ProcessContexts* owner = nullptr;
    Context* context = nullptr;
  };
  thread_local Last last;
  if (last.owner != this || !last.context->device().is_current()) [[unlikely]] {
    last = {this, &find_or_make()};
  }
  return *last.context;
}

void ProcessContexts::settle() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [ordinal, context] : of_ordinals_) {
    if (context != nullptr) {
      context->freeze();
      context->note_calls();
      context->store().flush();
    }
  }
}

Context& ProcessContexts::find_or_make() {
  const int ordinal = backend_.current_ordinal();
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Context>& context = of_ordinals_[ordinal];
  if (context == nullptr) {
    context = make_(backend_, ordinal);
  }
  return *context;
}

}  // namespace tunedgemm
