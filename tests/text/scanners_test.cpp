// The scanners written by hand against PCRE2, the referee: the same words of any text.
#include "text/json_tokenizer/steps/scanners.hpp"

#include "text/json_tokenizer/steps/pattern.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

namespace rollcall::text::json_tokenizer {
namespace {

std::vector<std::string> words(const Pattern& pattern, const std::string& text) {
  std::vector<std::string> found;
  pattern.each(text, [&](std::string_view word, bool matches) {
    found.emplace_back(matches ? word : "no match");
  });
  return found;
}

Pattern referee(const char* source) {
  const nlohmann::json json = source;
  const std::string origin = "test";
  return Pattern::expression(source, Field(json, "source", origin), Scanners::none);
}

Pattern by_hand(const char* source) {
  const nlohmann::json json = source;
  const std::string origin = "test";
  return Pattern::expression(source, Field(json, "source", origin));
}

class Known : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Scanners, Known,
                         ::testing::Range(std::size_t(0), std::size(kKnownPatterns)));

/// Every character in front of, behind and between what the patterns ask for.
TEST_P(Known, EveryCharacter) {
  const char* source = kKnownPatterns[GetParam()].source;
  const Pattern ours = by_hand(source), theirs = referee(source);
  std::string text;
  const auto compare = [&] {
    ASSERT_EQ(words(ours, text), words(theirs, text));
    text.clear();
  };
  for (char32_t c = 0; c < 0x32400; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    for (const char* around : {"a", " ", "1", "\n"}) append_utf8(c, text), text += around;
    if (c % 1024 != 1023) continue;
    ASSERT_NO_FATAL_FAILURE(compare());
  }
  for (char32_t c = 0xE0000; c < 0xE0200; ++c) append_utf8(c, text), text += "a";
  compare();
}

TEST_P(Known, AnyText) {
  const char* source = kKnownPatterns[GetParam()].source;
  const Pattern ours = by_hand(source), theirs = referee(source);
  EXPECT_TRUE(rc::check([&] {
    const auto atom = rc::gen::oneOf(
        rc::gen::element<std::string>("'s", "'S", "'ll", "'lL", "'re", "'", " ", "  ", "\n", "\r\n",
                                      "\t", "\u3000", "\u0085", "A", "b", "\u01C5", "\u02B0",
                                      "\u0301", "\u0903", "日", "1", "23", "½", "!", "/", "'\u017F",
                                      "🙂", "\u200D", "_", "\u180E"),
        rc::gen::string<std::string>());
    std::string text;
    for (const auto& piece : *rc::gen::container<std::vector<std::string>>(atom)) text += piece;
    text = replace_invalid_utf8(text);
    RC_ASSERT(words(ours, text) == words(theirs, text));
  }));
}

}  // namespace
}  // namespace rollcall::text::json_tokenizer
