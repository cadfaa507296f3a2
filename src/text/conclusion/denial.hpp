// Tells whether the words before a value say that it is not the one that is meant.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <cstddef>

namespace rollcall::text {

/// Whether the tokens [at, end) end in a verb or a comparison that says what a value after them is
/// not, such as "x cannot be" or "it is less than". Looks at a bounded number of tokens.
bool denies(const Tokens& tokens, std::size_t at, std::size_t end);

/// Whether the value at token `at` is named as the wrong one, as 43 in "So x = 42, not 43.".
bool is_contrast(const Tokens& tokens, std::size_t at);

}  // namespace rollcall::text
