// Tokenizers: documented ids, round trip of any bytes, refusals.
#include "text/tokenizer/tokenizer.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace rollcall::text {
namespace {

using Tokens = std::vector<std::int32_t>;

std::int32_t bos_of(const Tokenizer& tokenizer) { return tokenizer.encode_sequence("").at(0); }

TEST(Tokenizer, CharacterIdsAreAsDocumented) {
  const auto t = make_tokenizer("character");
  EXPECT_EQ(t->vocab_size(), 354);
  EXPECT_EQ(bos_of(*t), 352);
  EXPECT_EQ(t->eos(), 353);
  EXPECT_EQ(t->encode(" 0A~\n"), (Tokens{0, 16, 33, 94, 95}));
  // e with acute, tab
  EXPECT_EQ(t->encode("\xC3\xA9\t"), (Tokens{96 + 0xC3, 96 + 0xA9, 96 + 0x09}));
}

TEST(Tokenizer, ByteIdsAreBytes) {
  const auto t = make_tokenizer("byte");
  EXPECT_EQ(t->vocab_size(), 258);
  EXPECT_EQ(bos_of(*t), 256);
  EXPECT_EQ(t->eos(), 257);
  EXPECT_EQ(t->encode(std::string_view("\0A\xFF", 3)), (Tokens{0, 65, 255}));
}

RC_GTEST_PROP(Tokenizer, AnyBytesSurviveTheRoundTrip, (const std::string& text)) {
  for (const auto& name : tokenizer_names()) {
    const auto t = make_tokenizer(name);
    const auto tokens = t->encode(text);
    RC_ASSERT(tokens.size() == text.size());
    // text never makes a special token
    for (const auto id : tokens) RC_ASSERT(id >= 0 && id < bos_of(*t));
    RC_ASSERT(t->decode(tokens) == text);
  }
}

TEST(Tokenizer, EveryByteSurvivesTheRoundTrip) {
  std::string all;
  for (int b = 0; b < 256; ++b) all += char(b);
  for (const auto& name : tokenizer_names()) {
    const auto t = make_tokenizer(name);
    EXPECT_EQ(t->decode(t->encode(all)), all) << name;
  }
}

TEST(Tokenizer, EveryTokenHasAText) {
  for (const auto& name : tokenizer_names()) {
    const auto t = make_tokenizer(name);
    for (std::int32_t id = 0; id < bos_of(*t); ++id)
      EXPECT_EQ(t->decode(Tokens{id}).size(), 1U) << name << " " << id;
  }
}

TEST(Tokenizer, SpecialTokensLeaveNoText) {
  for (const auto& name : tokenizer_names()) {
    const auto t = make_tokenizer(name);
    Tokens tokens = {bos_of(*t)};
    for (const auto id : t->encode("7391")) tokens.push_back(id);
    tokens.push_back(t->eos());
    EXPECT_EQ(t->decode(tokens), "7391");
    EXPECT_EQ(t->decode(tokens, Tokenizer::Special::keep), "<bos>7391<eos>");
    EXPECT_EQ(t->encode_sequence("7391"), Tokens(tokens.begin(), tokens.end() - 1));
  }
}

TEST(Tokenizer, IdsThatStandForNoTokenLeaveNoText) {
  for (const auto& name : tokenizer_names()) {
    const auto t = make_tokenizer(name);
    EXPECT_EQ(t->decode(Tokens{std::int32_t(t->vocab_size())}, Tokenizer::Special::keep), "");
    EXPECT_THROW(t->decode(Tokens{-1}), InputError);
  }
}

TEST(Tokenizer, FingerprintsTellThemApartAndNeverChange) {
  std::set<std::string> seen;
  for (const auto& name : tokenizer_names()) {
    EXPECT_EQ(make_tokenizer(name)->fingerprint(), make_tokenizer(name)->fingerprint());
    seen.insert(make_tokenizer(name)->fingerprint());
  }
  EXPECT_EQ(seen.size(), tokenizer_names().size());
  // Pinned: a change makes every older checkpoint unusable, so it must be meant.
  EXPECT_EQ(make_tokenizer("character")->fingerprint().substr(0, 16), "a9ae4a426c18024e");
  EXPECT_EQ(make_tokenizer("byte")->fingerprint().substr(0, 16), "e05f8454bc21c330");
}

TEST(Tokenizer, UnknownNameNamesTheNearest) {
  try {
    make_tokenizer("charakter");
    FAIL() << "accepted";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean character?"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace rollcall::text
