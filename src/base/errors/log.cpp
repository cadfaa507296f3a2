// Sets up spdlog for ranks.
#include "base/errors/log.hpp"

#include "base/errors/visible.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace rollcall {
namespace {

/// Formats the message of a line. It may contain foreign text, such as reasons, prompts and file
/// names.
class VisibleMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    const std::string text =
        visible_lines({message.payload.data(), message.payload.size()}, kMessageBar);
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return spdlog::details::make_unique<VisibleMessage>();
  }
};

void set_log(const std::string& level, const std::string& who) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<VisibleMessage>('*').set_pattern(fmt::format("%H:%M:%S %^%l%${} %*", who));
  auto logger = std::make_shared<spdlog::logger>(
      "rollcall", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

}  // namespace

void prepare_log() { set_log("info", ""); }

void start_log(const std::string& level, int rank, int ranks) {
  // Replacing the logger a second time would pull it from under threads that are writing to it.
  static std::once_flag started;
  std::call_once(started,
                 [&] { set_log(level, ranks > 1 ? fmt::format(" [{}/{}]", rank, ranks) : ""); });
}

void write_log(LogLevel level, std::string_view text) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err,
                                                          spdlog::level::critical};
  spdlog::log(kLevels[std::size_t(level)], spdlog::string_view_t(text.data(), text.size()));
}

void flush_log() { spdlog::default_logger()->flush(); }

}  // namespace rollcall
