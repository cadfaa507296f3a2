// Fills placeholders in a text with other text, and removes what the inserted text must not
// contain.
#pragma once

#include "text/tokenizer/tokenizer.hpp"

#include <span>
#include <string>
#include <string_view>

namespace rollcall::text {

struct Place {
  std::string_view name;  ///< with its braces: "{prompt}"
  std::string_view text;
};

/// The text with its placeholders filled. If inserted text contains the name of a placeholder, that
/// one is not filled.
std::string filled(std::string_view text, std::span<const Place> places);

/// The text without the marks, regardless of ASCII case, and without marks that form when others
/// are removed. Takes time linear in the length of the text.
std::string without_marks(std::string_view text, std::span<const std::string> marks);

/// The text without the special tokens that it spells out, without `marks`, and without any that
/// form when others are removed. The text then cannot end a turn or begin the turn of another
/// speaker.
std::string without_special(const Tokenizer& tokenizer, std::string text,
                            std::span<const std::string> marks = {});

}  // namespace rollcall::text
