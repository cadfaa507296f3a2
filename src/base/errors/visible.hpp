// Makes foreign text (from a model, a task's file, a grader, a file name) safe to print to a
// terminal, a log or a script: it can neither control a terminal nor forge a line.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace rollcall {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0 if the text does not begin with a whole UTF-8 character
};
/// The first character of a text that is not empty, by RFC 3629: no overlong forms, no surrogates,
/// nothing above U+10FFFF.
Character first_character(std::string_view text);

/// Whether a character reorders the text around it on a screen (Unicode's bidirectional controls).
bool reorders(char32_t code);

/// The text on one line, in valid UTF-8. A newline becomes \n and a tab \t. Other control
/// characters (C0, C1, DEL), line and paragraph separators and characters that reorder text become
/// \u001B, and a byte of broken UTF-8 becomes \xE2. A backslash stays as it is, so the result is
/// for people and not for parsers.
std::string visible(std::string_view text);

/// Escapes as visible() does, but keeps tabs and line breaks. Every line after the first begins
/// with `bar`, which marks it as part of this text. JSON keeps its value, because only characters
/// inside its strings are escaped.
std::string visible_lines(std::string_view text, std::string_view bar = "");

/// The beginning of a text that is too long for a message, in whole characters, with the text's
/// length. A shorter text is returned unchanged.
std::string brief(std::string_view text, std::size_t most = 200);

/// The beginning of every line of a message except the first.
inline constexpr std::string_view kMessageBar = "  | ";

/// A value for a message: text is made visible, other values stay as they are.
template <class T>
decltype(auto) visible_value(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return visible(std::string_view(value));
  else return (value);
}

/// Formats as fmt::format() does, with each value passed through visible_value().
template <class... T>
std::string visible_format(fmt::format_string<const T&...> text, const T&... values) {
  return fmt::vformat(text, fmt::make_format_args(visible_value(values)...));
}

/// Prints to standard output, with each value passed through visible_value().
template <class... T>
void print_visible(fmt::format_string<const T&...> text, const T&... values) {
  fmt::print("{}", visible_format<T...>(text, values...));
}

/// Text for standard output that a program may read: unchanged into a pipe or a file, made visible
/// on a terminal.
std::string for_standard_output(std::string text);

/// Prints the final error of a process: "rollcall: " and the message to standard error, in one
/// write, since a launcher prints its own lines between two.
void complain(std::string_view message);

}  // namespace rollcall
