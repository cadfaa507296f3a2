// The one reader of announcements: the answer of a response in words. Its tables are in
// announcement_words.cpp, its cases in jobs/announcements.md.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <optional>
#include <string>

namespace rollcall::text {

struct Announced {
  std::string text;  ///< without what leads into it and what is remarked behind it; several pieces
                     ///< joined by ", ", " or " or " and "
  bool ended = false;  ///< something visibly ends it before the response does
};

/// The last answer that is announced by that name: "the answer is 42", "Answer: 42", "#### 42", a
/// heading with a line below, "42 is the answer". What is said about an answer ("the answer is
/// confirmed by ...") is no announcement, nor is what is only supposed ("if the answer is 41"); one
/// that is taken back afterwards counts no more.
std::optional<Announced> last_announcement(const Tokens& tokens);

/// What the last sentence with a value in it comes to, by its verb, its last formulas or an equals
/// sign: "So x = 42.", "She has 42 left.".
std::optional<Announced> last_conclusion(const Tokens& tokens);

/// The answer that a short text is, without marks around it and remarks behind it.
std::optional<Announced> bare_answer(const Tokens& tokens);

}  // namespace rollcall::text
