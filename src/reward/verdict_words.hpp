// Verdicts in words, such as "yes" and "correct", and words that reverse them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward {

/// The first of two words that is used as a verdict: 1 for the good one, 0 for the bad one. ASCII
/// case does not matter. A word that is denied ("not correct") or qualified ("partly correct") in
/// its clause counts as the other one. A word that is quoted, asked, supposed ("whether it is
/// correct"), echoed ("yes or no") or part of a name ("the correct answer is 42", "no mistakes") is
/// not a verdict. Returns nothing if there is no verdict yet: while `finished` is false more text
/// may follow, and then a word counts only once the word after it is known.
std::optional<double> first_verdict_word(std::string_view said, bool finished,
                                         std::string_view good, std::string_view bad);

/// The text without its parts in quotation marks or backticks, which are not the judge's own words;
/// unchanged if it has nothing else.
std::string unquoted(std::string_view said, bool finished);

}  // namespace rollcall::reward
