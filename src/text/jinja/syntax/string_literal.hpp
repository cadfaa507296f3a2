// Escapes of string literals.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::text::jinja {

/// The inside of a literal, as Python's unicode-escape reads it. Throws Fault.
std::string unescaped(std::string_view literal);

}  // namespace rollcall::text::jinja
