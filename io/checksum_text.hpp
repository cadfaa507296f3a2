// Checksums in JSON are 16 hex digits, because not every reader preserves numbers above 2^53.
// Private to io.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rollcall::io {

inline std::uint64_t checksum_from_text(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 16)
    throw std::invalid_argument("\"" + text + "\" is not a checksum of 16 hex digits");
  return value;
}

}  // namespace rollcall::io
