// Sentences, and what each comes to.
#pragma once

#include "text/conclusion/candidate.hpp"

#include <cstddef>
#include <vector>

namespace rollcall::text {

inline constexpr std::size_t kMostSentence = 400;  ///< tokens of a sentence; what is longer is cut

struct Sentence {
  std::size_t begin, end;  ///< tokens
};

/// Whether the tokens [at, end) end in a verb or a comparison that says what a value behind them is
/// not: "x cannot be", "it is less than".
bool denies(const Tokens& tokens, std::size_t at, std::size_t end);

std::size_t sentence_begin(const Tokens& tokens, std::size_t at);
/// The last sentences from token `from` on, the last one first, `most` of them.
std::vector<Sentence> last_sentences(const Tokens& tokens, std::size_t from, std::size_t most);

/// What the tokens [at, end) of a sentence come to: the value that they are, the one behind their
/// last equals sign or verb, their last formulas, or their only value with whatever verb, times and
/// other circumstances aside ("in 8 hours"). Of several clauses the one behind "so" counts. What
/// follows a value and says when it holds ("at x = 3") is no part of it. Nothing where the value is
/// denied or only bounded: "x is not 42", "less than 42".
Candidate concluded(const Tokens& tokens, std::size_t at, std::size_t end);

}  // namespace rollcall::text
