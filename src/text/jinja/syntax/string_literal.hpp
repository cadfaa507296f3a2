// The value of a string literal, with its escapes replaced.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::text::jinja {

/// The text between a literal's quotation marks with its escapes replaced, as Python's codec
/// unicode-escape does. Throws Fault for an escape that is invalid or not supported.
std::string unescaped(std::string_view literal);

}  // namespace rollcall::text::jinja
