#pragma once

// The library's voice: the spdlog logger "tunedgemm", on the standard error stream, which says
// nothing below a warning unless the program sets its level. A program that has registered a logger
// of that name before is heard through that one. Any thread may speak.

#include <functional>
#include <string_view>

namespace tunedgemm::internal {

/// One sentence about something that is wrong and was worked around. Throws nothing.
void log_warning(std::string_view sentence) noexcept;
/// One sentence about something that went as it should.
void log_info(std::string_view sentence) noexcept;

enum class LogLevel { kInfo, kWarning };
/// From now on all that is said goes to the listener alone, which must throw nothing and may be
/// called by any thread: for a process that speaks through another one.
void send_log_to(std::function<void(LogLevel, std::string_view)> listener);

}  // namespace tunedgemm::internal
