#include "runtime/calls/process_contexts.h"

#include <atomic>

namespace tunedgemm::internal {

std::uint64_t ProcessContexts::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Context& ProcessContexts::current() {
  struct Last {
    std::uint64_t owner = 0;
    Context* context = nullptr;
    int ordinal = 0;
  };
  thread_local Last last;
  if (last.owner != id_ || !last.context->device().is_current()) [[unlikely]] {
    // is_current() is false for a non-primary CUDA context: compare ordinals.
    const int ordinal = backend_.current_ordinal();
    if (last.owner != id_ || last.ordinal != ordinal) {
      last = {id_, &find_or_make(ordinal), ordinal};
    }
  }
  return *last.context;
}

void ProcessContexts::shut_down() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [ordinal, context] : by_ordinal_) {
    if (context != nullptr) {
      context->freeze();
      context->note_calls();
      context->store().flush();
    }
  }
}

Context& ProcessContexts::find_or_make(int ordinal) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Context>& context = by_ordinal_[ordinal];
  if (context == nullptr) {
    context = make_(backend_, ordinal);
  }
  return *context;
}

}  // namespace tunedgemm::internal
