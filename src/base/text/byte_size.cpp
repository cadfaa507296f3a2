// Writes sizes as text and reads them.
#include "base/text/byte_size.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

namespace rollcall {

std::uint64_t parse_bytes(std::string_view text, std::string_view name) {
  constexpr std::string_view kUnits = "BKMGT";
  constexpr double kMost = 0x1p62;
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string unit;
  for (const char* at = rest; at != end; ++at) {
    if (*at != ' ') unit += char(std::toupper(static_cast<unsigned char>(*at)));
  }
  if (unit.size() == 3 && unit.ends_with("IB")) unit.erase(1);
  if (unit.size() == 2 && unit != "BB" && unit.ends_with('B')) unit.pop_back();
  const auto power = unit.empty()       ? 0
                     : unit.size() == 1 ? kUnits.find(unit.front())
                                        : std::string_view::npos;
  const double bytes =
      power == std::string_view::npos ? -1.0 : number * std::pow(1024.0, double(power));
  require<ConfigError>(error == std::errc() && bytes >= 0.0 && bytes < kMost,
                       fmt::format("{} is \"{}\", which is no size", name, text),
                       "it is a number of bytes", "write a number with K, M, G or T, such as 6G");
  return std::uint64_t(bytes);
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 1'000'000'000'000ULL) return fmt::format("{:.1f} TB", double(bytes) * 1e-12);
  if (bytes >= 1'000'000'000ULL) return fmt::format("{:.1f} GB", double(bytes) * 1e-9);
  if (bytes >= 10'000'000ULL) return fmt::format("{:.0f} MB", double(bytes) * 1e-6);
  return fmt::format("{:.0f} kB", double(bytes) * 1e-3);
}

}  // namespace rollcall
