// tokenizer.json against what Hugging Face's library said of the fixtures, and against the
// properties that hold for any text.
#include "text/json_tokenizer/json_tokenizer.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "text/json_tokenizer/steps/normal_form.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <filesystem>

namespace rollcall::text {
namespace {

using Json = nlohmann::json;
using json_tokenizer::JsonTokenizer;
using Ids = std::vector<std::int32_t>;

const std::filesystem::path kFixtures = ROLLCALL_TOKENIZER_FIXTURES;

Json json_of(const std::filesystem::path& path) { return Json::parse(read_file(path)); }

std::vector<std::string> styles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Style : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(JsonTokenizer, Style, ::testing::ValuesIn(styles()),
                         [](const auto& style) { return style.param; });

TEST_P(Style, GivesTheIdsAndTextsOfTheLibrary) {
  const auto texts = json_of(kFixtures / "texts.json").get<std::vector<std::string>>();
  const Json cases = json_of(kFixtures / GetParam() / "cases.json");
  const auto tokenizer = read_tokenizer_json(kFixtures / GetParam() / "tokenizer.json");
  ASSERT_EQ(cases["ids"].size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(tokenizer->encode(texts[i]), cases["ids"][i].get<Ids>()) << texts[i];
  // from the cache of words
  for (std::size_t i = texts.size(); i-- > 0;)
    EXPECT_EQ(tokenizer->encode(texts[i]), cases["ids"][i].get<Ids>()) << texts[i];
  EXPECT_EQ(tokenizer->encode_sequence("Hello world"), cases["around_hello_world"].get<Ids>());
  ASSERT_EQ(cases["lists"].size(), cases["decoded"].size());
  for (std::size_t i = 0; i < cases["lists"].size(); ++i) {
    const auto list = cases["lists"][i].get<Ids>();
    EXPECT_EQ(tokenizer->decode(list), cases["decoded"][i].get<std::string>()) << cases["lists"][i];
    EXPECT_EQ(tokenizer->decode(list, Tokenizer::Special::keep),
              cases["decoded_special"][i].get<std::string>())
        << cases["lists"][i];
  }
}

TEST(JsonTokenizer, NormalForms) {
  using json_tokenizer::to_normal_form;
  EXPECT_EQ(to_normal_form("xe\u0301e\u0323\u0302y", {true, false}), "x\u00E9\u1EC7y");
  // sorted by class: 220 before 230
  EXPECT_EQ(to_normal_form("q\u0307\u0323", {true, false}), "q\u0323\u0307");
  // U+11A7 is no trailing consonant
  EXPECT_EQ(to_normal_form("\u1100\u1161\u11A8\uAC00\u11A7", {true, false}), "\uAC01\uAC00\u11A7");
  EXPECT_EQ(to_normal_form("\u2126\uFB01", {true, false}), "\u03A9\uFB01");
  EXPECT_EQ(to_normal_form("\u2126\uFB01", {true, true}), "\u03A9fi");
  EXPECT_EQ(to_normal_form("\u1EC7\uAC01", {false, false}), "e\u0323\u0302\u1100\u1161\u11A8");
  // later than Unicode 9
  EXPECT_EQ(to_normal_form("\u32FF\U00011938", {false, true}), "\u32FF\U00011938");
}

std::string any_text(bool valid) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
      rc::gen::element<std::string>(" ", "  ", "\n", "'s", "é", "日本", "🙂", "e\u0301",
                                    "<|endoftext|>", "the", "1234", "\u3000", "A"),
      rc::gen::string<std::string>()));
  std::string text;
  for (const auto& piece : pieces) text += piece;
  return valid ? json_tokenizer::replace_invalid_utf8(text) : text;
}

TEST(JsonTokenizer, ByteLevelTextsComeBack) {
  for (const char* style : {"gpt2", "smollm", "llama3", "o200k", "deepseek", "gpt4_possessive"}) {
    const auto tokenizer = read_tokenizer_json(kFixtures / style / "tokenizer.json");
    EXPECT_TRUE(rc::check(style, [&] {
      const std::string text = any_text(true);
      RC_ASSERT(tokenizer->decode(tokenizer->encode(text), Tokenizer::Special::keep) == text);
    }));
  }
}

TEST(JsonTokenizer, InvalidUtf8IsReadAsItsReplacement) {
  const auto tokenizer = read_tokenizer_json(kFixtures / "gpt2" / "tokenizer.json");
  // Python: b'a\xe2\x82z\xff\xf0\x9f\x99'.decode("utf-8", errors="replace")
  EXPECT_EQ(json_tokenizer::replace_invalid_utf8("a\xe2\x82z\xff\xf0\x9f\x99"),
            "a\uFFFDz\uFFFD\uFFFD");
  EXPECT_EQ(json_tokenizer::replace_invalid_utf8("\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_TRUE(rc::check([&] {
    const std::string text = any_text(false);
    RC_ASSERT(tokenizer->encode(text) ==
              tokenizer->encode(json_tokenizer::replace_invalid_utf8(text)));
  }));
}

TEST(JsonTokenizer, WhatWasEncodedBeforeChangesNothing) {
  for (const char* style : {"qwen2", "llama2", "word_inner"}) {
    const auto used = read_tokenizer_json(kFixtures / style / "tokenizer.json");
    EXPECT_TRUE(rc::check(style, [&] {
      const std::string text = any_text(true);
      const auto fresh = read_tokenizer_json(kFixtures / style / "tokenizer.json");
      RC_ASSERT(used->encode(text) == fresh->encode(text));
    }));
  }
}

/// A text cut before a space that follows a letter splits into the same words (GPT-2's pattern
/// never joins them).
TEST(JsonTokenizer, WordsAreTokenizedByThemselves) {
  const auto tokenizer = read_tokenizer_json(kFixtures / "gpt2" / "tokenizer.json");
  EXPECT_TRUE(rc::check([&] {
    const std::string left = any_text(true) + "a", right = " b" + any_text(true);
    Ids joined = tokenizer->encode(left);
    const Ids rest = tokenizer->encode(right);
    joined.insert(joined.end(), rest.begin(), rest.end());
    RC_ASSERT(tokenizer->encode(left + right) == joined);
  }));
}

TEST(JsonTokenizer, WorkGrowsAsNLogN) {
  for (const char* style : {"gpt2", "llama2", "qwen2"}) {
    const JsonTokenizer tokenizer(read_file(kFixtures / style / "tokenizer.json"), style);
    for (const std::string unit : {"e", "the", "th e", "日", "0"}) {
      std::string text;
      while (text.size() < 200'000) text += unit;
      const double n = double(text.size());
      EXPECT_LT(double(tokenizer.operations(text)), 4 * n * std::log2(n)) << style << " " << unit;
    }
  }
}

TEST(JsonTokenizer, IdsAndNames) {
  const auto tokenizer = parse_tokenizer_json(read_file(kFixtures / "gpt2" / "tokenizer.json"),
                                              "gpt2", "<|endoftext|>");
  EXPECT_EQ(tokenizer->eos(), 0);
  EXPECT_EQ(tokenizer->vocab_size(), 420);
  EXPECT_EQ(tokenizer->name(), "gpt2");
  EXPECT_EQ(tokenizer->decode(Ids{0}), "");
  EXPECT_EQ(tokenizer->decode(Ids{0, 5000}, Tokenizer::Special::keep), "<|endoftext|>");
  EXPECT_THROW(tokenizer->decode(Ids{-1}), InputError);
  const auto other = read_tokenizer_json(kFixtures / "gpt2" / "tokenizer.json");
  EXPECT_THROW(other->eos(), InputError);
  EXPECT_NE(tokenizer->fingerprint(), other->fingerprint());
  EXPECT_EQ(other->fingerprint(),
            read_tokenizer_json(kFixtures / "gpt2" / "tokenizer.json")->fingerprint());
  EXPECT_THROW(read_tokenizer_json(kFixtures / "gpt2" / "tokenizer.json", "<eos>"), InputError);
}

/// The published vectors of GPT-2 and Qwen2 (46 texts): real vocabularies, which are not part of
/// the sources.
TEST(JsonTokenizer, PublishedVectors) {
  const char* named = std::getenv("ROLLCALL_TOKENIZERS");
  const std::filesystem::path folder = named != nullptr ? named : ROLLCALL_SHARED_TOKENIZERS;
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << folder
                 << " is not there; ROLLCALL_TOKENIZERS names another folder with gpt-2 and qwen2";
  for (const char* model : {"gpt-2", "qwen2"}) {
    const auto tokenizer = read_tokenizer_json(folder / model / "tokenizer.json");
    const std::string inputs = read_file(folder / model / "vectors.inp"),
                      mark = "\n__ggml_vocab_test__\n";
    std::istringstream outputs(read_file(folder / model / "vectors.out"));
    int count = 0;
    std::string line;
    for (std::size_t at = 0; at < inputs.size() && std::getline(outputs, line); ++count) {
      const auto end = std::min(inputs.find(mark, at), inputs.size());
      std::istringstream numbers(line);
      const Ids expected{std::istream_iterator<std::int32_t>(numbers), {}};
      EXPECT_EQ(tokenizer->encode(inputs.substr(at, end - at)), expected)
          << model << ": " << inputs.substr(at, end - at);
      at = end + mark.size();
    }
    EXPECT_EQ(count, 46) << model;
  }
}

}  // namespace
}  // namespace rollcall::text
