// Pieces of a growing text: whole characters only, and together the text.
#include "text/text_stream.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(settled_bytes("x\xEF\xBF\xBD"), 1U);  // what a decoder writes for the first bytes of a character
}

TEST(TextStream, DealsOutTheWholeText) {
  const std::string text = "na\xC3\xAFve \xF0\x9F\x98\x80!";
  TextStream stream;
  std::string shown;
  for (std::size_t n = 1; n <= text.size(); ++n) {
    const std::string piece = stream.more(text.substr(0, n));
    EXPECT_NE(static_cast<unsigned char>(piece.empty() ? 'a' : piece.front()) & 0xC0, 0x80) << "a piece begins within a character";
    shown += piece;
  }
  EXPECT_EQ(shown, text);
  TextStream cut;
  EXPECT_EQ(cut.more("a\xC3"), "a");
  EXPECT_EQ(cut.rest("a\xC3"), "\xC3");
}

}  // namespace
}  // namespace rollcall::text
