// The lines to and from an environment's command, word for word, and bytes of any kind.
#include "environment/command/message.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rollcall::environment {
namespace {

Prompt prompt() {
  Prompt asked;
  asked.text = "Open \"it\".", asked.answer = "7";
  return asked;
}

Talk talk(const Prompt& of) {
  Talk made;
  made.id = "train/1/2/0/3", made.prompt = &of, made.seeds = {5, 6};
  return made;
}

TEST(EnvironmentMessage, LinesAreThoseOfTheProtocol) {
  const Prompt asked = prompt();
  Talk made = talk(asked);
  EXPECT_EQ(
      reset_line(made),
      R"({"id":"train/1/2/0/3","info":{},"op":"reset","prompt":"Open \"it\".","reference":"7","seed":5})"
      "\n");
  made.info = R"({"line":4})", made.start = R"([1,2])";
  EXPECT_EQ(
      reset_line(made),
      R"({"id":"train/1/2/0/3","info":{"line":4},"op":"reset","prompt":"Open \"it\".","reference":"7","seed":5,"state":[1,2]})"
      "\n");
  made.actions = {"left", "r\xffight"}, made.said = {"a", "b"};
  const std::string seed = std::to_string(step_seed(made.seeds, 1));
  EXPECT_EQ(step_line(made, 1), R"({"action":"r)"
                                "\xEF\xBF\xBD"
                                R"(ight","id":"train/1/2/0/3","op":"step","seed":)" +
                                    seed + R"(,"state":null,"turn":1})" + "\n");
  made.state = R"({"k":[0.5,"x"]})";
  EXPECT_NE(step_line(made, 1).find(R"("state":{"k":[0.5,"x"]})"), std::string::npos);
  EXPECT_EQ(close_line(made.id), "{\"id\":\"train/1/2/0/3\",\"op\":\"close\"}\n");
}

TEST(EnvironmentMessage, AnAnswerIsReadByNameAndType) {
  const auto full =
      parse_answer(R"({"id":"a","state":{"b":[1,null]},"text":"é","reward":-2,"done":true,)"
                   R"("correct":false,"components":{"y":3},"reason":"r","op":"step","action":"a"})",
                   {.components = {"x", "y"}});
  ASSERT_EQ(full.fault, "");
  EXPECT_EQ(full.id, "a");
  EXPECT_EQ(full.answer.state, R"({"b":[1,null]})");
  EXPECT_EQ(full.answer.text, "é");
  EXPECT_EQ(full.answer.reward, -2.0);
  EXPECT_TRUE(full.answer.done);
  EXPECT_EQ(full.answer.correct, false);
  EXPECT_EQ(full.answer.components, (std::vector<double>{0.0, 3.0}));
  EXPECT_EQ(full.answer.reason, "r");
  const auto least = parse_answer(R"({"id":"a","state":null,"text":""})", {.components = {"x"}});
  ASSERT_EQ(least.fault, "");
  EXPECT_FALSE(least.answer.state || least.answer.correct || least.answer.done);
  EXPECT_TRUE(least.answer.components.empty());
  EXPECT_EQ(parse_answer(R"({"id":"a","done":true})", {}).fault, "");
  EXPECT_EQ(parse_answer(R"({"id":"a","text":"","turn":2})", {}).turn, 2U);
  EXPECT_FALSE(parse_answer(R"({"id":"a","text":"","turn":null})", {}).turn);
  const auto told = parse_answer(R"({"id":"a","error":"no room"})", {});
  EXPECT_EQ(told.answer.loss, Loss::told);
  EXPECT_EQ(told.answer.reason, "no room");
}

/// Kinds are numbered from 1 in the order of environment.kinds, and flags are bits.
TEST(EnvironmentMessage, AnActionHasAKindAndFlags) {
  const Traits traits{.kinds = {"look", "open"}};
  const auto said = parse_answer(
      R"({"id":"a","text":"","kind":"open","flags":["repeated","void","repeated"]})", traits);
  ASSERT_EQ(said.fault, "");
  EXPECT_EQ(said.answer.kind, 2);
  EXPECT_EQ(said.answer.flags, turn_flag::repeated | turn_flag::void_turn);
  const auto every = parse_answer(
      R"({"id":"a","done":true,"flags":["invalid","void","error","patched","repeated"]})", {});
  EXPECT_EQ(every.answer.flags, 1 + 2 + 4 + 8 + 16);
  const auto none = parse_answer(R"({"id":"a","text":"","flags":[]})", traits);
  EXPECT_EQ(none.fault, "");
  EXPECT_EQ(none.answer.kind, 0);
  EXPECT_EQ(none.answer.flags, 0);
}

TEST(EnvironmentMessage, LiesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> lies{
      {"hello", "not a JSON object"},
      {R"({"text":""})", "no \"id\""},
      {R"({"id":"a"})", "no \"text\""},
      {R"({"id":"a","text":"","reward":NaN})", "its answer holds NaN"},
      {R"({"id":"a","text":"","state":[-Infinity]})", "its answer holds -Infinity"},
      {R"({"id":"a","text":"","reward":1e999})", "its answer holds 1e999"},
      {R"({"id":"a","text":"NaN"}})", "not a JSON object"},
      {R"({"id":"a","text":"","reward":"1"})", "\"reward\" is not a number"},
      {R"({"id":"a","text":"","turn":-1})", "\"turn\" is no number of a turn"},
      {R"({"id":"a","text":"","turn":"0"})", "\"turn\" is no number of a turn"},
      {R"({"id":"a","text":7})", "\"text\" is not a text"},
      {R"({"id":"a","text":"","done":1})", "\"done\" is neither"},
      {R"({"id":"a","text":"","correct":"yes"})", "\"correct\" is neither"},
      {R"({"id":"a","text":"","components":[1]})", "not an object"},
      {R"({"id":"a","text":"","components":{"lenght":1}})", "length"},
      {R"({"id":"a","text":"","components":{"length":null}})", "not a number"},
      {R"({"id":"a","text":"","kind":2})", "\"kind\" is not a text"},
      {R"({"id":"a","text":"","kind":"opne"})", "did you mean open?"},
      {R"({"id":"a","text":"","kind":""})", "which environment.kinds does not name"},
      {R"({"id":"a","text":"","flags":"void"})", "\"flags\" are not a list"},
      {R"({"id":"a","text":"","flags":[2]})", "is not a text"},
      {R"({"id":"a","text":"","flags":["void","repeatd"]})", "did you mean repeated?"},
      {R"({"id":"a","text":"","flags":["correct"]})", "there is no flag \"correct\""},
      {R"({"id":"a","error":3})", "\"error\" is not a text"},
      {R"({"id":"a","text":")" + std::string(kLongestText + 1, 'x') + "\"}", "longer than"},
      {R"({"id":"a","text":"","state":")" + std::string(kLongestText, 'x') + "\"}", "longer than"},
      {R"({"id":"a","text":"","state":)" + std::string(300'000, '[') + std::string(300'000, ']') +
           "}",
       "within each other"},
      {R"({"id":"a","text":"","rewards":1})",
       "\"rewards\", which is not read; did you mean reward?"},
      {R"({"id":"a","text":"","is_correct":true})", "did you mean correct?"},
      {R"({"id":"a","error":"no room","colour":"red"})",
       "\"colour\", which is not read; valid are"},
      {R"({"id":"a","text":"","reward":0.1,"reward":5})", "has the key \"reward\" twice"},
      {R"({"id":"a","text":"","state":{"k":[{"n":1,"n":1}]}})", "has the key \"n\" twice"}};
  for (const auto& [line, fault] : lies) {
    const auto parsed = parse_answer(line, {.components = {"length"}, .kinds = {"look", "open"}});
    EXPECT_NE(parsed.fault.find(fault), std::string::npos)
        << line.substr(0, 80) << ": " << parsed.fault;
    EXPECT_EQ(parsed.answer.loss, Loss::none);
  }
}

/// Mutations of a good answer, and bytes of any kind. ROLLCALL_FUZZ_RUNS is the long form.
TEST(EnvironmentMessage, AnyBytesAreSafe) {
  const char* given = std::getenv("ROLLCALL_FUZZ_RUNS");
  const long runs = given != nullptr ? std::atol(given) : 20'000;
  std::uint64_t random = 1;
  const auto dice = [&](std::uint64_t below) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's constants (MMIX)
    return (random >> 33U) % below;
  };
  const std::string good =
      R"({"id":"a","state":{"p":[1,2]},"text":"é","reward":0.5,"done":false,)"
      R"("correct":true,"components":{"a":1},"kind":"k","flags":["void","patched"],"reason":"r"})";
  for (long run = 0; run < runs; ++run) {
    std::string line = good;
    for (auto n = dice(6); n > 0 && !line.empty(); --n) {
      const auto at = dice(line.size());
      if (dice(3) == 0) line.erase(at, dice(9));
      else if (dice(2) == 0) line.insert(at, line.substr(dice(line.size()), dice(9)));
      else line[at] = char(dice(256));
    }
    const Prompt asked = prompt();
    Talk made = talk(asked);
    made.actions = {line};
    const auto parsed = parse_answer(line, {.components = {"a"}, .kinds = {"k"}});
    made.state = parsed.answer.state;
    const std::string asks = step_line(made, 0);  // what was read can be written
    ASSERT_EQ(asks.find('\n'), asks.size() - 1) << line;
  }
}

}  // namespace
}  // namespace rollcall::environment
