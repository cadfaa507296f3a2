// Moves over the source. Lines and columns are counted only when they are asked for.
#include "text/jinja/syntax/source_cursor.hpp"

#include "text/jinja/values/characters.hpp"

namespace rollcall::text::jinja {
namespace {

std::string with_plain_line_breaks(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

SourceCursor::SourceCursor(std::string_view source) : source_(with_plain_line_breaks(source)) {}

Place SourceCursor::place() {
  for (; placed_ < at_; ++placed_) {
    if (source_[placed_] == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if ((source_[placed_] & 0xC0) != 0x80) {
      ++place_.column;
    }
  }
  return place_;
}

void SourceCursor::skip(std::size_t bytes) {
  at_ += bytes;
  if (bytes > 0) begins_line_ = source_[at_ - 1] == '\n';
}

void SourceCursor::skip_space() { skip(rest().size() - strip_left(rest()).size()); }

void SourceCursor::skip_all() { at_ = source_.size(); }

void SourceCursor::trim_after(char sign, bool trim_blocks) {
  if (sign == '-') skip_space();
  else if (sign != '+' && trim_blocks && is_here("\n")) skip(1);
}

}  // namespace rollcall::text::jinja
