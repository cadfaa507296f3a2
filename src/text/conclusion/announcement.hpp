// Finds answers that a response announces in words. The tables are in announcement_words.cpp, and
// examples of all cases in jobs/announcements.md.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <optional>
#include <string>

namespace rollcall::text {

struct Announced {
  /// The answer without the words that introduce it and without remarks after it. Several pieces
  /// are joined by ", ", " or " or " and ".
  std::string text;
  bool ended = false;  ///< whether a stop, a line break or other text follows the answer
};

/// The last answer that is announced as the answer: "the answer is 42", "Answer: 42", "#### 42", a
/// heading "Answer" with a line below, "42 is the answer". A remark about an answer ("the answer is
/// confirmed by ...") and a supposition ("if the answer is 41") are not announcements. An
/// announcement that is taken back later does not count.
std::optional<Announced> last_announcement(const Tokens& tokens);

/// The value that concludes the last sentence that has one. The sentence's verb, its last formulas
/// or an equals sign show it: "So x = 42.", "She has 42 left.".
std::optional<Announced> last_conclusion(const Tokens& tokens);

/// A short text that is an answer, without surrounding marks or remarks after it.
std::optional<Announced> bare_answer(const Tokens& tokens);

}  // namespace rollcall::text
