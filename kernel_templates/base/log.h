#pragma once

// The library's log: the spdlog logger "tunedgemm" on standard error, at level warn unless
// $TUNEDGEMM_LOG (off, warn, info, or summary: warn and log_summary()) or the program sets another
// level. If the program has already registered a logger with that name, the library uses that
// logger. Any thread may log.

#include <functional>
#include <string_view>

namespace tunedgemm::internal {

/// Logs a sentence about a problem that was worked around. Throws nothing.
void log_warning(std::string_view sentence) noexcept;
/// Logs a sentence about an expected event.
void log_info(std::string_view sentence) noexcept;
/// The same about an event for which somebody waits: if standard error is a terminal, the sentence
/// is also written at level warn. Throws nothing.
void log_info_on_terminal(std::string_view sentence) noexcept;

/// Logs the summary at level info, though the logger's level is warn.
void log_summary(std::string_view sentence) noexcept;

enum class LogLevel { kInfo, kWarning };
/// From now on all messages go only to the listener, which must not throw and may be called by any
/// thread. This lets a process forward its log to another process.
void send_log_to(std::function<void(LogLevel, std::string_view)> listener);
/// Undoes send_log_to().
void send_log_to_standard_error();
/// For command-line programs: the lines of all loggers begin with the logger's name alone, without
/// the time and the level. Call it before the first message.
void log_without_times();

}  // namespace tunedgemm::internal
