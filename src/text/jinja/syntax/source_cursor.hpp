// A position in a template's source that knows its line and column.
#pragma once

#include "text/jinja/fault.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall::text::jinja {

/// Reads a source from its beginning to its end.
class SourceCursor {
 public:
  /// The source with "\n" for every line break. One line break at the end is dropped, as Jinja does
  /// without keep_trailing_newline.
  explicit SourceCursor(std::string_view source);

  bool is_at_end() const { return at_ >= source_.size(); }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool is_here(std::string_view text) const { return rest().starts_with(text); }
  bool begins_line() const { return begins_line_; }  ///< the byte before, if any, is a line break
  /// The byte before the position, or 0 at the beginning.
  char previous() const { return at_ == 0 ? '\0' : source_[at_ - 1]; }

  /// The line and column of the position. All calls together read each byte only once.
  Place place();

  void skip(std::size_t bytes);
  void skip_space();
  void skip_all();  ///< to the end
  /// Skips the white space that a tag's end removes. `sign` is the tag's last "-", "+" or another
  /// character. "-" skips all white space, and any character except "+" skips one line break if
  /// `trim_blocks`.
  void trim_after(char sign, bool trim_blocks = true);

 private:
  std::string source_;
  std::size_t at_ = 0;
  std::size_t placed_ = 0;  // the position to which place_ belongs
  Place place_{1, 1};
  bool begins_line_ = true;
};

}  // namespace rollcall::text::jinja
