// Formats numbers for tables, charts and the progress bar.
#include "report/number_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::report {

std::string grouped(std::int64_t value) {
  const std::string digits = fmt::format("{}", value);
  const std::size_t sign = value < 0 ? 1 : 0;
  std::string text = digits.substr(0, sign);
  for (std::size_t i = sign; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string compact(double value) {
  if (std::isnan(value)) return "n/a";
  const double size = std::abs(value);
  if (size >= 1e4 && size < 1e15) {
    for (const auto& [unit, name] :
         {std::pair{1e12, "T"}, std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}}) {
      if (size >= unit) return fmt::format("{:.3g}{}", value / unit, name);
    }
  }
  return fmt::format("{:.4g}", value);
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e15) return "n/a";
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::int64_t(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

}  // namespace rollcall::report
