// Verdicts on spellings that are easily misjudged, most of them other values that look right
// (verdicts.tsv: verdict, reference, answer).
#include "reward/math/decide.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rollcall::reward::math {
namespace {

struct Row {
  std::string verdict, reference, answer;
};

std::vector<Row> rows() {
  std::ifstream file(ROLLCALL_SOURCE_DIR "/tests/reward/math/verdicts.tsv");
  std::vector<Row> all;
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    Row row;
    std::getline(cells, row.verdict, '\t');
    std::getline(cells, row.reference, '\t');
    std::getline(cells, row.answer, '\t');
    all.push_back(std::move(row));
  }
  return all;
}

TEST(Verdicts, OfTheTable) {
  constexpr const char* kNames[] = {"equal", "different", "undecided"};
  const auto all = rows();
  EXPECT_GT(all.size(), 900U);
  for (const Row& row : all) {
    const Verdict verdict = decide(row.reference, row.answer).verdict;
    EXPECT_EQ(kNames[int(verdict.answer)], row.verdict)
        << row.answer << " for " << row.reference << ": " << verdict.reason;
  }
}

/// 0/0 in disguise, in each place where an answer may stand: no right answer to anything.
TEST(Verdicts, NoAnswerIsRightEverywhere) {
  constexpr const char* kUndefined[] = {
      "\\frac{|\\pi|-\\pi}{|e|-e}",
      "\\frac{\\lfloor e\\rfloor-2}{\\lfloor\\pi\\rfloor-3}",
      "\\frac{\\sqrt[3]{7+5\\sqrt2}-1-\\sqrt2}{\\sqrt2+\\sqrt3-\\sqrt{5+2\\sqrt6}}",
      "\\frac{|x|-\\sqrt{x^2}}{|y|-\\sqrt{y^2}}",
      "(|\\pi|-\\pi)(|e|-e)^{-1}",
      "\\frac{|\\pi|-\\pi}{\\tan(|e|-e)}",
      "(|\\pi|-\\pi)\\cot(|e|-e)"};
  for (const std::string answer : kUndefined) {
    for (const std::string reference : {"7", "0", "1", "50\\%", "3\\sqrt2", "\\frac{\\pi}{3}",
                                        "x^2-3x+\\sin x", "5\\text{ km}", "1+2i"})
      EXPECT_EQ(decide(reference, answer).verdict.answer, Answer::different)
          << answer << " for " << reference;
    EXPECT_NE(decide("(1,2)", "(" + answer + "," + answer + ")").verdict.answer, Answer::equal);
    EXPECT_NE(decide("\\{1,2\\}", "\\{" + answer + "," + answer + "\\}").verdict.answer,
              Answer::equal);
    EXPECT_NE(decide("(-\\infty,3)", "(-\\infty," + answer + ")").verdict.answer, Answer::equal);
    EXPECT_NE(decide("\\pm3", "\\pm" + answer).verdict.answer, Answer::equal);
    EXPECT_NE(decide("y=2x+1", "y=" + answer).verdict.answer, Answer::equal);
    EXPECT_NE(decide("1:2", answer + ":" + answer).verdict.answer, Answer::equal);
  }
}

}  // namespace
}  // namespace rollcall::reward::math
