// The text, answer and level of each built-in task, checked against a second way to compute them.
#include "task/task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace rollcall::task {
namespace {

std::vector<Prompt> train_of(const std::string& name, std::int64_t low, std::int64_t high) {
  TaskSection s;
  s.train_prompts = 2000, s.validation_prompts = 0, s.heldout_prompts = 1;
  s.min_level = low, s.max_level = high, s.tail_exponent = 0;
  return find_task(name).make(s, 4).train;
}

TEST(Sorting, AnswerIsTheSortedDigits) {
  for (const Prompt& p : train_of("sorting", 3, 12)) {
    ASSERT_EQ(p.text.size(), std::size_t(p.level) + 1);
    EXPECT_EQ(p.text.back(), '>');
    EXPECT_TRUE(std::is_sorted(p.answer.begin(), p.answer.end()));
    EXPECT_TRUE(
        std::is_permutation(p.answer.begin(), p.answer.end(), p.text.begin(), p.text.end() - 1))
        << p.text << p.answer;
    EXPECT_EQ(p.solution, p.answer);
  }
}

TEST(Arithmetic, AnswersAreRight) {
  std::map<char, int> seen;
  std::map<std::string, int> longer;
  for (const Prompt& p : train_of("arithmetic", 1, 8)) {
    std::istringstream in(p.text);
    std::int64_t a = 0, b = 0, q = 0, r = 0;
    char op = 0, sign = 0;
    ASSERT_TRUE(in >> a >> op >> b >> sign && sign == '=') << p.text;
    ++seen[op];
    EXPECT_EQ(p.level, int(std::max(std::to_string(a).size(), std::to_string(b).size()))) << p.text;
    ++longer[std::to_string(a).size() >= std::to_string(b).size() ? "left" : "right"];
    std::istringstream answer(p.answer);
    if (op == '/') {
      char mark = 0;
      ASSERT_TRUE(answer >> q >> mark >> r && mark == 'r') << p.answer;
      EXPECT_TRUE(q * b + r == a && r >= 0 && r < b) << p.text << p.answer;
    } else {
      answer >> q;
      EXPECT_EQ(q, op == '+' ? a + b : op == '-' ? a - b : a * b) << p.text << p.answer;
    }
    EXPECT_EQ(p.solution, p.answer);
  }
  // five standard deviations
  for (const char op : {'+', '-', '*', '/'}) EXPECT_NEAR(seen[op], 500, 97) << op;
  EXPECT_GT(longer["left"], 0);
  EXPECT_GT(longer["right"], 0);
}

TEST(Code, TestsStateWhatTheOperationsGive) {
  for (const Prompt& p : train_of("code", 1, 8)) {
    ASSERT_EQ(p.text.size(), 2 * std::size_t(p.level) + 1) << p.text;
    std::string asserts;
    for (const std::int64_t argument : {0, 1, 5, -7, 12}) {
      std::int64_t value = argument;
      std::istringstream in(p.text);
      char sign = 0;
      for (std::int64_t operand = 0; in >> sign && sign != '>' && in >> operand;) {
        if (sign == '+') value += operand;
        else if (sign == '-') value -= operand;
        else value *= operand;
      }
      asserts += "assert f(" + std::to_string(argument) + ")==" + std::to_string(value) + "\\n";
    }
    EXPECT_EQ(p.answer, R"({"code":")" + asserts + R"(","type":"assert"})") << p.text;
  }
}

TEST(Countdown, PromptStatesNumbersAndTarget) {
  std::map<char, int> operators;
  for (const Prompt& p : train_of("countdown", 3, 6)) {
    EXPECT_EQ(p.text, p.answer + ":");
    std::istringstream in(p.answer);
    std::vector<std::int64_t> numbers;
    std::int64_t value = 0, target = 0;
    char sign = 0;
    while (in.peek() != '=' && in >> value) numbers.push_back(value);
    ASSERT_TRUE(in >> sign >> target && sign == '=') << p.answer;
    EXPECT_EQ(int(numbers.size()), p.level);
    for (const auto n : numbers)
      EXPECT_TRUE((n >= 1 && n <= 10) || n == 25 || n == 50 || n == 75 || n == 100) << n;
    EXPECT_TRUE(target >= 1 && target <= 999 &&
                std::find(numbers.begin(), numbers.end(), target) == numbers.end())
        << p.answer;
    for (const char c : p.solution) ++operators[c];
  }
  // that solutions are right: tests/reward/tasks_test.cpp
  for (const char op : std::string("+-*/()")) EXPECT_GT(operators[op], 50) << op;
}

}  // namespace
}  // namespace rollcall::task
