// Finds where values begin and sentences end among the tokens of a response.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <cstddef>

namespace rollcall::text {

/// Whether a value begins at the token, after marks and quotation marks.
bool is_value(const Tokens& tokens, std::size_t at);
/// The token that ends the sentence, which is a stop before white space, or a line break.
std::size_t sentence_end(const Tokens& tokens, std::size_t at);
/// The first token from `at` on that is not a mark, a quotation mark or a picture.
std::size_t skip_marks(const Tokens& tokens, std::size_t at);

}  // namespace rollcall::text
