// The one log: lines to standard error with level, rank and stage; the user's table and progress
// bar go to standard output. Control characters of messages are shown as escapes
// (base/visible.hpp), and later lines of a message begin with a bar, so that no text of others acts
// on a terminal or forges a line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rollcall {

/// Called first in a process: lines before start_log go to standard error, too. spdlog's own
/// default is standard output.
void prepare_log();

/// Sets level ("debug", "info", "warn", "error") and the rank shown on every line. The first call
/// of a process counts: ranks that are
/// threads share one log.
void start_log(const std::string& level, int rank, int ranks);

enum class LogLevel { debug, info, warning, error, critical };

/// One line, or several. spdlog's own functions are templates that each file would compile again.
void write_log(LogLevel level, std::string_view text);
void flush_log();

template <class... Values>
void log_debug(fmt::format_string<Values...> format, Values&&... values) {
  write_log(LogLevel::debug, fmt::vformat(format, fmt::make_format_args(values...)));
}
template <class... Values>
void log_info(fmt::format_string<Values...> format, Values&&... values) {
  write_log(LogLevel::info, fmt::vformat(format, fmt::make_format_args(values...)));
}
template <class... Values>
void log_warning(fmt::format_string<Values...> format, Values&&... values) {
  write_log(LogLevel::warning, fmt::vformat(format, fmt::make_format_args(values...)));
}
template <class... Values>
void log_error(fmt::format_string<Values...> format, Values&&... values) {
  write_log(LogLevel::error, fmt::vformat(format, fmt::make_format_args(values...)));
}
template <class... Values>
void log_critical(fmt::format_string<Values...> format, Values&&... values) {
  write_log(LogLevel::critical, fmt::vformat(format, fmt::make_format_args(values...)));
}

}  // namespace rollcall
