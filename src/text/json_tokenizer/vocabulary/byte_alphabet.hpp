// GPT-2's alphabet: each byte has a printable character of its own, so that byte-level vocabularies
// are text (openai/gpt-2, encoder.py).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text::json_tokenizer {

/// [byte] its character: itself where it is printable in Latin-1, else U+0100 upwards in order.
const std::array<char32_t, 256>& byte_characters();

void append_as_characters(std::string_view bytes, std::string& to);

/// The bytes that a text of the alphabet stands for; none where it has a character of no byte.
std::optional<std::string> bytes_of_characters(std::string_view text);

}  // namespace rollcall::text::json_tokenizer
