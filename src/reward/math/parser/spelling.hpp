// Replaces spellings in an answer with plain ones, and removes meaningless words around it.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::reward::math {

/// Superscripts, fractions of one character and similar spellings become commands; colours, spaces
/// and parts that are struck out are dropped.
std::string respelt(std::string_view text);

/// The rows of an environment that only aligns them, as one string: a chain of equations, a list of
/// values with names, or else the last row. Other texts are unchanged.
std::string unaligned(std::string_view text);

/// 12 R 3 and 12 remainder 3, a quotient and a remainder, as the tuple (12, R, 3). Other texts are
/// unchanged.
std::string divided(std::string_view text);

/// The text without a "for all x" after a single formula, which means the same without it; without
/// the article before a single word; and without words that announce, hedge or quote it.
std::string essential(std::string_view whole);

/// The command at the beginning that sets its argument as text, as in "\text{"; empty if there is
/// none.
std::string_view text_wrapper(std::string_view text);

}  // namespace rollcall::reward::math
