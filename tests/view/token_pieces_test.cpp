// The texts of tokens put together are the text.
#include "view/token_pieces.hpp"

#include "support/spelling_tokenizer.hpp"

#include <gtest/gtest.h>

namespace rollcall::view {
namespace {

std::vector<std::string> texts(const std::vector<Piece>& pieces) {
  std::vector<std::string> all;
  for (const Piece& piece : pieces) all.push_back(piece.text);
  return all;
}

TEST(TokenPieces, CharactersInSeveralTokensAreShownOnce) {
  const std::shared_ptr<const text::Tokenizer> tokenizer = text::make_tokenizer("byte");
  TokenPieces pieces(tokenizer);
  EXPECT_EQ(texts(pieces.of(tokenizer->encode("aüb"))),
            (std::vector<std::string>{"a", "ü", "", "b"}));
  EXPECT_EQ(texts(pieces.of(tokenizer->encode("🙂数"))),
            (std::vector<std::string>{"🙂", "", "", "", "数", "", ""}));
}

TEST(TokenPieces, BytesThatAreNoCharacterStandAlone) {
  const std::shared_ptr<const text::Tokenizer> tokenizer = text::make_tokenizer("byte");
  TokenPieces pieces(tokenizer);
  EXPECT_EQ(texts(pieces.of(tokenizer->encode("a\xE2\x82"
                                              "b"))),
            (std::vector<std::string>{"a", "\xE2", "\x82", "b"}));
}

TEST(TokenPieces, SpecialTokensAreNamed) {
  const std::shared_ptr<const text::Tokenizer> tokenizer = text::make_tokenizer("character");
  const auto pieces = TokenPieces(tokenizer).of(
      std::vector<std::int32_t>{tokenizer->encode("7").front(), tokenizer->eos()}, "7");
  EXPECT_EQ(texts(pieces), (std::vector<std::string>{"7", "<eos>"}));
  EXPECT_TRUE(pieces[1].special && !pieces[0].special);
}

/// Answers hold their tags; those of older archives do not.
TEST(TokenPieces, TagsAreNamedWhetherOrNotTheTextHoldsThem) {
  const auto tokenizer =
      std::make_shared<text::Spelling>(std::vector<std::string>{"<end>", "<think>", "</think>"});
  for (const std::string text : {"<think>a</think>b", "ab"}) {
    const auto pieces =
        TokenPieces(tokenizer).of(tokenizer->encode("<think>a</think>b<end>"), text);
    EXPECT_EQ(texts(pieces), (std::vector<std::string>{"<think>", "a", "</think>", "b", "<end>"}));
    EXPECT_TRUE(pieces[0].special && pieces[2].special && !pieces[3].special);
  }
}

TEST(TokenPieces, WithoutATokenizerTokensAreNumbers) {
  EXPECT_EQ(texts(TokenPieces(nullptr).of(std::vector<std::int32_t>{5, 70000})),
            (std::vector<std::string>{"[5]", "[70000]"}));
}

/// A decoder that looks back: a space goes before every token but the first, and none before "!".
class Spaced final : public text::Tokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view) const override { return {0}; }
  std::vector<std::int32_t> encode_sequence(std::string_view) const override { return {0}; }
  std::string decode(std::span<const std::int32_t> tokens, Special) const override {
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && !(tokens[i] == 2 && tokens[i - 1] == 1)) text += ' ';
      text += "ab!"[tokens[i]];
    }
    return text;
  }
  std::int64_t vocab_size() const override { return 3; }
  std::int32_t eos() const override { return 2; }
  std::string name() const override { return "spaced"; }
  std::string fingerprint() const override { return ""; }
};

TEST(TokenPieces, ADecoderThatLooksBackIsAskedFromLeftToRight) {
  TokenPieces pieces(std::make_shared<Spaced>());
  const std::vector<std::int32_t> tokens{0, 1, 2};
  EXPECT_EQ(texts(pieces.of(tokens, "a b!")), (std::vector<std::string>{"a", " b", "!"}));
}

}  // namespace
}  // namespace rollcall::view
