// Finds where the last value of a sentence begins: after its last equals sign, after its last verb,
// or at its last formulas.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <cstddef>

namespace rollcall::text {

// The functions below look at the tokens [at, end) of a sentence and return the token at which a
// value begins, or 0 if there is no such value.

/// The value after the last equals sign that does not only round an exact value. In a list of named
/// values, "x = 3 or x = 5", it is the first name.
std::size_t last_equals(const Tokens& tokens, std::size_t at, std::size_t end);

/// The value after the last verb, colon, arrow or time of day ("at 4:45").
std::size_t last_verb(const Tokens& tokens, std::size_t at, std::size_t end);

/// The last of three values: the one from last_equals(), the one from last_verb(), and the last
/// formula. If several formulas belong together as a list, the first one of the list is taken.
std::size_t last_value(const Tokens& tokens, std::size_t at, std::size_t end);

/// Whether the tokens begin with arithmetic before an equals sign, so that the value after the last
/// equals sign counts.
bool is_sum(const Tokens& tokens, std::size_t at, std::size_t end);

/// The token after the phrases that introduce a value, such as "equal to the", and after marks
/// between them. It is `at` if there are none. Skips a bounded number of phrases.
std::size_t after_leads(const Tokens& tokens, std::size_t at);

}  // namespace rollcall::text
