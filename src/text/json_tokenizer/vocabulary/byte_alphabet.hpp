// GPT-2's alphabet, in which each byte has a printable character, so that byte vocabularies can be
// written as text (openai/gpt-2, encoder.py).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text::json_tokenizer {

/// [byte] its character. It is the byte itself if that is printable in Latin-1; the others have
/// U+0100 and the characters after it, in order.
const std::array<char32_t, 256>& byte_characters();

void append_as_characters(std::string_view bytes, std::string& to);

/// The bytes of the text in this alphabet. Nothing if it has a character that is not in the
/// alphabet.
std::optional<std::string> bytes_of_characters(std::string_view text);

}  // namespace rollcall::text::json_tokenizer
