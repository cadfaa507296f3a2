// Divides a text into sentences and finds the value that a sentence concludes with.
#pragma once

#include "text/conclusion/candidate.hpp"

#include <cstddef>
#include <vector>

namespace rollcall::text {

inline constexpr std::size_t kMostSentence = 400;  ///< tokens in a sentence; longer sentences are
                                                   ///< cut
/// The largest number of tokens in a sentence that is searched for clauses and for its only value.
inline constexpr std::size_t kMostProse = 120;

struct Sentence {
  std::size_t begin, end;  ///< its tokens [begin, end), without the stop that ends it
};

/// The first token of the sentence that token `at` belongs to.
std::size_t sentence_begin(const Tokens& tokens, std::size_t at);
/// The last sentences of the text that begin at token `from` or later, at most `limit` of them, the
/// last one first. Remarks in brackets are left out, unless all sentences are such remarks.
std::vector<Sentence> last_sentences(const Tokens& tokens, std::size_t from, std::size_t limit);

/// The value that concludes the tokens [at, end) of a sentence. It is the value that they consist
/// of, the one after their last equals sign or verb, their last formulas, or their only value
/// regardless of the verb, not counting times and other circumstances ("in 8 hours"). If there are
/// several clauses, the one after "so" counts. Words after a value that say when it holds ("at x =
/// 3") do not belong to it. Nothing if the value is denied or only bounded, as in "x is not 42" and
/// "less than 42".
Candidate concluded(const Tokens& tokens, std::size_t at, std::size_t end);

}  // namespace rollcall::text
