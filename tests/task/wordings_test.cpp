// Prompts in words, chosen operators and the law of digits.
#include "base/errors/error.hpp"
#include "task/task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace rollcall::task {
namespace {

TaskSection section_of(const std::string& name, const std::vector<std::string>& wording) {
  TaskSection s;
  s.name = name, s.wording = wording;
  s.train_prompts = 400, s.validation_prompts = 40, s.heldout_prompts = 40;
  s.min_level = 1, s.max_level = 6;
  return s;
}

PromptSet make(const TaskSection& s, std::uint64_t seed = 3) {
  return find_task(s.name).make(s, seed);
}

/// Prompts as they were before there were wordings, operators and digit laws: their digests are
/// those of version 0.1.
TEST(Wording, DefaultPromptsHaveNotChanged) {
  const std::map<std::string, std::string> digests = {
      {"sorting", "5e98b21fd2437fcee4cb20e56c6c59f4db0575b9f0109ebb5bae1a7662b1e555"},
      {"arithmetic", "ce0c4cb0102dd9a2c49552007e41c289b18228e66cbc2e08e2c80349f9e556b2"},
      {"countdown", "a0456077067e1a116ffe3ce4da1b9d908b9f28b5d4b61348afd5cb81cd3ccd49"}};
  for (const auto& [name, digest] : digests)
    EXPECT_EQ(make(section_of(name, {"plain"})).hash, digest) << name;
}

TEST(Wording, AsksTheSameInWords) {
  for (const char* name :
       {"sorting", "arithmetic", "countdown", "tags", "json", "instructions", "multiple_choice",
        "word_sorting", "graph", "knights_knaves", "units", "key_door", "rooms", "frozen_lake",
        "bandit", "twenty_questions", "number_dialogue", "shop", "forms"}) {
    const auto plain = make(section_of(name, {"plain"})),
               question = make(section_of(name, {"question"}));
    ASSERT_EQ(plain.train.size(), question.train.size());
    for (std::size_t i = 0; i < plain.train.size(); ++i) {
      EXPECT_EQ(plain.train[i].answer, question.train[i].answer);
      EXPECT_EQ(plain.train[i].level, question.train[i].level);
      EXPECT_NE(plain.train[i].text, question.train[i].text);
    }
  }
}

TEST(Wording, HandWorked) {
  const auto both = [](const std::string& name, const std::vector<std::string>& operators,
                       const std::string& wording) {
    auto s = section_of(name, {"plain"});
    s.operators = operators;
    const auto plain = make(s).train.front().text;
    s.wording = {wording};
    return std::pair(plain, make(s).train.front().text);
  };
  const auto operands = [](const std::string& plain, char op) {
    const auto at = plain.find(op);
    return std::pair(plain.substr(0, at), plain.substr(at + 1, plain.size() - at - 2));
  };
  for (const auto& [op, word] :
       std::map<char, std::string>{{'+', "plus"}, {'-', "minus"}, {'*', "times"}}) {
    const auto [plain, question] = both("arithmetic", {std::string(1, op)}, "question");
    const auto [a, b] = operands(plain, op);
    EXPECT_EQ(question, "What is " + a + " " + op + " " + b + "?");
    EXPECT_EQ(both("arithmetic", {std::string(1, op)}, "words").second,
              "What is " + a + " " + word + " " + b + "?");
  }
  const auto [division, asked] = both("arithmetic", {"/"}, "words");
  const auto [a, b] = operands(division, '/');
  EXPECT_EQ(asked, "What is " + a + " divided by " + b +
                       "? Give the quotient and the remainder in one word, as in 17 / 5 = 3r2.");
  const auto [digits, sort] = both("sorting", {"+"}, "question");
  EXPECT_EQ(sort,
            "Sort the digits of " + digits.substr(0, digits.size() - 1) +
                " from smallest to largest. Answer with the sorted digits only, without spaces.");
  const auto [riddle, make_it] = both("countdown", {"+"}, "question");
  const auto equals = riddle.find('=');
  EXPECT_EQ(make_it.find("Make " + riddle.substr(equals + 1, riddle.size() - equals - 2) +
                         " from the numbers " + riddle.substr(0, riddle.find(' ')) + ", "),
            0U)
      << riddle << make_it;
}

TEST(Wording, NoProblemIsInTwoSplitsInOtherWords) {
  auto plain = section_of("arithmetic", {"plain"}),
       words = section_of("arithmetic", {"question", "words"});
  plain.digits = words.digits = {1};  // 400 problems, so that the splits would meet
  plain.train_prompts = words.train_prompts = 300;
  std::map<std::string, Split> home;
  const auto numbers = [](const Prompt& p) {
    std::string digits;
    for (const char c : p.text.substr(0, p.text.find_first_of("=?")))
      if (c >= '0' && c <= '9') digits += c;
    return p.domain + digits;
  };
  std::set<std::string> kinds;
  for (const auto& s : {plain, words}) {
    const auto set = make(s);
    for (const Split split : {Split::train, Split::validation, Split::heldout}) {
      for (const Prompt& p : set.of(split)) {
        EXPECT_EQ(home.try_emplace(numbers(p), split).first->second, split) << p.text;
        kinds.insert(p.text.find(" plus ") != std::string::npos ? "words"
                     : p.text.find(" + ") != std::string::npos  ? "question"
                                                                : "");
      }
    }
  }
  EXPECT_TRUE(kinds.contains("words") && kinds.contains("question"));  // both were drawn
}

TEST(DigitLaw, DrawsEitherOperandsDigitsFromTheList) {
  auto s = section_of("arithmetic", {"question"});
  s.operators = {"+", "-"}, s.digits = {2, 3, 3, 4};  // so many problems that none has to be drawn
                                                      // again
  s.train_prompts = 8000;
  std::map<std::pair<std::size_t, std::size_t>, int> seen;
  std::map<std::string, int> operators;
  for (const Prompt& p : make(s).train) {
    long long a = 0, b = 0;
    char op = 0;
    ASSERT_EQ(std::sscanf(p.text.c_str(), "What is %lld %c %lld?", &a, &op, &b), 3) << p.text;
    EXPECT_EQ(p.answer, std::to_string(op == '+' ? a + b : a - b));
    EXPECT_EQ(p.level, int(std::to_string(std::max(a, b)).size()));
    ++seen[{std::to_string(a).size(), std::to_string(b).size()}];
    ++operators[p.domain];
  }
  const std::map<std::size_t, double> law = {{2, 0.25}, {3, 0.5}, {4, 0.25}};
  for (const auto& [x, px] : law)
    // five standard deviations at 0.25
    for (const auto& [y, py] : law)
      EXPECT_NEAR(seen[std::pair(x, y)] / 8000.0, px * py, 0.025) << x << " " << y;
  EXPECT_NEAR(operators["+"] / 8000.0, 0.5, 0.028);
  EXPECT_EQ(operators.size(), 2U);
}

std::string refusal(TaskSection s) {
  try {
    make(s);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Wording, RefusesByName) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal(section_of("arithmetic", {"plain", "qestion"})), "did you mean question?");
  has(refusal(section_of("countdown", {"words"})), "unknown to countdown");
  has(refusal(section_of("sorting", {})), "task.wording is empty");
  auto s = section_of("arithmetic", {"plain"});
  s.operators = {"%"};
  has(refusal(s), "task.operators holds \"%\"");
  s.operators = {};
  has(refusal(s), "task.operators is empty");
}

}  // namespace
}  // namespace rollcall::task
