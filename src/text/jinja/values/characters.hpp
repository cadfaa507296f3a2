// Text as in Python's str: a sequence of code points with properties and case.
#pragma once

#include "text/jinja/values/character_table.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall::text::jinja {

bool is_utf8(std::string_view bytes);  ///< according to table 3-7 of the Unicode standard
// The functions below expect UTF-8.
std::size_t character_count(std::string_view text);
/// The byte at which the index-th character begins; the end of the text for larger indices.
std::size_t offset_of(std::string_view text, std::size_t index);
/// The character at byte `at`, which is moved to the next one.
char32_t next_character(std::string_view text, std::size_t& at);
char32_t last_character(std::string_view text);  ///< the text must not be empty
void append_character(std::string& text, char32_t c);

bool has_flag(char32_t c, int flags);  ///< whether it has any of the flags (CharacterFlag)
int decimal_value(char32_t c);         ///< 0 to 9 for a digit of any script, else -1
inline bool is_space(char32_t c) { return has_flag(c, kSpace); }
inline bool is_alnum(char32_t c) { return has_flag(c, kAlpha | kDecimal | kDigit | kNumeric); }

std::string upper(std::string_view text);
std::string lower(std::string_view text);  ///< with a final sigma at the end of words
std::string casefold(std::string_view text);
std::string swapcase(std::string_view text);
std::string title(std::string_view text);       ///< str.title(): lower case after a cased letter,
                                                ///< else upper case
std::string capitalize(std::string_view text);  ///< str.capitalize(): upper case at the beginning,
                                                ///< all else lower case

std::string_view strip_left(std::string_view text);  ///< without white space at the beginning
std::string_view strip_right(std::string_view text);

}  // namespace rollcall::text::jinja
