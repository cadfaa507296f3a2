// Finds the value of a sentence that has only one.
#pragma once

#include "text/conclusion/candidate.hpp"

#include <cstddef>

namespace rollcall::text {

/// The only value among the tokens [at, end) of a sentence, regardless of the verb. Values that are
/// circumstances, as in "in 8 hours" and "for 50 minutes", do not count if there is another one.
/// Nothing if the sentence is a question or long, has two values, or denies, bounds or doubts its
/// value. `concludes`: the sentence begins with a word such as "so". Only then may it begin with
/// its value.
Candidate only_value(const Tokens& tokens, std::size_t at, std::size_t end, bool concludes);

}  // namespace rollcall::text
