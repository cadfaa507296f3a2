// A short answer in LaTeX as plain text.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::text {

/// Without dollars, \( \), fonts, boxes and sizes around what is written, with LaTeX's spaces as
/// one space, \to and other arrows as ->, and \{ as {. Commands that mean anything else stay.
/// Linear in the text's length; any bytes are safe.
std::string plain_latex(std::string_view text);

}  // namespace rollcall::text
