// The spellings of an answer that have a plain one, and the words around it that say nothing.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::reward::math {

/// Superscripts, fractions of one character and others become commands; colours, spaces and what
/// is struck out are dropped.
std::string respelt(std::string_view text);

/// The rows of an environment that only aligns them, as one text: a chain of equals signs, a list
/// of values with names, or else the last row. Other texts stay as they are.
std::string unaligned(std::string_view text);

/// 12 R 3, 12 remainder 3: a quotient and a remainder as the tuple (12, R, 3). Other texts stay.
std::string divided(std::string_view text);

/// Without "for all x" behind a single formula, which says what is meant anyway, without the
/// article before a single word, and without what announces, hedges or quotes it.
std::string essential(std::string_view whole);

/// The wrapper of text that stands at the beginning, as "\text{"; empty without one.
std::string_view text_wrapper(std::string_view text);

}  // namespace rollcall::reward::math
