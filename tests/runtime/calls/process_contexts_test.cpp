// The contexts of calls that name none, on devices that exist in this test alone.

#include "runtime/calls/process_contexts.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/runtime/support/plain_backend.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

thread_local int chosen_ordinal = 0;

class NumberedDevice final : public PlainDevice {
 public:
  explicit NumberedDevice(int ordinal) : PlainDevice({}, Flaw::kNone), ordinal_(ordinal) {}
  bool is_current() const noexcept override { return chosen_ordinal == ordinal_; }
  int ordinal() const { return ordinal_; }

 private:
  int ordinal_;
};

class NumberedBackend final : public PlainBackend {
 public:
  int device_count(std::string*) const override { return 3; }
  int current_ordinal() const override { return chosen_ordinal; }
  std::unique_ptr<Device> open(int ordinal, int) const override {
    return std::make_unique<NumberedDevice>(ordinal);
  }
};

std::unique_ptr<Context> context_in_memory(const Backend& backend, int ordinal) {
  ContextOptions options;
  options.backend = &backend;
  options.ordinal = ordinal;
  options.store.access = StoreOptions::Access::kMemoryOnly;
  return Context::create(options);
}

int ordinal_of(Context& context) {
  return dynamic_cast<NumberedDevice&>(context.device()).ordinal();
}

TEST_CASE("A call without a context is for the device of its thread, also when that changes") {
  const NumberedBackend backend;
  ProcessContexts contexts(backend, context_in_memory);
  chosen_ordinal = 0;
  Context& first = contexts.current();
  CHECK(ordinal_of(first) == 0);
  CHECK(&contexts.current() == &first);
  chosen_ordinal = 2;
  CHECK(ordinal_of(contexts.current()) == 2);
  chosen_ordinal = 0;
  CHECK(&contexts.current() == &first);
}

TEST_CASE("Threads of one device share its context, which is made once") {
  const NumberedBackend backend;
  std::atomic<int> made{0};
  ProcessContexts contexts(backend, [&](const Backend& on, int ordinal) {
    ++made;
    return context_in_memory(on, ordinal);
  });
  std::vector<std::thread> threads;
  threads.reserve(6);
  std::atomic<int> wrong{0};
  for (int index = 0; index < 6; ++index) {
    threads.emplace_back([&, index] {
      for (int call = 0; call < 50; ++call) {
        chosen_ordinal = (index + call / 10) % 3;
        wrong += ordinal_of(contexts.current()) != chosen_ordinal;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
  CHECK(made == 3);
}

TEST_CASE("A context that could not be made is tried again by the next call") {
  const NumberedBackend backend;
  bool fails = true;
  ProcessContexts contexts(backend, [&](const Backend& on, int ordinal) {
    if (fails) {
      throw std::runtime_error("not now");
    }
    return context_in_memory(on, ordinal);
  });
  chosen_ordinal = 1;
  CHECK_THROWS_AS(contexts.current(), std::runtime_error);
  fails = false;
  CHECK(ordinal_of(contexts.current()) == 1);
}

}  // namespace
}  // namespace tunedgemm::internal
