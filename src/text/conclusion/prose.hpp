// What can be counted in a text: words, sentences, letters, capitals, occurrences. Tasks measure by
// them what verifiers will count.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// Runs of letters, digits, underscores and bytes beyond ASCII: \w+ of a text in one language.
/// Views into the text.
std::vector<std::string_view> words(std::string_view text);

/// Pieces with a word in them that end in a run of . ! ? before white space or a closing quotation
/// mark, or with the text. (IFEval asks a trained splitter, which differs where a period ends an
/// abbreviation.)
std::size_t count_sentences(std::string_view text);

/// ASCII, in either case
std::size_t count_letter(std::string_view text, char letter);
/// ASCII case ignored, without overlaps; 0 for an empty part
std::size_t count_occurrences(std::string_view text, std::string_view part);
std::size_t count_capital_words(std::string_view text);  ///< words with a capital and no small
                                                         ///< ASCII letter
bool has_upper(std::string_view text);                   ///< an ASCII capital
bool has_lower(std::string_view text);

std::string lower(std::string_view text);  ///< ASCII letters in lower case, other bytes as they are
std::string upper(std::string_view text);

/// What stands between the occurrences of `mark`, in order, each as it is; one piece where it never
/// stands. `mark` is not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view mark);

/// Every occurrence of `part`, which is not empty, replaced by `with`.
std::string replaced(std::string_view text, std::string_view part, std::string_view with);

}  // namespace rollcall::text
