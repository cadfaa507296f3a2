// The texts of single tokens, as they stand in a text of several: what a page colours.
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
  std::string text;  ///< empty: the token is shown with the one before it, which has the text of
                     ///< both
  bool special = false;  ///< a token that leaves no text of its own, by its name: <|im_end|>
};

class TokenPieces {
 public:
  /// Without a tokenizer, tokens are shown by their numbers.
  explicit TokenPieces(std::shared_ptr<const text::Tokenizer> tokenizer);
  /// One piece a token. Tokens that end within a character are joined with their neighbours, or
  /// show their bytes where these do not complete it.
  std::vector<Piece> of(std::span<const std::int32_t> tokens);
  /// The same of a whole answer, whose text is known: where single tokens read otherwise than that,
  /// all of it is decoded again from left to right.
  std::vector<Piece> of(std::span<const std::int32_t> tokens, std::string_view text);

 private:
  struct Known {
    Piece first, later;  ///< at the beginning of a text, and behind another token
    bool whole = true;   ///< UTF-8 by itself
  };
  const Known& known(std::int32_t token);
  Known learn(std::int32_t token) const;
  std::string behind(std::span<const std::int32_t> tokens, text::Tokenizer::Special special) const;
  void join(std::span<const std::int32_t> tokens, std::span<Piece> pieces);
  std::vector<Piece> decoded_again(std::span<const std::int32_t> tokens);

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::int32_t> before_;  ///< an ordinary token, behind which others are decoded: a
                                      ///< decoder may do otherwise with the first of a text
  std::unordered_map<std::int32_t, Known> known_;
};

}  // namespace rollcall::view
