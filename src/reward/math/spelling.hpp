// The spellings of an answer that have a plain one, and the words around it that say nothing.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::reward::math {

/// Superscripts, fractions of one character and others become commands; colours, spaces and what
/// is struck out are dropped.
std::string respelt(std::string_view text);

/// Without "for all x" behind a single formula, which says what is meant anyway, without the
/// article before a single word, and without what announces, hedges or quotes it.
std::string essential(std::string_view whole);

/// The wrapper of text that stands at the beginning, as "\text{"; empty without one.
std::string_view text_wrapper(std::string_view text);

}  // namespace rollcall::reward::math
