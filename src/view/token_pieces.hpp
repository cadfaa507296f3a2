// The text of each token of an answer, which a page can colour separately.
#pragma once

#include "text/tokenizer/tokenizer.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rollcall::view {

struct Piece {
  std::string text;      ///< empty if the previous token's piece includes this token's text
  bool special = false;  ///< a token with no text, such as <|im_end|>, which is shown by its name
};

class TokenPieces {
 public:
  /// Without a tokenizer, tokens are shown as their numbers.
  explicit TokenPieces(std::shared_ptr<const text::Tokenizer> tokenizer);
  /// One piece per token. Tokens that end in the middle of a character are joined with their
  /// neighbours, or show their bytes if the neighbours do not complete the character.
  std::vector<Piece> of(std::span<const std::int32_t> tokens);
  /// As above, for a whole answer with a known text. If the joined pieces do not give that text,
  /// the tokens are decoded again from left to right.
  std::vector<Piece> of(std::span<const std::int32_t> tokens, std::string_view text);

 private:
  struct Known {
    Piece first, later;  ///< the token's piece at the beginning of a text, and after another token
    bool whole = true;   ///< whether both pieces consist of whole characters
  };
  const Known& known(std::int32_t token);
  Known learn(std::int32_t token) const;
  std::string decoded_after(std::span<const std::int32_t> tokens,
                            text::Tokenizer::Special special) const;
  void join(std::span<const std::int32_t> tokens, std::span<Piece> pieces);
  std::vector<Piece> decoded_again(std::span<const std::int32_t> tokens);

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::int32_t> before_;  ///< an ordinary token, after which other tokens are decoded,
                                      ///< because a decoder may treat the first token of a text
                                      ///< differently
  std::unordered_map<std::int32_t, Known> known_;
};

}  // namespace rollcall::view
