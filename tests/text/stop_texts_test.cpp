// A stop text is found at the token that completes it, wherever tokens cut it and whatever stands
// before.
#include "text/tokenizer/stop_texts.hpp"

#include "support/spelling_tokenizer.hpp"
#include "text/tokenizer/text_files.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>

namespace rollcall::text {
namespace {

using Tokens = std::vector<std::int32_t>;

/// Tokens behind which a stop text is first found.
std::optional<std::size_t> found_at(const Tokenizer& tokenizer, const Tokens& tokens,
                                    const std::vector<std::string>& texts) {
  StopTexts search(tokenizer, texts);
  for (std::size_t n = 1; n <= tokens.size(); ++n)
    if (search.found(std::span(tokens).first(n))) return n;
  return std::nullopt;
}

/// The same by decoding the whole answer behind every token.
std::optional<std::size_t> in_whole_text(const Tokenizer& tokenizer, const Tokens& tokens,
                                         const std::vector<std::string>& texts) {
  for (std::size_t n = 1; n <= tokens.size(); ++n)
    for (const std::string& text : texts)
      if (tokenizer.decode(std::span(tokens).first(n), Tokenizer::Special::spelt).find(text) !=
          std::string::npos)
        return n;
  return std::nullopt;
}

TEST(StopTexts, AreFoundAcrossTokens) {
  const auto bytes = make_tokenizer("byte");
  EXPECT_EQ(found_at(*bytes, bytes->encode("aab"), {"ab"}), 3U);
  EXPECT_EQ(found_at(*bytes, bytes->encode("x\n\ny"), {"zz", "\n\n"}), 3U);
  EXPECT_EQ(found_at(*bytes, bytes->encode("a\xC3\xA4z"), {"\xC3\xA4"}), 3U);
  EXPECT_EQ(found_at(*bytes, bytes->encode("ab"), {"abc"}), std::nullopt);
  EXPECT_EQ(found_at(*bytes, bytes->encode("ab"), {}), std::nullopt);
}

TEST(StopTexts, WhatWasGivenBeforeTheFirstTokenIsReadToo) {
  const auto bytes = make_tokenizer("byte");
  const std::vector<std::string> texts{"ab"};
  StopTexts search(*bytes, texts);
  EXPECT_TRUE(search.found(bytes->encode("xab!")));  // four tokens at once
}

/// At the token that completes it, not at the next one.
TEST(StopTexts, MayHoldSpecialTokens) {
  const Spelling tags({"<end>", "<answer>", "</answer>"});
  EXPECT_EQ(found_at(tags, tags.encode("<answer>12</answer>x"), {"</answer>"}), 4U);
  EXPECT_EQ(found_at(tags, tags.encode("a<end>b"), {"<end>b"}), 3U);
  EXPECT_EQ(found_at(tags, tags.encode("a<answer>b"), {"ab"}), std::nullopt);
}

/// Built-in tokenizers have names for their special tokens that no text can spell: they stop at
/// none of the letters.
TEST(StopTexts, NamesOfTokensThatNoTextSpellsAreNoText) {
  const auto bytes = make_tokenizer("byte");
  EXPECT_EQ(found_at(*bytes, {bytes->eos() - 1, bytes->eos()}, {"o", ">", "<eos>"}), std::nullopt);
}

class StopStyles : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(StopTexts, StopStyles,
                         ::testing::Values("qwen2", "gpt2", "falcon", "word_ends"));

TEST_P(StopStyles, AreFoundWhereTheWholeTextHasThem) {
  const auto tokenizer = read_tokenizer_json(std::filesystem::path(ROLLCALL_TOKENIZER_FIXTURES) /
                                             GetParam() / "tokenizer.json");
  EXPECT_TRUE(rc::check("as the whole text", [&] {
    const auto tokens = *rc::gen::container<Tokens>(
        rc::gen::inRange<std::int32_t>(0, std::int32_t(tokenizer->vocab_size())));
    std::string ascii;
    for (const char c : tokenizer->decode(tokens))
      ascii += static_cast<signed char>(c) >= 0 ? std::string(1, c) : "";
    const auto first = *rc::gen::inRange<std::size_t>(0, ascii.size() + 1),
               length = *rc::gen::inRange<std::size_t>(1, 6);
    const std::vector<std::string> texts{first < ascii.size() ? ascii.substr(first, length) : "~",
                                         "never seen"};
    RC_ASSERT(found_at(*tokenizer, tokens, texts) == in_whole_text(*tokenizer, tokens, texts));
  }));
}

}  // namespace
}  // namespace rollcall::text
