// Pieces of a growing text: whole characters only, and together the text.
#include "text/tokenizer/text_stream.hpp"
#include "text/tokenizer/text_files.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::text {
namespace {

TEST(TextStream, HoldsBackAnUnfinishedCharacter) {
  EXPECT_EQ(settled_bytes(""), 0U);
  EXPECT_EQ(settled_bytes("ab"), 2U);
  EXPECT_EQ(settled_bytes("a\xC3"), 1U);
  EXPECT_EQ(settled_bytes("a\xC3\xA4"), 3U);
  EXPECT_EQ(settled_bytes("\xE2\x82"), 0U);
  EXPECT_EQ(settled_bytes("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(settled_bytes("x\xF0\x9F\x98"), 1U);
  EXPECT_EQ(settled_bytes("x\xF0\x9F\x98\x80"), 5U);
  EXPECT_EQ(settled_bytes("x\xEF\xBF\xBD"), 1U);  // what a decoder writes for the first bytes of a
                                                  // character
}

TEST(TextStream, FindsAMarkOrItsBeginningAtTheEnd) {
  EXPECT_EQ(find_growing("one <tag> two", "<tag>"), 4U);
  EXPECT_EQ(find_growing("one <tag> <tag>", "<tag>", 5), 10U);
  EXPECT_EQ(find_growing("one <ta", "<tag>"), 4U);
  EXPECT_EQ(find_growing("one <ta", "<tag>", 5), 7U);
  EXPECT_EQ(find_growing("one <tub", "<tag>"), 8U);
  EXPECT_EQ(find_growing("aab", "ab"), 1U);
  EXPECT_EQ(find_growing("xaaa", "aaaa"), 1U) << "the longest beginning comes first";
  EXPECT_EQ(find_growing("", "a"), 0U);
}

/// Pieces as they come, token by token, and what is left at the end; each piece whole characters.
std::vector<std::string> pieces(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  TextStream stream(tokenizer);
  std::vector<std::string> pieces;
  for (std::size_t n = 1; n <= tokens.size(); ++n) pieces.push_back(stream.more(tokens.first(n)));
  for (const auto& piece : pieces)
    EXPECT_NE(static_cast<unsigned char>(piece.empty() ? 'a' : piece.front()) & 0xC0, 0x80)
        << "begins within a character";
  pieces.push_back(stream.rest(tokens));
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const auto& piece : pieces) all += piece;
  return all;
}

TEST(TextStream, DealsOutTheWholeText) {
  const std::string text = "na\xC3\xAFve \xF0\x9F\x98\x80!";
  const auto bytes = make_tokenizer("byte");
  EXPECT_EQ(joined(pieces(*bytes, bytes->encode(text))), text);
  EXPECT_EQ(pieces(*bytes, bytes->encode("a\xC3")), (std::vector<std::string>{"a", "", "\xC3"}));
}

/// Any ids, which are no text of anybody's: what was shown is what the whole decodes to, whatever a
/// decoder makes of first tokens and broken characters.
class Styles : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(TextStream, Styles,
                         ::testing::Values("llama2", "gemma", "mistral", "qwen2", "gpt2", "falcon",
                                           "word_ends"));

TEST_P(Styles, ShowsWhatTheWholeDecodesTo) {
  const auto tokenizer = read_tokenizer_json(std::filesystem::path(ROLLCALL_TOKENIZER_FIXTURES) /
                                             GetParam() / "tokenizer.json");
  EXPECT_TRUE(rc::check("the pieces are the text", [&] {
    const auto tokens = *rc::gen::container<std::vector<std::int32_t>>(
        rc::gen::inRange<std::int32_t>(0, std::int32_t(tokenizer->vocab_size())));
    RC_ASSERT(joined(pieces(*tokenizer, tokens)) == tokenizer->decode(tokens));
  }));
}

/// A run of byte tokens that turns out to be no UTF-8 is replaced as a whole, also what was a
/// character before.
TEST(TextStream, WaitsForTheEndOfByteTokens) {
  const auto tokenizer = read_tokenizer_json(std::filesystem::path(ROLLCALL_TOKENIZER_FIXTURES) /
                                             "llama2" / "tokenizer.json");
  // a snowman is three bytes here, behind the space that begins a text
  const auto tokens = tokenizer->encode("\u2603a\u2603");
  ASSERT_EQ(tokens.size(), 8U);
  EXPECT_EQ(pieces(*tokenizer, tokens),
            (std::vector<std::string>{"", "", "", "", "\u2603a", "", "", "", "\u2603"}));
  const auto cut = std::span(tokens).first(6);
  EXPECT_EQ(pieces(*tokenizer, cut).back(), "\uFFFD");
}

TEST(TextStream, DecodesTheLastTokensOnly) {
  struct Counting final : Tokenizer {
    std::unique_ptr<Tokenizer> bytes = make_tokenizer("byte");
    mutable std::size_t decoded = 0;
    std::vector<std::int32_t> encode(std::string_view text) const override {
      return bytes->encode(text);
    }
    std::vector<std::int32_t> encode_sequence(std::string_view text) const override {
      return bytes->encode(text);
    }
    std::string decode(std::span<const std::int32_t> tokens, Special special) const override {
      decoded += tokens.size();
      return bytes->decode(tokens, special);
    }
    std::int64_t vocab_size() const override { return bytes->vocab_size(); }
    std::int32_t eos() const override { return bytes->eos(); }
    std::string name() const override { return "counting"; }
    std::string fingerprint() const override { return {}; }
  };
  const Counting tokenizer;
  EXPECT_EQ(joined(pieces(tokenizer, tokenizer.encode(std::string(1000, 'x')))),
            std::string(1000, 'x'));
  EXPECT_LT(tokenizer.decoded, 5000U);
}

}  // namespace
}  // namespace rollcall::text
