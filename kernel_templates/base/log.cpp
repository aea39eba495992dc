#include "kernel_templates/base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/process_fork.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

constexpr const char* kLoggerName = "tunedgemm";

// Sets the level that $TUNEDGEMM_LOG names.
void set_level(spdlog::logger& created) {
  const std::string level = environment("TUNEDGEMM_LOG");
  created.set_level(spdlog::level::warn);
  if (level == "off") {
    created.set_level(spdlog::level::off);
  } else if (level == "info") {
    created.set_level(spdlog::level::info);
  } else if (!level.empty() && level != "warn" && level != "summary") {
    created.warn("TUNEDGEMM_LOG is \"{}\"; use off, warn, info or summary",
                 printable(level, Lines::kOne));
  }
}

// Held while the library's logger is registered or replaced: between the two steps of a replacement
// spdlog has none, and a message would register the default one.
std::mutex& registering() {
  static std::mutex mutex;
  return mutex;
}

std::shared_ptr<spdlog::logger> logger() {
  if (auto registered = spdlog::get(kLoggerName)) {
    return registered;
  }
  const std::lock_guard lock(registering());
  if (auto registered = spdlog::get(kLoggerName)) {
    return registered;
  }
  auto created = spdlog::stderr_color_mt(kLoggerName);
  set_level(*created);
  return created;
}

class ListenerSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ListenerSink(std::function<void(LogLevel, std::string_view)> listener)
      : listener_(std::move(listener)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    listener_(message.level >= spdlog::level::warn ? LogLevel::kWarning : LogLevel::kInfo,
              std::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  std::function<void(LogLevel, std::string_view)> listener_;
};

void log(spdlog::level::level_enum level, std::string_view sentence) noexcept {
  const ForkGuard guard;
  try {
    if (const auto destination = logger()) {
      const std::string shown = printable(sentence, Lines::kMany);
      destination->log(level, spdlog::string_view_t(shown.data(), shown.size()));
    }
  } catch (...) {
    // A message that cannot be written must not fail a multiplication.
  }
}

}  // namespace

void log_warning(std::string_view sentence) noexcept {
  log(spdlog::level::warn, sentence);
}

void log_info(std::string_view sentence) noexcept {
  log(spdlog::level::info, sentence);
}

void log_info_on_terminal(std::string_view sentence) noexcept {
  const ForkGuard guard;
  try {
    const bool is_shown = logger()->should_log(spdlog::level::info);
    log(is_shown || isatty(STDERR_FILENO) == 0 ? spdlog::level::info : spdlog::level::warn,
        sentence);
  } catch (...) {
    // As in log().
  }
}

void log_summary(std::string_view sentence) noexcept {
  const ForkGuard guard;
  try {
    const spdlog::details::log_msg message(kLoggerName, spdlog::level::info,
                                           spdlog::string_view_t(sentence.data(), sentence.size()));
    for (const spdlog::sink_ptr& sink : logger()->sinks()) {
      sink->log(message);
    }
  } catch (...) {
    // As in log().
  }
}

void send_log_to(std::function<void(LogLevel, std::string_view)> listener) {
  const ForkGuard guard;
  auto forwarder = std::make_shared<spdlog::logger>(
      kLoggerName, std::make_shared<ListenerSink>(std::move(listener)));
  forwarder->set_level(spdlog::level::info);
  const std::lock_guard lock(registering());
  spdlog::drop(kLoggerName);
  spdlog::register_logger(std::move(forwarder));
}

void send_log_to_standard_error() {
  const ForkGuard guard;
  const std::lock_guard lock(registering());
  spdlog::drop(kLoggerName);  // the next message makes it anew
}

void log_without_times() {
  spdlog::set_pattern("%^%n%$: %v");
}

}  // namespace tunedgemm::internal
