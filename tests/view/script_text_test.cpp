// What a model wrote stays a string in a script, whatever it is.
#include "view/script_text.hpp"

#include "base/text/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace rollcall::view {
namespace {

TEST(ScriptText, EndsNoScriptAndNoLine) {
  EXPECT_EQ(json_string("</script>&\"\\\n"), R"("\u003c/script\u003e\u0026\"\\\n")");
  EXPECT_EQ(json_string("\xE2\x80\xA8\xE2\x80\xA9"), R"("\u2028\u2029")");
  EXPECT_EQ(json_string(std::string("\0\x7F", 2)), R"("\u0000\u007f")");
  EXPECT_EQ(json_string("übung 数 🙂"), "\"übung 数 🙂\"");
}

TEST(ScriptText, ShowsBytesThatAreNoCharacter) {
  EXPECT_EQ(json_string("a\xE2\x82"), R"("a\\xE2\\x82")");
  EXPECT_EQ(json_string("\xC0\x80\xED\xA0\x80"),
            R"("\\xC0\\x80\\xED\\xA0\\x80")");  // overlong, a surrogate
}

TEST(ScriptText, AnyBytesAreASafeStringOfJson) {
  EXPECT_TRUE(rc::check("any bytes", [](const std::string& bytes) {
    const std::string text = json_string(bytes);
    RC_ASSERT(text.find_first_of("<>&\n") == std::string::npos);
    RC_ASSERT(is_utf8(text));
    const auto parsed = nlohmann::json::parse(text).get<std::string>();
    RC_ASSERT(!is_utf8(bytes) || parsed == bytes);
  }));
}

TEST(ScriptText, NumbersAreJson) {
  std::string out;
  add_number(out, 0.25), out += ' ', add_number(out, std::numeric_limits<double>::quiet_NaN()),
      out += ' ', add_number(out, -1e-12), out += ' ', add_milli(out, -1.2345);
  out += ' ', add_milli(out, std::numeric_limits<double>::infinity()), out += ' ',
      add_integer(out, -7);
  EXPECT_EQ(out, "0.25 null -1e-12 -1235 null -7");
}

TEST(ScriptText, ABeginningHoldsWholeCharacters) {
  EXPECT_EQ(beginning("übung", 1), "");
  EXPECT_EQ(beginning("übung", 2), "ü");
  EXPECT_EQ(beginning("ab", 5), "ab");
}

}  // namespace
}  // namespace rollcall::view
