// Where a text's last whole character ends.
#include "text/text_stream.hpp"

namespace rollcall::text {

std::size_t settled_bytes(std::string_view text) {
  constexpr std::string_view kReplaced = "\xEF\xBF\xBD";
  while (text.ends_with(kReplaced)) text.remove_suffix(kReplaced.size());
  // Its last character begins at most three bytes before the end; how long it is to be stands in its first byte.
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace rollcall::text
