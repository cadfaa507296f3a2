// Characters of Unicode and commands of colour and space, as plain LaTeX.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::reward::math {

/// Superscripts, fractions of one character and others become commands; colours, spaces and what is struck out are dropped.
std::string respelt(std::string_view text);

}  // namespace rollcall::reward::math
