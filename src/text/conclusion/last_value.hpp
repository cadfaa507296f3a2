// Where the last value of a sentence begins: after its last equals sign, after its last verb, or at
// its last formulas.
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

/// The last of three values: that of last_equals(), that of last_verb(), and the last formula, or
/// the first formula of a list in which several belong together.
std::size_t last_value(const Tokens& tokens, std::size_t at, std::size_t end);

/// Whether the tokens begin with arithmetic before an equals sign, so that the value after the last
/// equals sign counts.
bool is_sum(const Tokens& tokens, std::size_t at, std::size_t end);

/// The token after the phrases that lead into a value, such as "equal to the", and marks between
/// them; `at` if there are none. Skips a bounded number of phrases.
std::size_t after_leads(const Tokens& tokens, std::size_t at);

}  // namespace rollcall::text
