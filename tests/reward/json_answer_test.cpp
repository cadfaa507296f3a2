// JSON answers: {correct, format, validity, structure, correctness, length}; and the keywords of
// schemas.
#include "base/errors/error.hpp"
#include "reward/exact_json.hpp"
#include "reward/json_schema.hpp"
#include "reward/judged.hpp"
#include "reward/reference.hpp"

#include <gtest/gtest.h>

namespace rollcall::reward {
namespace {

// {"a":7,"b":"xy"} has 16 bytes: length counts in full up to 32.
constexpr const char* kReference =
    R"({"schema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"],
                                       "additionalProperties": false}, "value": {"a": 7, "b": "xy"}})";

std::string say(const std::string& response, const char* reference = kReference) {
  return verdict(judged("json", reference, response));
}

TEST(JsonAnswer, HandWorked) {
  EXPECT_EQ(say(R"({"a":7,"b":"xy"})"), R"(1 1 1 1 1 1 | {"a":7,"b":"xy"})");
  EXPECT_EQ(say("\n{ \"b\": \"xy\", \"a\": 7.0 }"),
            R"(1 1 1 1 1 1 | {"a":7,"b":"xy"})");  // order and spelling of numbers say nothing
  // Truncated: no JSON at all, only its length is right.
  EXPECT_EQ(say(R"({"a":7,"b":"xy")"), "0 0 0 0 0 1 | ");
  // A wrong key: of type, required a, required b, type of a and additionalProperties (c), two do
  // not hold; one of two leaves stands.
  EXPECT_EQ(say(R"({"a":7,"c":"xy"})"), R"(0 1 1 0.6 0.5 1 | {"a":7,"c":"xy"})");
  // A wrong type: type, two required and type of b hold, type of a does not.
  EXPECT_EQ(say(R"({"a":"7","b":"xy"})"), R"(0 1 1 0.8 0.5 1 | {"a":"7","b":"xy"})");
  EXPECT_EQ(say(R"({"a":8,"b":"xy"})"),
            R"(0 1 1 1 0.5 1 | {"a":8,"b":"xy"})");  // the near miss: all but a value
  EXPECT_EQ(say("[1]"), "0 1 1 0 0 1 | [1]");
  EXPECT_EQ(say(R"({"a":7,"b":"xy","b":"xy"})"), "0 0 0 0 0 1 | ");  // a member twice
  EXPECT_EQ(say(""), "0 0 0 0 0 0 | ");
  EXPECT_EQ(say("{\"a\":7,\"b\":\"\xFF\"}"), "0 0 0 0 0 1 | ");
}

TEST(JsonAnswer, TextAroundItCostsFormatAndCorrectness) {
  EXPECT_EQ(say("```json\n{\"a\":7,\"b\":\"xy\"}\n```"), R"(0 0 1 1 1 1 | {"a":7,"b":"xy"})");
  // 64 bytes: twice the 16 of the reference are half of them.
  EXPECT_EQ(say(R"({"a":7,"b":"xy"} )" + std::string(47, '.')),
            R"(0 0 1 1 1 0.5 | {"a":7,"b":"xy"})");
}

TEST(JsonAnswer, WithoutAValueTheSchemaDecides) {
  constexpr const char* kSchema =
      R"({"schema": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2}})";
  EXPECT_EQ(say("[1,2,3]", kSchema), "1 1 1 1 1 1 | [1,2,3]");
  // five of type, minItems and for each item type and minimum
  EXPECT_EQ(say("[1,0]", kSchema), "0 1 1 0.833 1 1 | [1,0]");
}

/// Of each pair the second number is what a double makes of the first, or its neighbour.
TEST(JsonAnswer, NumbersKeepAllTheirDigits) {
  const auto correct = [](const std::string& wanted, const std::string& given) {
    const std::string reference =
        R"({"schema": {"type": "object"}, "value": {"a": )" + wanted + "}}";
    return say(R"({"a":)" + given + "}", reference.c_str()).starts_with("1 ");
  };
  for (const auto& [number, other] : std::vector<std::pair<std::string, std::string>>{
           {"18446744073709551617", "18446744073709551616"},
           {"9007199254740993", "9007199254740992.0"},
           {"-12345678901234567890123", "-12345678901234567890124"},
           {"0.1000000000000000055", "0.1"},
           {"0.30000000000000004", "0.3"},
           {"1e-400", "0"},
           {"2.5e-324", "4.9e-324"}}) {
    EXPECT_TRUE(correct(number, number)) << number;
    EXPECT_FALSE(correct(number, other) || correct(other, number)) << number << " and " << other;
  }
  for (const auto& [number, same] : std::vector<std::pair<std::string, std::string>>{
           {"100", "1e2"},
           {"-0", "0.0"},
           {"1.50", "15E-1"},
           {"18446744073709551617", "1844674407370955161700e-2"},
           {"0.1000000000000000055", "1000000000000000055e-19"}})
    EXPECT_TRUE(correct(number, same)) << number << " and " << same;
  EXPECT_EQ(say(R"({"a":[18446744073709551617,"x"]})", R"({"schema": {"type": "object"}})"),
            R"(1 1 1 1 1 1 | {"a":[18446744073709551617e0,"x"]})");
}

TEST(JsonAnswer, DeepNestingIsSurvived) {
  EXPECT_EQ(say(std::string(1 << 20, '[')), "0 0 0 0 0 3.05e-05 | ");
  EXPECT_EQ(say(std::string(60, '[') + std::string(60, ']')).substr(0, 8), "0 1 1 0 ");
}

/// Whether the value meets the schema.
bool meets(const char* schema, const char* value) {
  std::string fault;
  const auto parsed = parse_exact(schema, fault);
  require_schema(parsed);
  const auto marks = check_schema(parsed, parse_exact(value, fault));
  EXPECT_EQ(marks.met == marks.asked, marks.fault.empty());
  return marks.met == marks.asked;
}

TEST(JsonSchema, EveryKeywordHandWorked) {
  struct Case {
    const char *schema, *good, *bad;
  };
  const Case cases[] = {
      {R"({"type": "integer"})", "2.0", "2.5"},
      {R"({"type": ["null", "boolean"]})", "null", "0"},
      {R"({"type": "number"})", "2.5", "\"2.5\""},
      {R"({"enum": [1, "a"]})", "\"a\"", "2"},
      {R"({"const": {"a": [1]}})", R"({"a": [1]})", R"({"a": [1, 1]})"},
      {R"({"properties": {"a": {"type": "null"}}})", "{}", R"({"a": 1})"},
      {R"({"required": ["a"]})", R"({"a": null})", "{}"},
      {R"({"properties": {"a": {}}, "additionalProperties": false})", R"({"a": 1})",
       R"({"a": 1, "b": 1})"},
      {R"({"additionalProperties": {"type": "string"}})", R"({"a": "x"})", R"({"a": 1})"},
      {R"({"items": {"type": "integer"}})", "[1, 2]", "[1, true]"},
      {R"({"minItems": 1})", "[0]", "[]"},
      {R"({"maxItems": 1})", "[0]", "[0, 0]"},
      {R"({"uniqueItems": true})", "[2, 1]", "[2, 1, 2]"},
      {R"({"minLength": 2})", "\"ab\"", "\"\u00fc\""},
      {R"({"maxLength": 1})", "\"\u00fc\"", "\"ab\""},
      {R"({"minimum": 3})", "3", "2.9"},
      {R"({"maximum": 3})", "3", "3.1"},
      {R"({"exclusiveMinimum": 3})", "3.1", "3"},
      {R"({"exclusiveMaximum": 3})", "2.9", "3"},
      {R"({"minimum": 18446744073709551617})", "18446744073709551617", "18446744073709551616"},
      {R"({"exclusiveMaximum": 1})", "0.99999999999999999999", "1.00000000000000000001"},
      {R"({"exclusiveMaximum": -0.1})", "-0.10000000000000000001", "-0.09999999999999999999"},
      {R"({"type": "integer"})", "123456789012345678901234567890", "0.1000000000000000055"},
  };
  for (const Case& c : cases) {
    EXPECT_TRUE(meets(c.schema, c.good)) << c.schema << c.good;
    EXPECT_FALSE(meets(c.schema, c.bad)) << c.schema << c.bad;
  }
  EXPECT_TRUE(meets(R"({"minLength": 2, "minimum": 3, "minItems": 9})",
                    "true"));  // what concerns other types is met
  for (const char* other : {"5", "\"x\"", "[1]", "null", "true"})
    EXPECT_TRUE(meets(
        R"({"required": ["a"], "properties": {"a": {"type": "null"}}, "additionalProperties": false})",
        other))
        << other;
  EXPECT_TRUE(meets(R"({"items": {"required": ["id"]}})", "[1, {\"id\": 2}]"));
  EXPECT_FALSE(meets(R"({"items": {"required": ["id"]}})", "[1, {\"ib\": 2}]"));
}

TEST(JsonSchema, ASchemaThatCannotBeUsedIsRefusedWhateverIsAnswered) {
  const auto refused = [](const std::string& schema) {
    try {
      say("{}", (R"({"schema": )" + schema + "}").c_str());
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused(R"({"properties": {"a": {"minimun": 3}}})").find("did you mean minimum?"),
            std::string::npos);  // in a member that is not answered
  EXPECT_NE(refused(R"({"items": {"pattern": "a"}})").find("\"pattern\" is unknown"),
            std::string::npos);
  for (const char* schema :
       {"1", R"({"type": "int"})", R"({"required": "a"})", R"({"minItems": -1})",
        R"({"minItems": 1.5})", R"({"items": [1]})", R"({"properties": {"a": 1}})",
        R"({"uniqueItems": 1})", R"({"minimum": "1"})", R"({"enum": 1})"})
    EXPECT_NE(refused(schema), "accepted") << schema;
}

}  // namespace
}  // namespace rollcall::reward
