// Texts put into places of another text, and what must not come in with them.
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

/// The places filled in one pass: what is put in may spell a place itself.
std::string filled(std::string_view text, std::span<const Place> places);

/// Without the marks, whatever the case of their ASCII letters, nor any that their going makes.
/// Linear in the text.
std::string without_marks(std::string_view text, std::span<const std::string> marks);

/// Without the special tokens that a text spells out and without `marks`, nor any that their going
/// makes: it can then end no turn and speak for nobody else.
std::string without_special(const Tokenizer& tokenizer, std::string text,
                            std::span<const std::string> marks = {});

}  // namespace rollcall::text
