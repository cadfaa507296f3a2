// Turns a short answer in LaTeX into plain text.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::text {

/// Removes dollars, \( \), and commands for fonts, boxes and sizes. LaTeX's spaces become one
/// space, \to and other arrows become ->, and \{ becomes {. Other commands stay. Takes time linear
/// in the text's length, and accepts any bytes.
std::string plain_latex(std::string_view text);

}  // namespace rollcall::text
