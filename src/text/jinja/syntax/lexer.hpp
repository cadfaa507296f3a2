// Divides a template's source into tokens, following the rules of Jinja's lexer with trim_blocks
// and lstrip_blocks.
#pragma once

#include "text/jinja/fault.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::jinja {

enum class TokenKind : std::uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  op,
  end
};

struct Token {
  TokenKind kind;
  std::string text;  ///< the data, the name, the string's value, the number or the operator
  Place place;
  std::int64_t integer = 0;
  double real = 0;
  bool too_large = false;  ///< an integer beyond 64 bits
};

/// All tokens of the source, with `end` as the last one. Throws Fault if the source is not UTF-8 or
/// has characters that do not begin a token.
std::vector<Token> tokens_of(std::string_view source);

std::string describe(const Token& token);  ///< the name of the token in messages

}  // namespace rollcall::text::jinja
