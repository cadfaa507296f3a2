// Finds another answer that the text offers after an answer. Such a response hedges between the
// two.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <cstddef>

namespace rollcall::text {

/// The token before the value of a further answer ("42, or rather 43"), which is in the rest of the
/// sentence after token `from` or at the beginning of the next sentence. Returns the number of
/// tokens if there is no further answer. Looks at a bounded number of tokens.
std::size_t second_thought(const Tokens& tokens, std::size_t from, std::size_t limit);
/// The token of a value that the text also calls an answer ("19 also works"), in the rest of the
/// sentence or in the next one. Returns the number of tokens if there is none.
std::size_t rival(const Tokens& tokens, std::size_t from, std::size_t limit);

}  // namespace rollcall::text
