// Puts texts into places of another text, and removes from them what must not come in.
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

/// The text with its places filled. A text that is put in may contain the name of a place, which is
/// not filled again.
std::string filled(std::string_view text, std::span<const Place> places);

/// The text without the marks, in any case of ASCII letters, and without marks that come together
/// when others are removed. Takes time linear in the text.
std::string without_marks(std::string_view text, std::span<const std::string> marks);

/// The text without the special tokens that it spells out, without `marks`, and without those that
/// come together when others are removed. It then can neither end a turn nor begin another
/// speaker's.
std::string without_special(const Tokenizer& tokenizer, std::string text,
                            std::span<const std::string> marks = {});

}  // namespace rollcall::text
