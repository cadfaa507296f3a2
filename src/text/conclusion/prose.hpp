// Counts words, sentences, letters, capitals and occurrences in a text. Tasks ask for such numbers,
// and verifiers count them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The words of a text, which are runs of letters, digits, underscores and bytes beyond ASCII. They
/// point into the text.
std::vector<std::string_view> words(std::string_view text);

/// Counts sentences. A sentence has a word in it, and ends at a run of . ! ? before white space or
/// a closing quotation mark, or at the end of the text. (IFEval uses a trained splitter, which
/// differs where a period ends an abbreviation.)
std::size_t count_sentences(std::string_view text);

/// Counts an ASCII letter in either case.
std::size_t count_letter(std::string_view text, char letter);
/// Counts occurrences that do not overlap, without regard to the case of ASCII letters. 0 for an
/// empty part.
std::size_t count_occurrences(std::string_view text, std::string_view part);
/// Counts words with an ASCII capital and without a lower-case ASCII letter.
std::size_t count_capital_words(std::string_view text);
bool has_upper(std::string_view text);  ///< whether it has an ASCII capital
bool has_lower(std::string_view text);

std::string lower(std::string_view text);  ///< ASCII letters in lower case, other bytes as they are
std::string upper(std::string_view text);

/// The pieces between the occurrences of `mark`, in order. It is one piece if there is no mark.
/// `mark` must not be empty.
std::vector<std::string_view> split(std::string_view text, std::string_view mark);

/// The text with `with` in place of every `part`, which must not be empty.
std::string replaced(std::string_view text, std::string_view part, std::string_view with);

}  // namespace rollcall::text
