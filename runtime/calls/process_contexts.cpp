#include "runtime/calls/process_contexts.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <system_error>

#include "kernel_templates/base/log.h"

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
  start_top();
}

void ProcessContexts::forget(Context& context) noexcept {
  const std::scoped_lock lock(mutex_);
  of_program_.erase(&context);
  try {
    context.drop_recent_plans();
    context.add_to(of_forgotten_);
  } catch (const std::bad_alloc&) {  // the summary lacks it
  }
  for (auto& [key, problem] : of_forgotten_.problems) {
    problem.plan = nullptr;
  }
}

std::set<Context*> ProcessContexts::all() const {
  std::set<Context*> contexts = of_program_;
  for (const auto& [ordinal, context] : by_ordinal_) {
    contexts.insert(context.get());
  }
  contexts.erase(nullptr);
  return contexts;
}

void ProcessContexts::start_top() {
  if (!top_folder_.empty()) {
    top_.start();
  }
}

std::filesystem::path ProcessContexts::top_file() const {
  return top_folder_ / std::to_string(getpid());
}

bool ProcessContexts::write_top() {
  const std::scoped_lock lock(mutex_);
  try {
    CallSummary summary = of_forgotten_;
    for (Context* context : all()) {
      context->add_to(summary);
    }
    const std::filesystem::path file = top_file();
    const std::filesystem::path written = file.string() + ".new";
    std::ofstream(written) << summary.lines();
    std::filesystem::rename(written, file);
  } catch (const std::exception& error) {
    log_warning("the calls cannot be written for tunedgemm top: " + std::string(error.what()));
    return false;
  }
  return true;
}

void ProcessContexts::shut_down() {
  top_.stop();
  if (std::error_code ignored; !top_folder_.empty()) {
    std::filesystem::remove(top_file(), ignored);
  }
  const std::scoped_lock lock(mutex_);
  CallSummary summary = of_forgotten_;
  for (Context* context : all()) {
    context->freeze();
    context->note_calls();
    context->store().flush();
    context->drop_recent_plans();
    context->add_to(summary);
  }
  const std::string text = summary.text();
  if (!text.empty() && environment("TUNEDGEMM_LOG") == "summary") {
    log_summary(text);
  }
}

Context& ProcessContexts::find_or_make(int ordinal) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Context>& context = by_ordinal_[ordinal];
  if (context == nullptr) {
    context = make_(backend(), ordinal);
    start_top();
  }
  return *context;
}

}  // namespace tunedgemm::internal
