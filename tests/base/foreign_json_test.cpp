// JSON of others: keys are counted by their colons, so that one that stands twice is found without
// a
// second reading.
#include "base/text/foreign_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace rollcall {
namespace {

using Json = nlohmann::json;

std::string fault_in(const std::string& text) {
  std::string fault;
  (void)parse_foreign_value<Json>(text, fault);
  return fault;
}

TEST(ForeignJson, AKeyThatStandsTwiceIsNamed) {
  EXPECT_EQ(fault_in(R"({"question": "a", "question": "b"})"), "\"question\" stands twice");
  EXPECT_EQ(fault_in(R"([{"a": {"b": 1, "c": {}, "b": 1}}])"), "\"b\" stands twice");
  EXPECT_EQ(fault_in(R"({"a": 1, "\u0061": 2})"), "\"a\" stands twice") << "however it is written";
  EXPECT_EQ(fault_in(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"), "")
      << "in objects of their own";
  EXPECT_EQ(fault_in(R"({"a:b": "c: \"d\": e", "f": "\\"})"), "") << "colons within texts";
}

/// Users read what is wrong, and not the number of the library's exception.
TEST(ForeignJson, FaultsArePlainWords) {
  const auto said = [](const std::string& text) {
    try {
      (void)Json::parse(text).at("key").get<std::string>();
    } catch (const std::exception& fault) {
      return fault_of(fault);
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said(""), "it is empty");
  EXPECT_EQ(said("{\"key\": "), "its JSON is cut off after byte 8");
  EXPECT_EQ(said("{\"key\" 1}"), "it is not JSON at byte 8");
  EXPECT_EQ(said("{\"key\": 1}"), "type must be string, but is number");
  EXPECT_EQ(said("{}"), "key 'key' not found");
  EXPECT_EQ(fault_of(std::runtime_error("[1] of our own")), "[1] of our own");
}

TEST(ForeignJson, DepthIsBounded) {
  const auto nested = [](int depth) {
    return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']');
  };
  EXPECT_EQ(fault_in(nested(kJsonDepth)), "");
  EXPECT_EQ(fault_in(nested(kJsonDepth + 1)), "its brackets nest too deep");
  EXPECT_EQ(fault_in("{"), "it is not JSON");
}

Json any_value(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 2);
  if (kind == 0) return *rc::gen::arbitrary<std::string>();
  if (kind == 1) return *rc::gen::arbitrary<int>();
  Json value = kind == 2 ? Json::array() : Json::object();
  const int parts = *rc::gen::inRange(0, 4);
  for (int i = 0; i < parts; ++i) {
    if (kind == 2) value.push_back(any_value(depth - 1));
    else value["\"k\\: " + std::to_string(*rc::gen::inRange(0, 6))] = any_value(depth - 1);
  }
  return value;
}

TEST(ForeignJson, KeysOfATextAreMembersOfItsValue) {
  EXPECT_TRUE(rc::check("as many colons outside texts as members", [] {
    const Json value = any_value(3);
    const std::string text = value.dump(*rc::gen::inRange(-1, 3), ' ', *rc::gen::arbitrary<bool>(),
                                        Json::error_handler_t::replace);
    const Json read = Json::parse(text);
    RC_ASSERT(outline_of(text).keys == members_of(value));
    RC_ASSERT(members_of(read) == members_of(value));
  }));
}

}  // namespace
}  // namespace rollcall
