// Where the text behind an answer offers another one beside it, so that both are the answer, or a
// hedge.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <cstddef>

namespace rollcall::text {

/// A further answer in what remains of the sentence behind token `from`, or at the beginning of the
/// next one ("42, or rather 43"): the token before its value.
/// None: the number of tokens. Never looks at more than a bounded number of them.
std::size_t second_thought(const Tokens& tokens, std::size_t from, std::size_t limit);
/// A value that the rest of the sentence or the next one says to be an answer as well ("19 also
/// works"). None: the number of tokens.
std::size_t rival(const Tokens& tokens, std::size_t from, std::size_t limit);

}  // namespace rollcall::text
