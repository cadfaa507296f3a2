// Verdicts worked by hand, a few rows a category; what cannot be told; what is no mathematics.
#include "reward/math/decide.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rollcall::reward::math {
namespace {

struct Row {
  const char *category, *reference, *answer;
  Answer expected = Answer::equal;
};

constexpr Answer kDifferent = Answer::different;

constexpr Row kRows[] = {
    {"integers", "7", "+7"},
    {"integers", "7", "007."},
    {"integers", "-7",
     "\xE2\x88\x92"
     "7"},
    {"integers", "12", "2 \\cdot 6"},
    {"integers", "7", "-7", kDifferent},
    {"decimals", "0.5", ".50"},
    {"decimals", "0.1\\overline{6}", "1/6"},
    {"decimals", "1/3", "0.3333333333333333333333", kDifferent},  // a decimal is the number it says
    {"decimals", "0.9\\overline{9}", "1"},
    {"fractions", "\\frac{-1}{2}", "-\\frac12"},
    {"fractions", "\\dfrac{10}{4}", "5/2"},
    {"fractions", "\\frac{1}{2}", "\\frac{2}{1}", kDifferent},
    {"mixed numbers", "3\\frac{1}{2}", "7/2"},
    {"mixed numbers", "-1 3/4", "-1.75"},
    {"mixed numbers", "3\\frac{1}{2}", "3/2", kDifferent},
    {"percents", "12.5\\%", "1/8"},
    {"percents", "12.5\\%", "12.5"},
    {"percents", "12.5\\%", "0.0125", kDifferent},
    {"units", "2 \\text{ km}", "2000\\text{ m}"},
    {"units", "2 \\text{ m}^2", "20000 \\text{ cm}^2"},
    {"units", "36 \\text{ km/h}", "10 \\text{ m/s}"},
    {"units", "2 \\text{ kg}", "2 \\text{ m}", kDifferent},
    {"units", "45^\\circ", "\\frac{\\pi}{4}"},
    {"units", "\\$4.50", "4.5 dollars"},
    {"units", "\\text{3 apples}", "3"},
    {"radicals", "\\sqrt{8}", "2\\sqrt2"},
    {"radicals", "\\sqrt{5+2\\sqrt6}", "\\sqrt2+\\sqrt3"},
    {"radicals", "\\frac{1}{\\sqrt2-1}", "1+\\sqrt{2}"},
    {"radicals", "\\sqrt[3]{-8}", "-2"},
    {"radicals", "\\sqrt{x^2}", "x", kDifferent},  // differs at negative x
    {"radicals", "\\sqrt{10^{30}+1}", "10^{15}", kDifferent},
    {"powers", "8^{2/3}", "4"},
    {"powers", "2^{x+1}", "2 \\cdot 2^x"},
    {"powers", "2^3^2", "512"},
    {"powers", "x**2", "x \\cdot x"},
    {"powers", "-2^2", "4", kDifferent},
    {"logarithms", "\\log_2 8", "3"},
    {"logarithms", "\\log 1000", "3"},  // base 10
    {"logarithms", "\\log(e^2)", "2"},  // base e
    {"logarithms", "\\ln 6", "\\ln 2+\\ln 3"},
    {"logarithms", "\\ln 5", "\\ln 2+\\ln 3", kDifferent},
    {"trigonometry", "\\sin^2 x+\\cos^2 x", "1"},
    {"trigonometry", "\\sin 75^\\circ", "\\frac{\\sqrt6+\\sqrt2}{4}"},
    {"trigonometry", "\\arctan\\frac12+\\arctan\\frac13", "\\frac{\\pi}{4}"},
    {"trigonometry", "\\sin^{-1} 1", "\\pi/2"},
    {"trigonometry", "\\sin x", "\\cos x", kDifferent},
    {"constants", "\\pi", "22/7", kDifferent},
    {"constants", "\\pi", "pi"},
    {"constants", "e^{\\ln 7}", "7"},
    {"complex numbers", "(1+2i)(3-i)", "5+5i"},  // 3 - i + 6i + 2
    {"complex numbers", "e^{i\\pi/2}", "i"},
    {"complex numbers", "\\sqrt{-9}", "3i"},
    {"complex numbers", "1+2i", "1-2i", kDifferent},
    {"intervals", "(0,1]", "\\left(0, \\frac22\\right]"},
    {"intervals", "[1,2]\\cup[2,5)", "[1,5)"},
    {"intervals", "(0,1]", "(0,1)", kDifferent},
    {"sets", "\\{1,2,3\\}", "\\{3,2,1\\}"},
    {"sets", "\\{1,2\\}", "\\{1,1,2\\}"},
    {"sets", "2\\pm\\sqrt3", "2-\\sqrt3, 2+\\sqrt3"},
    {"sets", "\\{1,3\\}\\cup\\{2\\}", "\\{1,2,3\\}"},
    {"sets", "1, 2", "1, 2, 3", kDifferent},
    {"sets", "\\emptyset", "\\text{no solution}"},
    {"tuples", "(1,-2)", "(1.0, -2)"},
    {"tuples", "(1,2)", "(2,1)", kDifferent},
    {"tuples", "(1,234)", "(1, 234)"},  // no thousands separator there
    {"matrices", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
     "\\begin{bmatrix}1&2\\\\3&\\sqrt{16}\\end{bmatrix}"},
    {"matrices", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
     "\\begin{pmatrix}1&2&3&4\\end{pmatrix}", kDifferent},
    {"equations", "y=2x+1", "4x-2y+2=0"},
    {"equations", "xy=1", "y=\\frac1x"},
    {"equations", "x=5", "5"},
    {"equations", "f(x)=x+1", "1+x"},
    {"equations", "y=2x+1", "y=2x-1", kDifferent},
    {"equations", "x=5", "y=5", kDifferent},
    {"inequalities", "x>3", "(3,\\infty)"},
    {"inequalities", "3-2x\\ge 1", "x\\le 1"},
    {"inequalities", "1<x\\le 2", "2\\ge x>1"},
    {"inequalities", "x\\ne 2", "(-\\infty,2)\\cup(2,\\infty)"},
    {"inequalities", "x>3", "x<3", kDifferent},
    {"inequalities", "x+y<1", "2>2x+2y"},
    {"inequalities", "x^2<4", "-2<x<2"},
    {"inequalities", "x^2\\ge 2x+3", "(-\\infty,-1]\\cup[3,\\infty)"},  // (x - 3)(x + 1)
    {"inequalities", "1-x-x^2>0", "\\frac{-1-\\sqrt5}{2}<x<\\frac{\\sqrt5-1}{2}"},
    {"inequalities", "x^2+1>0", "(-\\infty,\\infty)"},
    {"inequalities", "(x-1)^2\\le 0", "[1,1]"},
    {"inequalities", "(x-1)^2\\ne 0", "x\\ne 1"},
    {"inequalities", "x^2<4", "-2\\le x<2", kDifferent},
    {"inequalities", "x^2>4", "x>2", kDifferent},
    {"inequalities", "x^2<-1", "-1<x<1", kDifferent},
    {"inequalities", "x^2<4", "y^2<4", kDifferent},
    {"polynomials", "(x+1)^3", "x^3+3x^2+3x+1"},
    {"polynomials", "\\frac{x^2-1}{x-1}", "x+1"},
    {"polynomials", "x^2-y^2", "(x-y)(x+y)"},
    {"polynomials", "x^2+1", "x^2-1", kDifferent},
    {"words", "\\text{Yes}", "yes"},
    {"words", "(B)", "\\textbf{B}"},
    {"words", "even", "odd", kDifferent},
    {"thousands", "1,234,567", "1234567"},
    {"thousands", "12{,}345", "12\\,345"},
    {"thousands", "1,234", "1.234", kDifferent},
    {"scientific", "6.02\\times 10^{23}", "602e21"},
    {"scientific", "1.5e-3", "0.0015"},
    {"scientific", "1.5e3", "1.5e4", kDifferent},
};

TEST(Decide, HandWorkedRows) {
  for (const Row& row : kRows) {
    const Verdict verdict = decide(row.reference, row.answer).verdict;
    EXPECT_EQ(int(verdict.answer), int(row.expected))
        << row.category << ": " << row.reference << " | " << row.answer << ": " << verdict.reason;
    EXPECT_FALSE(verdict.reason.empty());
    const Verdict turned = decide(row.answer, row.reference).verdict;
    EXPECT_EQ(int(turned.answer), int(row.expected))
        << row.category << ": " << row.answer << " | " << row.reference << ": " << turned.reason;
  }
}

TEST(Decide, SaysWhereItCannotTell) {
  EXPECT_EQ(decide("\\int_0^1 x dx", "1/2").verdict.reason,
            "the reference cannot be read: \\int is not computed");
  EXPECT_EQ(decide("9^{9^9}", "9^{9^9}+1").verdict.answer, Answer::different);
  EXPECT_EQ(decide("x^3 < 8", "x < 2").verdict.answer, Answer::undecided);
  // it has no other real solution, which is not known here
  EXPECT_EQ(decide("x^5 + x = 2", "x = 1").verdict.open, Open::equation);
  EXPECT_EQ(decide("x^2 + y^2 = 4", "2").verdict.answer, Answer::different);
  EXPECT_EQ(decide("\\sin(9^{9^9})", "0").verdict.answer, Answer::undecided);
  EXPECT_EQ(decide("\\frac{1}{2004!}", "\\frac{1}{2006!}").verdict.reason,
            "the numbers differ by less than a double shows");
  EXPECT_EQ(decide("1", std::string(kLongestAnswer + 1, '7')).verdict.reason,
            "an answer longer than is read");
  EXPECT_EQ(decide(std::string(kLongestAnswer + 1, '7'), std::string(kLongestAnswer + 1, '7'))
                .verdict.answer,
            Answer::equal);
}

TEST(Decide, AnAnswerThatIsNoMathematicsIsDifferent) {
  for (const char* answer :
       {"", "   ", "}", "\\frac{1}", "2 +", "((", "\\foo", "\xFF\xFE", "1 2 3", "I do not know"})
    EXPECT_EQ(decide("5", answer).verdict.answer, Answer::different) << answer;
}

TEST(Decide, AReferenceThatCannotBeReadIsNotTheAnswersFault) {
  EXPECT_EQ(decide("\\frac{1}", "1").verdict.answer, Answer::undecided);
  EXPECT_EQ(decide("\\frac{1}", "\\frac{1}").verdict.answer, Answer::equal);  // the same text
}

TEST(Decide, AnAnswerCannotChooseToBeUndecided) {
  for (const char* answer : {"\\sum_{n=1}^3 n", "\\int x", "\\max 1", "1/0", "0^0", "0 \\ln 0",
                             "\\arcsin 2", "10^{0.30103}", "\\sin(9^{9^9})", "x^5+x=3",
                             "\\frac{1}{|\\pi|-\\pi}", "\\frac{|x|-x}{|x|-\\sqrt{x^2}}", "3!!"})
    EXPECT_EQ(decide("5", answer).verdict.answer, Answer::different) << answer;
  EXPECT_EQ(decide("5", std::string(kLongestAnswer + 1, '7')).verdict.answer, Answer::different);
}

/// Each is a verdict that an answer could choose before, whatever the reference; references that
/// leave something open decide about them as well.
TEST(Decide, WhatHasNoValueIsWrongAgainstEverything) {
  constexpr const char* kAnswers[] = {
      "1: \\text{hello}", "unknown to me", "D: a score",  "2 \\text{ to } \\text{hello}",
      "1:\\{2\\}",        "1:\\infty",     "1:0:0",       "x<\\text{hello}",
      "x<\\$5",           "0<x<\\infty:2", "\\arcsin 2",  "\\ln(-x^2-1)",
      "\\frac{1}{0}",     "3!!",           "(\\{1\\})^2", "\\sin(\\text{a})",
      "\\sqrt{(1,2)}"};
  for (const char* answer : kAnswers)
    for (const char* reference :
         {"42", "\\frac{1}{2}", "\\sqrt2", "2x+1", "(1,2)", "\\{1,2\\}", "x=3", "x>3", "C",
          "\\text{dog}", "3\\text{ cm}", "50\\%", "3:2", "3:30", "x^2=4", "\\infty", "\\mathbb{R}"})
      EXPECT_EQ(decide(reference, answer).verdict.answer, Answer::different)
          << answer << " for " << reference;
}

/// What costs too much is the reference's doing only where it is costly itself.
TEST(Decide, AnAnswerCannotChooseToBeCostly) {
  for (const char* answer :
       {"9^{9^{9^9}}", "10^{99999}", "((5!)!)!", "1000000000!", "\\sqrt[999]{2}+\\sqrt[997]{3}",
        "5+e^{-10^6}", "(x+1)^{400}(x-1)^{400}"})
    EXPECT_EQ(decide("5", answer).verdict.answer, Answer::different) << answer;
  const std::string nines(300, '9');
  EXPECT_EQ(decide("(" + nines + "x+1)^{64}", "(" + nines + "x+2)^{64}").verdict.open,
            Open::costly);
}

TEST(Decide, EveryOpenVerdictIsOfTheList) {
  for (std::size_t n = 0; n < kOpenReasons.size(); ++n)
    EXPECT_EQ(std::size_t(kOpenReasons[n].open), n + 1);
  EXPECT_EQ(decide("x^3<8", "x<2").verdict.open, Open::inequality);
  EXPECT_EQ(decide("3:30", "6:60").verdict.open, Open::clock);
  EXPECT_EQ(decide("\\sqrt{x}", "\\sqrt{|x|}").verdict.open, Open::wider);
  EXPECT_EQ(decide("\\sqrt{|x|}", "\\sqrt{x}").verdict.answer, Answer::different);
  EXPECT_EQ(decide("\\sin(9^{9^9})", "0").verdict.open, Open::valueless);
  EXPECT_EQ(decide("\\foo", "1").verdict.open, Open::unread);
}

TEST(Decide, SolutionsOfTheReferencesEquation) {
  EXPECT_EQ(decide("x^2=4", "x=\\pm 2").verdict.answer, Answer::equal);  // two values, degree two
  EXPECT_EQ(decide("x^2=4", "-2, 2").verdict.answer, Answer::equal);
  EXPECT_EQ(decide("x^2=4", "3").verdict.answer, Answer::different);
  EXPECT_EQ(decide("x^2=4", "2, 3").verdict.answer, Answer::different);
  EXPECT_EQ(decide("x^2=4", "y=2").verdict.answer, Answer::different);
  EXPECT_EQ(decide("x^2=4", "2").verdict.answer, Answer::different);  // one of two
  EXPECT_EQ(decide("x^2=4", "2, 2.0").verdict.answer, Answer::different);
  EXPECT_EQ(decide("(x-1)^2=0", "1").verdict.answer, Answer::equal);
  EXPECT_EQ(decide("x^3=8", "2").verdict.open, Open::equation);
}

TEST(Decide, DivisionByZeroIsNoAnswer) {
  EXPECT_NE(decide("1", "\\frac{0}{0}").verdict.answer, Answer::equal);
  EXPECT_NE(decide("0", "\\frac{0}{1-1}").verdict.answer, Answer::equal);
}

TEST(Decide, CountsItsWork) {
  EXPECT_EQ(decide("1", "2").work, decide("1", "2").work);
  EXPECT_GT(decide("(x+1)^{20}", "(x+1)^{19}(x+1)").work, 20);
}

}  // namespace
}  // namespace rollcall::reward::math
