// The reader of announcements: every row of jobs/announcements.md, and what must hold of any text.
#include "text/conclusion/final_answer.hpp"

#include "text/answer/extract.hpp"
#include "text/chat/thoughts.hpp"
#include "text/conclusion/prose.hpp"

#include "base/files/file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ctime>
#include <random>

namespace rollcall::text {
namespace {

std::string found(std::string_view response, bool finished = true) {
  const auto answer = final_answer(response, finished);
  return !answer ? "(none)" : answer->complete ? answer->text : "(cut) " + answer->text;
}

/// A cell of the table: what stands between its backticks, with line breaks written as in the page.
std::string cell(std::string_view written) {
  const std::size_t first = written.find_first_not_of('`'), last = written.find_last_not_of('`');
  if (first == std::string_view::npos) return {};
  std::string_view inner = written.substr(first, last - first + 1);
  // CommonMark, code spans
  if (first > 1 && inner.starts_with(' ') && inner.ends_with(' '))
    inner = inner.substr(1, inner.size() - 2);
  return replaced(replaced(inner, "⏎", "\n"), "\\|", "|");
}

struct Row {
  std::string response, answer;
};

std::vector<Row> rows_of(const std::string& page) {
  std::vector<Row> rows;
  for (const std::string_view line : split(page, "\n")) {
    if (!line.starts_with("| `")) continue;
    const auto cells = split(line.substr(2, line.size() - 4), " | ");
    if (cells.size() == 2) rows.push_back({cell(cells[0]), cell(cells[1])});
  }
  return rows;
}

TEST(Announcement, EveryRowOfThePage) {
  const auto rows =
      rows_of(read_file(std::filesystem::path(ROLLCALL_SOURCE_DIR) / "jobs/announcements.md"));
  EXPECT_GT(rows.size(), 200U);
  for (const auto& [response, answer] : rows) EXPECT_EQ(found(response), answer) << response;
}

TEST(Announcement, ATruncatedResponseHasAnAnswerWhereItVisiblyEnds) {
  for (const auto& [response, answer] : std::vector<std::pair<const char*, const char*>>{
           {"The answer is 42. And", "42"},
           {"The answer is 42", "(cut) 42"},
           {"The answer is 42.", "(cut) 42"},
           {"Answer: 42\nSo", "42"},
           {"The answer is $42$", "(cut) 42"},
           {"The answer is 42. Wait, the answer is 4", "(cut) 4"},
           {"so x = 4. Then we", "(cut) x = 4"},
           {"\\boxed{42} and", "42"},
           {"<answer>42</answer>", "42"},
           {"\\boxed{4", "(cut) \\boxed{4"}})
    EXPECT_EQ(found(response, false), answer) << response;
}

/// Whatever leads into an answer, is put around it, or is remarked behind it.
RC_GTEST_PROP(Announcement, LeadsMarksAndRemarksChangeNothing, ()) {
  const auto one_of = [](std::vector<std::string> all) {
    return *rc::gen::elementOf(std::move(all));
  };
  const std::string number = std::to_string(*rc::gen::inRange(2, 100000));
  const std::string begin =
      one_of({"The answer is ", "So the final answer is ", "**Answer:** ",
              "Answer: ", "Thus, our answer is ", "Hence the correct answer is ",
              "### Final Answer\n\n", "Final answer - "});
  const std::string lead =
      begin.ends_with("is ")
          ? one_of({"", "exactly ", "therefore ", "simply ", "equal to ", "given by ", "of course ",
                    "a total of ", "approximately ", "indeed "})
          : "";
  const auto [open, close] = *rc::gen::element(
      std::pair("", ""), std::pair("**", "**"), std::pair("*", "*"), std::pair("`", "`"),
      std::pair("\"", "\""), std::pair("$", "$"), std::pair("\\(", "\\)"), std::pair("“", "”"));
  const std::string behind =
      one_of({"", ".", "!", ", as shown above.", " (see above).", " because it is.", "; done.",
              " — nice!", ", which is even.", " since we checked.", " ✓", ". I hope it is correct.",
              ".\n\nThe answer is verified.", " in total."});
  const std::string response =
      "We add 17 and 4 first.\n\n" + begin + lead + open + number + close + behind;
  RC_ASSERT(found(response) == number);
}

/// Two values that are offered side by side come out as two, so that neither counts alone.
RC_GTEST_PROP(Announcement, AHedgeStaysAHedge, ()) {
  const auto one_of = [](std::vector<std::string> all) {
    return *rc::gen::elementOf(std::move(all));
  };
  const std::string a = std::to_string(*rc::gen::inRange(2, 999)),
                    b = std::to_string(*rc::gen::inRange(1000, 9999));
  const auto [open, close] = *rc::gen::element(std::pair("", ""), std::pair("$", "$"),
                                               std::pair("**", "**"), std::pair("\\boxed{", "}"));
  const std::string begin =
      one_of({"The answer is ", "Answer: ", "It is ", "The answer is either "});
  const std::string between =
      one_of({" or ", ", or ", ", or maybe ", " or perhaps ", " or possibly "});
  const std::string answer = found(begin + open + a + close + between + open + b + close +
                                   one_of({"", ".", ", I think."}));
  RC_ASSERT(answer == a + " or " + b);
}

/// Nothing that is said about an answer replaces it.
TEST(Announcement, WhatIsSaidAboutAnAnswerIsNone) {
  for (const char* about :
       {"The answer is confirmed by substituting back.", "The answer is correct.",
        "The answer is rounded to 2 decimal places.", "This answer is larger than 40.",
        "If the answer is 7, tell me.", "One might think the answer is 41.",
        "The answer is 100% correct.", "My confidence in this answer is 90%.",
        "A common wrong answer is 41.", "The answer is a multiple of 7.",
        "The answer is shown above.", "Please note the answer is not 41."})
    EXPECT_EQ(found(fmt::format("The answer is 42. {}", about)), "42") << about;
}

TEST(Thoughts, AreNotSaid) {
  std::string kept;
  EXPECT_EQ(spoken("<think>a</think>b", kept), "\nb");
  EXPECT_EQ(spoken("a</think>b", kept), "\nb");
  EXPECT_EQ(spoken("<think>a", kept), "<think>a");
  EXPECT_EQ(spoken("<think>a</think> ", kept), "a\n");
  EXPECT_EQ(without_thoughts("<think>a</think> ", kept), "\n ");
  EXPECT_EQ(spoken("x<thinking>a</thinking>b<think>c</think>d", kept), "x\nb\nd");
  EXPECT_TRUE(ends_in_thought("<think>a"));
  EXPECT_FALSE(ends_in_thought("<think>a</think>"));
}

const std::vector<std::string> kPieces = {"The answer is ",
                                          "answer",
                                          " is ",
                                          "42",
                                          "$",
                                          "$$",
                                          "\\(",
                                          "\\)",
                                          "\\boxed{",
                                          "}",
                                          "{",
                                          "\\frac",
                                          "\\begin{x}",
                                          "\\end{x}",
                                          "**",
                                          "*",
                                          "`",
                                          "\"",
                                          "'",
                                          "(",
                                          ")",
                                          "\n",
                                          "\n- ",
                                          "1. ",
                                          "####",
                                          ", ",
                                          " or ",
                                          " and ",
                                          ". ",
                                          "Wait, ",
                                          "not ",
                                          "but ",
                                          "which is ",
                                          "<think>",
                                          "</think>",
                                          "<answer>",
                                          "</answer>",
                                          "because ",
                                          "x = ",
                                          "≈",
                                          "—",
                                          "答案是",
                                          "\xFF",
                                          "\xE2",
                                          "🎉",
                                          "~~",
                                          "if ",
                                          "so ",
                                          "of "};

/// Any bytes: the same answer twice, no longer than what was said, and in time that grows with the
/// length alone.
TEST(Announcement, TakesAnyBytesInLinearTime) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 10000; ++run) {
    std::string text;
    for (std::size_t pieces = random() % 40; pieces > 0; --pieces)
      text +=
          random() % 6 == 0 ? std::string(1, char(random())) : kPieces[random() % kPieces.size()];
    const std::string answer = found(text);
    ASSERT_EQ(answer, found(text)) << text;
    ASSERT_LE(answer.size(), 4 * text.size() + 64) << text;
  }
  for (const auto& a : kPieces)
    for (const char* b : {"is ", "answer "}) {
      std::string text;
      while (text.size() < 60'000) text += a + b;
      const std::clock_t begin = std::clock();
      found(text);
      // some ms, where a square would take a minute
      EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 0.5) << a << b << " repeated";
    }
}

}  // namespace
}  // namespace rollcall::text
