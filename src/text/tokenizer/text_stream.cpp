// Finds the end of a text's last whole character, and decides which tokens are decoded again.
#include "text/tokenizer/text_stream.hpp"

#include <algorithm>

namespace rollcall::text {

std::size_t settled_bytes(std::string_view text) {
  constexpr std::string_view kReplaced = "\xEF\xBF\xBD";
  // One U+FFFD is in place of all bytes of an unfinished character.
  if (text.ends_with(kReplaced)) text.remove_suffix(kReplaced.size());
  // An unfinished character begins at most three bytes before the end, and its first byte gives its
  // length.
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

std::size_t find_growing(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t whole = text.find(mark, from);
  if (whole != std::string_view::npos) return whole;
  const std::size_t first = text.size() - std::min(text.size(), mark.size() - 1);
  for (std::size_t at = std::max(first, from); at < text.size(); ++at)
    if (mark.starts_with(text.substr(at))) return at;
  return text.size();
}

std::string TextStream::more(std::span<const std::int32_t> tokens) {
  if (tokens.size() <= read_ || !tokenizer_->is_settled(tokens.back(), special_)) return {};
  const std::string text = tokenizer_->decode(tokens.subspan(first_), special_);
  const std::size_t settled = settled_bytes(text);
  const std::string piece = upto(text, settled);
  const std::string last =
      settled == text.size() ? tokenizer_->decode(tokens.subspan(read_), special_) : std::string();
  if (!last.empty()) first_ = read_, read_ = tokens.size(), shown_ = last.size();
  return piece;
}

std::string TextStream::rest(std::span<const std::int32_t> tokens) {
  const std::string text =
      tokenizer_->decode(tokens.subspan(std::min(first_, tokens.size())), special_);
  return upto(text, text.size());
}

std::string TextStream::upto(std::string_view text, std::size_t end) {
  if (end <= shown_) return {};
  const std::string piece(text.substr(shown_, end - shown_));
  shown_ = end;
  return piece;
}

}  // namespace rollcall::text
