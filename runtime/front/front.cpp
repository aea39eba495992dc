#include "runtime/front/front.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {

// The functions of libtunedgemm that a front calls.
#define TUNEDGEMM_FUNCTIONS(X) \
  X(tunedgemm_context_create)  \
  X(tunedgemm_context_request) \
  X(tunedgemm_error_message)   \
  X(tunedgemm_plan_create)     \
  X(tunedgemm_plan_get_info)   \
  X(tunedgemm_problem_text)    \
  X(tunedgemm_run)

struct Front::Library {
  // NOLINTBEGIN(bugprone-macro-parentheses): a name is declared
#define TUNEDGEMM_DECLARE(name) decltype(&::name) name = nullptr;
  TUNEDGEMM_FUNCTIONS(TUNEDGEMM_DECLARE)
#undef TUNEDGEMM_DECLARE
  // NOLINTEND(bugprone-macro-parentheses)

  /// Null, with the reason, if the library is missing or is of another version.
  static std::shared_ptr<const Library> open(std::string& why_not) {
    // The library beside this one: it is in the run path.
    void* const opened = dlopen("libtunedgemm.so.0", RTLD_NOW | RTLD_LOCAL);
    auto library = std::make_shared<Library>();
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
      return function != nullptr;
    };
#define TUNEDGEMM_FIND(name) &&find(library->name, #name)
    if (opened != nullptr TUNEDGEMM_FUNCTIONS(TUNEDGEMM_FIND)) {
      return library;
    }
#undef TUNEDGEMM_FIND
    const char* const reason = dlerror();
    why_not = reason == nullptr ? "libtunedgemm.so.0 cannot be opened" : reason;
    return nullptr;
  }
};

namespace {

// A winner is served if it is this much faster than the other library's call: a smaller difference
// is within the spread of two runs.
constexpr double kLeastSpeedup = 1.02;

// Of a process. The calls of others are passed on.
constexpr std::size_t kMostProducts = 1 << 14;

// Requests are also written when a product is asked for the 64th time, the 128th, and so on, though
// at most once a second: a process may end without running its exit handlers.
constexpr std::int64_t kFirstWrite = 64;
constexpr std::chrono::seconds kBetweenWrites{1};

// Null in a new process.
std::atomic<Front*> newest{nullptr};

std::string percent(std::int64_t part, std::int64_t whole) {
  char text[16];
  std::snprintf(
      text, sizeof text, "%.1f %%",
      100 * static_cast<double>(part) / static_cast<double>(std::max<long long>(whole, 1)));
  return text;
}

}  // namespace

Front& Front::of_process(FrontDevices& devices) {
  static const int is_noted [[maybe_unused]] =
      pthread_atfork(nullptr, nullptr, [] { newest.store(nullptr); });
  Front* current = newest.load(std::memory_order_acquire);
  if (current == nullptr) [[unlikely]] {
    std::unique_ptr<Front> created(new Front(devices));
    if (newest.compare_exchange_strong(current, created.get())) {
      current = created.release();
    }
  }
  return *current;
}

Front::Front(FrontDevices& devices) : devices_(devices) {
  std::string mode = environment("TUNEDGEMM_FRONT");
  if (const auto comma = mode.find(",time"); comma != std::string::npos) {
    measures_times_ = true;
    mode.erase(comma);
  }
  if (mode == "record") {
    mode_ = FrontMode::kRecord;
  } else if (mode != "serve" && !mode.empty()) {
    mode_ = FrontMode::kOff;
    if (mode != "off") {
      std::fprintf(stderr, "tunedgemm: TUNEDGEMM_FRONT is \"%s\"; expected off, record or serve\n",
                   mode.c_str());
    }
  }
}

FrontProduct* Front::product_of(const FrontCall& call) noexcept {
  try {
    const FrontProduct::Key key{call_key(call.problem, call.buffers), devices_.current()};
    return products_.find_or_add(key, kMostProducts, [&] {
      auto added = std::make_unique<FrontProduct>();
      added->key = key;
      added->buffers = call.buffers;
      return added;
    });
  } catch (const std::bad_alloc&) {  // which the program must not notice here
    return nullptr;
  }
}

bool Front::answer(FrontProduct& product, const tunedgemm_buffers& buffers, void* stream,
                   const FrontVendor& vendor) noexcept {
  if (product.outcome.load(std::memory_order_acquire) == FrontOutcome::kUndecided &&
      !devices_.is_captured(stream)) {
    decide(product, vendor);
  }
  const tunedgemm_plan* const plan = product.plan.load(std::memory_order_acquire);
  const bool is_served = plan != nullptr && library_->tunedgemm_run(plan, &buffers, stream) == 0;
  count(product, is_served);
  return is_served;
}

void Front::count(FrontProduct& product, bool is_served) noexcept {
  std::atomic<std::int64_t>& counter = is_served ? product.served : product.passed;
  const std::int64_t calls = counter.fetch_add(1, std::memory_order_relaxed) + 1;
  if (calls >= kFirstWrite && (calls & (calls - 1)) == 0) [[unlikely]] {
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (std::chrono::steady_clock::now() - last_write_ >= kBetweenWrites) {
        write_requests();
      }
    } catch (const std::exception&) {  // no memory: the next time writes them
    }
  }
}

void Front::decide(FrontProduct& product, const FrontVendor& vendor) noexcept {
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (product.outcome.load() == FrontOutcome::kUndecided) {
      product.outcome.store(outcome_of(product, vendor), std::memory_order_release);
    }
  } catch (const std::exception&) {  // no memory: the next call decides
  }
}

FrontOutcome Front::outcome_of(FrontProduct& product, const FrontVendor& vendor) {
  const tunedgemm_problem& problem = product.key.call.problem;
  vendor_ = vendor;
  tunedgemm_context* const context = context_of(product.key.device);
  if (context == nullptr || library_->tunedgemm_problem_text(&problem, nullptr, 0) == 0) {
    return FrontOutcome::kUnsupported;
  }
  if (mode_ == FrontMode::kRecord) {
    return FrontOutcome::kRecorded;
  }
  tunedgemm_plan_options options;
  options.policy = TUNEDGEMM_POLICY_STORED;
  const tunedgemm_plan* plan = nullptr;
  tunedgemm_plan_info info;
  const tunedgemm_status status =
      library_->tunedgemm_plan_create(context, &problem, &product.buffers, &options, &plan);
  if (status == TUNEDGEMM_STATUS_INVALID_ARGUMENT || status == TUNEDGEMM_STATUS_UNSUPPORTED) {
    return FrontOutcome::kUnsupported;
  }
  if (status != TUNEDGEMM_STATUS_OK ||
      library_->tunedgemm_plan_get_info(plan, &info) != TUNEDGEMM_STATUS_OK ||
      (info.origin != TUNEDGEMM_PLAN_ORIGIN_TUNED && info.origin != TUNEDGEMM_PLAN_ORIGIN_STALE)) {
    return FrontOutcome::kNotTuned;
  }
  if (vendor.version != info.vendor) {
    return FrontOutcome::kNotCompared;
  }
  if (!(info.vendor_us >= kLeastSpeedup * info.median_us + devices_.pause_us())) {
    return FrontOutcome::kNotFaster;
  }
  product.plan.store(plan, std::memory_order_release);
  return FrontOutcome::kServed;
}

tunedgemm_context* Front::context_of(const void* device) {
  if (library_ == nullptr && why_no_library_.empty()) {
    library_ = Library::open(why_no_library_);
  }
  const auto [known, is_new] = contexts_.try_emplace(device, nullptr);
  tunedgemm_context_options options;
  options.policy = TUNEDGEMM_POLICY_STORED;
  if (is_new && library_ != nullptr && devices_.describe_current(options) &&
      library_->tunedgemm_context_create(&options, &known->second) != TUNEDGEMM_STATUS_OK) {
    why_no_library_ = library_->tunedgemm_error_message();
  }
  if (is_new && contexts_.size() == 1) {
    // Only now, so that it runs before the exit handler that the first context has registered.
    std::atexit([] {
      if (Front* const front = newest.load()) {
        front->finish();
      }
    });
  }
  return known->second;
}

void Front::write_requests() {
  struct Requests {
    std::vector<tunedgemm_problem> problems;
    std::vector<tunedgemm_buffers> buffers;
    std::vector<std::int64_t> calls;
  };
  std::map<tunedgemm_context*, Requests> by_context;
  products_.for_each([&](FrontProduct& product) {
    const FrontOutcome outcome = product.outcome.load();
    const auto context = contexts_.find(product.key.device);
    if (context != contexts_.end() && context->second != nullptr &&
        outcome != FrontOutcome::kServed && outcome != FrontOutcome::kNotFaster &&
        outcome != FrontOutcome::kUnsupported) {
      Requests& requests = by_context[context->second];
      const std::int64_t calls = product.passed.load();
      requests.problems.push_back(product.key.call.problem);
      requests.buffers.push_back(product.buffers);
      requests.calls.push_back(calls - std::exchange(product.requested, calls));
    }
  });
  last_write_ = std::chrono::steady_clock::now();
  for (const auto& [context, requests] : by_context) {
    library_->tunedgemm_context_request(context, requests.problems.data(), requests.buffers.data(),
                                        requests.calls.data(), requests.problems.size());
  }
}

std::int64_t Front::served() const {
  std::int64_t served = 0;
  products_.for_each([&](const FrontProduct& product) { served += product.served.load(); });
  return served;
}

void Front::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(is_finished_, true)) {
    return;  // the handler of a parent process, too
  }
  devices_.finish();
  write_requests();
  if (environment("TUNEDGEMM_LOG") != "off") {
    std::fprintf(stderr, "%s\n", summary().c_str());
  }
}

std::string Front::summary() const {
  std::map<FrontOutcome, std::int64_t> passed;
  const std::int64_t untranslated = untranslated_.load();
  std::int64_t calls = untranslated, recorded = 0, served = 0;
  std::int64_t nanoseconds = 0, served_nanoseconds = 0;
  products_.for_each([&](const FrontProduct& product) {
    const FrontOutcome outcome = product.outcome.load();
    recorded += outcome == FrontOutcome::kUnsupported ? 0 : 1;
    calls += product.passed.load() + product.served.load();
    served += product.served.load();
    nanoseconds += product.nanoseconds.load();
    served_nanoseconds += product.served_nanoseconds.load();
    passed[outcome] += product.passed.load();
  });
  const std::string calls_text = counted(calls, "call") + " of " + vendor_.version;
  std::string text = "tunedgemm: ";
  if (mode_ == FrontMode::kRecord) {
    text += counted(recorded, "product") + " recorded in " + calls_text;
    text += measures_times_ ? " (" + std::to_string(nanoseconds / 1000) + " us)" : "";
  } else {
    text += std::to_string(served) + " of " + calls_text + " served";
    text +=
        measures_times_ ? " (" + percent(served_nanoseconds, nanoseconds) + " of their time)" : "";
  }
  const std::pair<FrontOutcome, const char*> reasons[] = {
      {FrontOutcome::kNotTuned, "not tuned"},
      {FrontOutcome::kNotCompared, "not compared with this version"},
      {FrontOutcome::kNotFaster, "not faster"},
      {FrontOutcome::kServed, "refused when launched"},
      {FrontOutcome::kUndecided, "first seen in a capture"},
      {FrontOutcome::kUnsupported, "of products without a kernel"}};
  for (const auto& [outcome, reason] : reasons) {
    if (passed[outcome] > 0) {
      text += ", " + std::to_string(passed[outcome]) + " " + reason;
    }
  }
  text += untranslated > 0 ? ", " + std::to_string(untranslated) + " of other kinds" : "";
  const bool has_next = passed[FrontOutcome::kRecorded] > 0 ||
                        passed[FrontOutcome::kNotTuned] > 0 ||
                        passed[FrontOutcome::kNotCompared] > 0;
  if (!why_no_library_.empty()) {
    return text + "; " + why_no_library_;
  }
  return has_next ? text + "; next: " + vendor_.tuning : text;
}

}  // namespace tunedgemm::internal
