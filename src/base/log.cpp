// spdlog set up for ranks.
#include "base/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <mutex>

namespace rollcall {

void start_log(const std::string& level, int rank, int ranks) {
  // Replacing the logger again would pull it away from threads that write to it.
  static std::once_flag started;
  std::call_once(started, [&] {
    auto logger = std::make_shared<spdlog::logger>("rollcall", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern(ranks > 1 ? fmt::format("%H:%M:%S %^%l%$ [{}/{}] %v", rank, ranks) : "%H:%M:%S %^%l%$ %v");
    logger->set_level(spdlog::level::from_str(level));
    spdlog::set_default_logger(logger);
  });
}

}  // namespace rollcall
