// Reads the answer that begins at a token, and finds its end.
#pragma once

#include "text/answer/answer_tokens.hpp"
#include "text/conclusion/announcement_words.hpp"
#include "text/tokenizer/token_values.hpp"

#include <cstddef>
#include <string>

namespace rollcall::text {

/// How likely it is that the words after an announcement are an answer.
enum class Weight : unsigned char {
  none,   ///< there are no words, or they say something about the answer
  text,   ///< the words may be the answer
  value,  ///< the words begin as a number, a formula, a one-letter name, or a list of these
};

struct Candidate {
  Weight weight = Weight::none;
  /// Without Markdown marks, dollars around formulas, or remarks. Several pieces are joined by ",
  /// ", " or " or " and ".
  std::string text;
  std::size_t begin = 0;  ///< tokens [begin, end)
  std::size_t end = 0;
  bool ended = false;  ///< whether a stop, a line break or other text follows the answer
};

/// The answer that begins at token `at` and ends before `limit`, with all its pieces. Looks at a
/// bounded number of tokens.
Candidate taken(const Tokens& tokens, std::size_t at, std::size_t limit);
/// The answer that follows "is" or a colon. `at` is the token after that. Words that introduce the
/// answer are skipped.
Candidate announced_at(const Tokens& tokens, std::size_t at, std::size_t limit);

}  // namespace rollcall::text
