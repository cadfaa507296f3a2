// Reads what tasks and verifiers both need from a text: the final answer after a marker, its normal
// form, and the share of the text that is printable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

std::string_view trim(std::string_view text);  ///< without ASCII white space at both ends

/// The first `limit` bytes of a text, without a partial character at the end. "..." follows if
/// anything is left out.
std::string cut(std::string_view text, std::size_t limit);

/// A final answer within a text. Both views point into it.
struct MarkedAnswer {
  std::string_view reasoning;  ///< everything before the marker
  std::string_view answer;     ///< the rest of the marker's line, trimmed; may be empty
  bool reaches_end = false;    ///< no line break follows, so that a token limit may have cut it
};

/// The answer after the last `marker` of `text`; nothing if there is no marker. If `marker` is
/// empty, the answer is the whole trimmed text.
std::optional<MarkedAnswer> find_marked_answer(std::string_view text, std::string_view marker);

/// The form in which answers are compared. A decimal number becomes its shortest spelling, even
/// with $ or + before it, commas between thousands, needless zeros, a period after it, or U+2212
/// for a minus: "$1,050.00." -> "1050", "-0.50" -> "-0.5". Other text is only trimmed. Numbers are
/// not rounded.
std::string normal_answer(std::string_view answer);

/// Fraction of bytes, in [0, 1], that belong to printable characters: newline, tab, U+0020..U+007E
/// and, in valid UTF-8, U+00A0 and above. 0 for an empty text.
double printable_share(std::string_view text);

}  // namespace rollcall::text
