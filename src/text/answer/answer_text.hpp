// What tasks and verifiers both read from a text: the final answer behind a marker, its normal
// form, and how much of the text is printable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

std::string_view trim(std::string_view text);  ///< without ASCII white space at both ends

/// No longer than `most` bytes, which "..." follows where something is left out; never half a
/// character at the end.
std::string cut(std::string_view text, std::size_t most);

/// A final answer within a text; views into it.
struct MarkedAnswer {
  std::string_view reasoning;  ///< everything before the marker
  std::string_view answer;     ///< rest of the marker's line, trimmed; may be empty
  bool reaches_end = false;    ///< no line break follows: a token limit may have cut it
};

/// The answer behind the last `marker` of `text`; none where the marker is missing. An empty marker
/// makes the whole trimmed text the answer.
std::optional<MarkedAnswer> find_marked_answer(std::string_view text, std::string_view marker);

/// The form in which answers are compared. A decimal number, possibly with a leading $ or +,
/// thousands commas, needless zeros or a closing period, becomes its shortest spelling:
/// "$1,050.00." -> "1050", "-0.50" -> "-0.5", U+2212 for a minus.
/// Other text is only trimmed. No number is ever rounded.
std::string normal_answer(std::string_view answer);

/// Share of bytes, in [0, 1], that belong to printable characters: newline, tab, U+0020..U+007E
/// and, as valid UTF-8, U+00A0 upwards. 0 for an empty text.
double printable_share(std::string_view text);

}  // namespace rollcall::text
