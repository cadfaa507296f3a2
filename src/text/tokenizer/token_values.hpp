// Where values and sentences begin and end among the tokens of a response.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <cstddef>

namespace rollcall::text {

/// Whether a value begins at the token, marks and quotation marks aside.
bool is_value(const Tokens& tokens, std::size_t at);
/// The end of the sentence: a stop before white space, or a line break.
std::size_t sentence_end(const Tokens& tokens, std::size_t at);
/// marks, quotation marks and pictures
std::size_t skip_marks(const Tokens& tokens, std::size_t at);

}  // namespace rollcall::text
