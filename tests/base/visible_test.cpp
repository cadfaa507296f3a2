// Text of others reaches a terminal, a log or JSON as something to look at: it acts on nothing,
// forges no line, and what is harmless stays as it is.
#include "base/errors/visible.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/lines.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

namespace rollcall {
namespace {

/// Bytes among which sequences that act, and halves of them, are frequent.
rc::Gen<std::string> hostile() {
  const auto part = rc::gen::element<std::string>(
      "\x1b[2J", "\x1b]52;c;aGk=\x07", "\x1b]0;title\x1b\\", "\r", "\n", "\t", "\b",
      std::string(1, '\0'), "\x7f", "\xC2\x9B", "\xC2\x85", "\xE2\x80\xAE", "\xE2\x81\xA6",
      "\xE2\x80\xA8", "\xE2\x80", "\xF0\x9F\x99\x82", "\xED\xA0\x80", "\xC0\x9B", "ü", "\\", "\"",
      "12:00:00 info done\n");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(
                          rc::gen::oneOf(part, rc::gen::arbitrary<std::string>())),
                      [](const auto& parts) {
                        std::string text;
                        for (const auto& p : parts) text += p;
                        return text;
                      });
}

/// By the bytes of UTF-8, not by the decoder under test. nlohmann's writer throws where the text is
/// not UTF-8.
bool is_harmless(const std::string& text, bool lines) {
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](std::size_t k) {
      return i + k < text.size() ? std::uint8_t(text[i + k]) : 0;
    };
    if (byte(0) < 0x20 && !(lines && (byte(0) == '\n' || byte(0) == '\t'))) return false;
    if (byte(0) == 0x7F || (byte(0) == 0xC2 && byte(1) < 0xA0) ||
        (byte(0) == 0xD8 && byte(1) == 0x9C))
      return false;
    if (byte(0) == 0xE2 && byte(1) == 0x80 &&
        (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE)))
      return false;
    if (byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xAF) return false;
  }
  return true;
}

TEST(Visible, HandWorked) {
  EXPECT_EQ(visible("a\x1b[2J\nb\tc"), R"(a\u001B[2J\nb\tc)");
  EXPECT_EQ(visible("\xC2\x9B\xE2\x80\xAE\xE2\x82 \x7f"), R"(\u009B\u202E\xE2\x82 \u007F)");
  EXPECT_EQ(visible("übung 数 🙂 \\"), "übung 数 🙂 \\");
  EXPECT_EQ(visible_lines("a\r\nb\tc", "| "), "a\\u000D\n| b\tc");
  EXPECT_EQ(visible_format("{:<6}|{:>3}|{}", "a\nb", 7, std::string("\r")), "a\\nb  |  7|\\u000D");
  EXPECT_EQ(brief("abcdef", 6), "abcdef");
  EXPECT_EQ(brief("abcdüf", 5), "abcd... (7 bytes)");
}

RC_GTEST_PROP(Visible, AnyBytesBecomeHarmless, ()) {
  const std::string bytes = *hostile();
  RC_ASSERT(is_harmless(visible(bytes), false));
  RC_ASSERT(is_harmless(visible_lines(bytes, "  | "), true));
  RC_ASSERT(visible(visible(bytes)) == visible(bytes));
  RC_ASSERT(!is_harmless(bytes, false) || visible(bytes) == bytes);
  RC_ASSERT(is_harmless(brief(visible(bytes), 7), false));
}

RC_GTEST_PROP(Visible, EveryLaterLineBeginsWithTheBar, ()) {
  const std::string text = visible_lines(*hostile(), "  | ");
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
    RC_ASSERT(text.substr(at + 1, 4) == "  | ");
}

RC_GTEST_PROP(Visible, JsonStaysTheSameJson, ()) {
  const auto json = nlohmann::json{{"text", *hostile()}, {"list", {1, *hostile()}}};
  for (const int indent : {-1, 1}) {
    const std::string dumped =
        json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
    RC_ASSERT(is_harmless(visible_lines(dumped), true));
    RC_ASSERT(nlohmann::json::parse(visible_lines(dumped)) == nlohmann::json::parse(dumped));
  }
}

TEST(Visible, TheLogAndTheLastWordsShowWhatOthersWrote) {
  testing::internal::CaptureStderr();
  prepare_log();
  log_warning("a reason: {}",
              "\x1b[2J\r12:00:00 info\n12:00:00 info \xC2\x9B"
              "forged");
  flush_log();
  complain("no file \x1b]0;x\x07\nrollcall: all is well");
  complain(std::string(1 << 20, 'x'));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(is_harmless(said, true)) << said;
  EXPECT_NE(
      said.find(
          "warning a reason: \\u001B[2J\\u000D12:00:00 info\n  | 12:00:00 info \\u009Bforged\n"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("rollcall: no file \\u001B]0;x\\u0007\n  | rollcall: all is well\n"),
            std::string::npos)
      << said;
  EXPECT_LT(said.size(), std::size_t{70000});
}

RC_GTEST_PROP(Lines, AreThoseOfGetline, ()) {
  const auto piece =
      rc::gen::oneOf(rc::gen::just(std::string("\n")), rc::gen::arbitrary<std::string>(),
                     rc::gen::map(rc::gen::inRange(65533, 65539),
                                  [](int size) { return std::string(std::size_t(size), 'x'); }));
  std::string text;
  for (const auto& part : *rc::gen::container<std::vector<std::string>>(piece)) text += part;
  std::istringstream ours(text), theirs(text);
  for (std::string a, b;;) {
    const bool more = bool(std::getline(theirs, b));
    RC_ASSERT(next_line(ours, a) == more);
    if (!more) break;
    RC_ASSERT(a == b);
  }
  std::istringstream whole(text);
  RC_ASSERT(read_all(whole) == text);
}

TEST(Lines, ALineWithoutAnEndIsRefused) {
  std::istringstream endless(std::string(kLongestLine + 1, 'x'));
  std::string line;
  EXPECT_THROW(next_line(endless, line), InputError);
}

}  // namespace
}  // namespace rollcall
