// The answer that begins at a token: how far it reaches, and what it says without its marks.
#pragma once

#include "text/answer/answer_tokens.hpp"
#include "text/conclusion/announcement_words.hpp"
#include "text/tokenizer/token_values.hpp"

#include <cstddef>
#include <string>

namespace rollcall::text {

/// How much an announcement says.
enum class Weight : unsigned char {
  none,   ///< something about the answer, not the answer
  text,   ///< words, which may be the answer
  value,  ///< begins as a number, a formula, a name of one letter or a list of them
};

struct Candidate {
  Weight weight = Weight::none;
  std::string text;       ///< several pieces joined by ", ", " or " or " and "; without marks of
                          ///< Markdown, dollars around formulas and remarks
  std::size_t begin = 0;  ///< tokens [begin, end)
  std::size_t end = 0;
  bool ended = false;  ///< something visibly ends it before the text does
};

/// The answer that begins at token `at`, within [at, limit): its pieces, up to what is no part of
/// it. Never looks at more than a bounded number of tokens.
Candidate taken(const Tokens& tokens, std::size_t at, std::size_t limit);
/// The same behind "is" or a colon: what leads into the answer is skipped.
Candidate announced_at(const Tokens& tokens, std::size_t at, std::size_t limit);

}  // namespace rollcall::text
