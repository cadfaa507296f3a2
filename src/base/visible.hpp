// Text of others (a model, a task's file, a grader, a name of a file) made safe for a terminal, a
// log and a script: it can neither act nor forge a line.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace rollcall {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: the text begins with a byte that is no part of whole UTF-8
};
/// Of a text that is not empty. RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
Character first_character(std::string_view text);

/// Characters that reorder the text around them on a screen (Unicode's bidirectional controls).
bool reorders(char32_t code);

/// The text on one line, in whole UTF-8. A newline becomes \n and a tab \t; other control
/// characters (C0, C1, DEL), line and paragraph separators and characters that reorder text become
/// \u001B, and a byte of broken UTF-8 becomes \xE2. A backslash stays as it is, so this is for eyes
/// and not for parsers.
std::string visible(std::string_view text);

/// The same, but tabs stay, and lines stay lines: each after the first begins with `bar`, by which
/// a reader can tell that it is not ours. JSON stays JSON of the same value, because what is
/// escaped can only be inside its strings.
std::string visible_lines(std::string_view text, std::string_view bar = "");

/// The beginning of a text that is too long for a message, in whole characters, with its length; a
/// shorter one as it is.
std::string brief(std::string_view text, std::size_t most = 200);

/// What begins the later lines of one message.
inline constexpr std::string_view kMessageBar = "  | ";

/// A value of a message: texts are made visible, others are as they are.
template <class T>
decltype(auto) visible_value(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return visible(std::string_view(value));
  else return (value);
}

/// fmt::format with visible values.
template <class... T>
std::string visible_format(fmt::format_string<const T&...> text, const T&... values) {
  return fmt::vformat(text, fmt::make_format_args(visible_value(values)...));
}

/// fmt::print to standard output with visible values.
template <class... T>
void print_visible(fmt::format_string<const T&...> text, const T&... values) {
  fmt::print("{}", visible_format<T...>(text, values...));
}

/// What goes to standard output for a program to read: byte for byte to a pipe or a file, visible
/// on a terminal.
std::string for_standard_output(std::string text);

/// The last words of a process: "rollcall: " and the message to standard error, in one write, since
/// a launcher prints its own lines between two.
void complain(std::string_view message);

}  // namespace rollcall
