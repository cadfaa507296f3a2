// Verdicts in words: "yes", "correct", and what turns them round.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward {

/// The first of two words that is said as a verdict: 1 for the good one, 0 for the bad one. ASCII
/// case does not matter. A word that is denied ("not correct") or qualified ("partly correct") in
/// its clause counts as the other one; one that is quoted, asked, supposed ("whether it is
/// correct"), echoed ("yes or no") or names something ("the correct answer is 42", "no mistakes")
/// is no verdict. None where no word is one yet: `finished` is false while more may follow, and
/// then the word behind a verdict must have been seen.
std::optional<double> first_verdict_word(std::string_view said, bool finished,
                                         std::string_view good, std::string_view bad);

/// What is said without what stands in quotation marks or backticks, which is somebody else's; as
/// it is where that is all.
std::string unquoted(std::string_view said, bool finished);

}  // namespace rollcall::reward
