#include "kernel_templates/base/log.h"

#include <atomic>
#include <memory>
#include <thread>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

TEST_CASE("A listener is set while other threads log, each time") {
  std::atomic<bool> ends{false};
  std::jthread chatter([&] {
    while (!ends) {
      log_info("another thread logs");
    }
  });
  int heard = 0;
  constexpr int kRounds = 20000;
  for (int round = 0; round < kRounds; ++round) {
    // Shared, because a message under way may still reach the old listener.
    const auto messages = std::make_shared<std::atomic<int>>(0);
    send_log_to([messages](LogLevel, std::string_view sentence) {
      *messages += sentence == "this thread logs" ? 1 : 0;
    });
    log_info("this thread logs");
    heard += *messages;
  }
  ends = true;
  chatter.join();
  send_log_to_standard_error();
  CHECK(heard == kRounds);
}

}  // namespace
}  // namespace tunedgemm::internal
