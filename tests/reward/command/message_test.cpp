// Lines to and from a verifier's command: what is right is taken, what is wrong is told by name,
// and any bytes are safe.
#include "reward/command/message.hpp"

#include "base/text/json.hpp"
#include "text/answer/accepted_answers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

namespace rollcall::reward {
namespace {

std::string fault(const std::string& line, const std::vector<std::string>& components = {}) {
  return parse_reply(line, components).fault;
}
bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Message, ASampleIsOneLineWhateverItHolds) {
  const std::string line = to_line({"train/1/2/0/3", "2 + 2?\n", "4\xFF\"", "4"});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object.at("id"), "train/1/2/0/3");
  EXPECT_EQ(object.at("prompt"), "2 + 2?\n");
  EXPECT_EQ(object.at("response"), "4\xEF\xBF\xBD\"");
}

TEST(Message, AnAnswerIsATextOrAListAsItsRowHadIt) {
  const auto answer = [](const std::string& reference) {
    return nlohmann::json::parse(to_line({"a", "", "", reference})).at("answer");
  };
  const std::string text = R"(["a", "b"])";
  EXPECT_EQ(answer(text::accepting(text)), text);
  EXPECT_EQ(answer(text::accepting(std::vector<std::string>{"a", "b"})),
            (nlohmann::json{"a", "b"}));
  EXPECT_EQ(answer(text::accepting(std::vector<std::string>{"4"})), nlohmann::json::array({"4"}));
}

TEST(Message, AVerdictIsTaken) {
  const auto answered = parse_reply(
      R"({"id":"a","score":0.5,"correct":true,"components":{"style":-1,"length":3},"reason":"good","extra":1})",
      {"length", "style"});
  EXPECT_EQ(answered.fault, "");
  EXPECT_EQ(answered.id, "a");
  EXPECT_TRUE(answered.reply.correct);
  EXPECT_EQ(answered.reply.score, 0.5);
  EXPECT_EQ(answered.reply.components, (std::vector<double>{3, -1}));
  const auto none = parse_reply(R"({"id":"a","undecided":true})", {"length"});
  EXPECT_TRUE(none.reply.undecided && !none.reply.ended && none.fault.empty());
  EXPECT_TRUE(parse_reply(R"({"id":"a","undecided":true,"ended":true})", {}).reply.ended);
  EXPECT_EQ(none.reply.components, std::vector<double>{0});
  const auto failed = parse_reply(R"({"id":"a","undecided":true,"failed":true})", {}).reply;
  EXPECT_TRUE(failed.failed && !failed.ended && failed.undecided);
  const auto extracted = [](const std::string& value) {
    return parse_reply(R"({"id":"a","score":1,"correct":true,"extracted":)" + value + "}", {});
  };
  EXPECT_EQ(extracted("\"42\"").reply.extracted, "42");
  EXPECT_EQ(extracted("null").reply.extracted + extracted("null").fault, "");
  EXPECT_NE(extracted("42").fault.find("\"extracted\" is neither a text nor null"),
            std::string::npos);
}

TEST(Message, EveryMistakeHasItsWords) {
  EXPECT_TRUE(says(fault("hello"), "is not a JSON object: \"hello\""));
  EXPECT_TRUE(says(fault("[1]"), "is not a JSON object"));
  EXPECT_TRUE(says(fault(R"({"score":1})"), "has no \"id\""));
  EXPECT_TRUE(says(fault(R"({"id":"a"})"), "no \"score\""));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":"1"})"), "\"score\" is not a number"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":1e999,"correct":true})"), "its reply holds 1e999"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":NaN,"correct":true})"), "its reply holds NaN"));
  EXPECT_TRUE(says(fault(R"({"score":1,"components":{"a":-nan}})"), "its reply holds -nan"));
  EXPECT_TRUE(says(fault(R"({"id":"NaN \" inf","nano":nano})"), "is not a JSON object"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":0,"correct":true,"resaon":"r"})"),
                   "the key \"resaon\", which is not read; did you mean reason?"));
  EXPECT_TRUE(says(fault(R"({"id":"a","scores":1,"correct":true})"), "did you mean score?"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":0,"correct":true,"score":1})"),
                   "its reply has the key \"score\" twice"));
  EXPECT_TRUE(says(fault(R"({"id":"a","id":"b","score":0,"correct":true})"), "\"id\" twice"));
  EXPECT_TRUE(says(
      fault(R"({"id":"a","extra":)" + std::string(300'000, '[') + std::string(300'000, ']') + "}"),
      "within each other"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":1})"), "no \"correct\""));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":1,"correct":1})"), "neither true nor false"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":1,"correct":true})", {"style"}),
                   "lacks the component \"style\""));
  EXPECT_TRUE(
      says(fault(R"({"id":"a","score":1,"correct":true,"components":{"stile":1}})", {"style"}),
           "did you mean style"));
  EXPECT_TRUE(
      says(fault(R"({"id":"a","score":1,"correct":true,"components":{"style":"x"}})", {"style"}),
           "\"style\" is not a number"));
  EXPECT_TRUE(says(fault(R"({"id":"a","score":1,"correct":true,"components":[1]})", {"style"}),
                   "not an object"));
  EXPECT_TRUE(
      says(fault(R"({"id":"a","score":1,"correct":true,"reason":2})"), "\"reason\" is not a text"));
  EXPECT_TRUE(says(fault(R"({"id":"a","undecided":true,"ended":"yes"})"),
                   "\"ended\" is neither true nor false"));
}

TEST(Message, AReasonIsCutBetweenCharacters) {
  const std::string long_reason = std::string(kLongestReason - 1, 'x') + "é and more";
  const auto answered = parse_reply(
      nlohmann::json{{"id", "a"}, {"score", 1}, {"correct", true}, {"reason", long_reason}}.dump(),
      {});
  EXPECT_EQ(answered.reply.reason, std::string(kLongestReason - 1, 'x') + "...");
}

TEST(Message, LinesComeOutWhole) {
  EXPECT_TRUE(rc::check("however the bytes are cut", [](const std::vector<std::string>& pieces) {
    Lines lines;
    std::string all, again;
    for (const auto& piece : pieces) {
      all += piece, lines.add(piece);
      while (const auto line = lines.next()) again += *line + "\n";
    }
    RC_ASSERT(again + std::string(lines.rest()) == all);
    RC_ASSERT(lines.rest().find('\n') == std::string::npos);
  }));
  Lines flood;
  flood.add(std::string(kLongestReply, 'x'));
  EXPECT_FALSE(flood.too_long());
  flood.add("x");
  EXPECT_TRUE(flood.too_long());
}

/// Mutations of a good reply, and bytes of any kind. ROLLCALL_FUZZ_RUNS is the long form.
TEST(Message, AnyBytesAreSafe) {
  const char* given = std::getenv("ROLLCALL_FUZZ_RUNS");
  const long runs = given != nullptr ? std::atol(given) : 20'000;
  std::uint64_t state = 1;
  const auto dice = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's constants (MMIX)
    return (state >> 33U) % below;
  };
  const std::string good =
      R"({"id":"train/1/2/0/3","score":0.5,"correct":true,"components":{"a":1},"reason":"é","undecided":false})";
  for (long run = 0; run < runs; ++run) {
    std::string line = dice(8) == 0 ? std::string(dice(40), ' ') : good;
    for (auto n = dice(6); n > 0 && !line.empty(); --n) {
      const auto at = dice(line.size());
      if (dice(3) == 0) line.erase(at, dice(9));
      else if (dice(2) == 0) line.insert(at, line.substr(dice(line.size()), dice(9)));
      else line[at] = char(dice(256));
    }
    const auto answered = parse_reply(line, {"a"});
    ASSERT_TRUE(!answered.fault.empty() || (!answered.reply.components.empty() &&
                                            answered.reply.reason.size() <= kLongestReason + 3))
        << line;
  }
}

}  // namespace
}  // namespace rollcall::reward
