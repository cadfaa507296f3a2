// The log: lines on standard error with level, rank and stage. The user's table and progress bar go
// to standard output. Control characters in messages are escaped (base/errors/visible.hpp), and later
// lines of a message begin with a bar, so that foreign text in a message can neither control a
// terminal nor look like a line of the log.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rollcall {

/// Called first in a process, so that lines before start_log() go to standard error too. spdlog's
/// own default is standard output.
void prepare_log();

/// Sets the level ("debug", "info", "warn", "error") and the rank shown on every line. Only the
/// first call in a process counts, because ranks that are threads share one log.
void start_log(const std::string& level, int rank, int ranks);

enum class LogLevel { debug, info, warning, error, critical };

/// Writes a message of one or several lines. It is a plain function because spdlog's own are
/// templates that every file would compile again.
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
