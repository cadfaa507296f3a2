// Verifiers of short answers: multiple_choice {correct, format}, word_order {.., placed},
// knights_knaves {.., partial}, quantity {.., closeness}, error_index {.., verdict, distance}.
#include "base/errors/error.hpp"
#include "reward/judged.hpp"

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace rollcall::reward {
namespace {

TEST(MultipleChoice, HandWorked) {
  constexpr const char* kReference =
      R"({"answer": "B", "options": ["11", "twelve", "A", "twelve more"]})";
  const auto say = [](std::string_view response) {
    return verdict(judged("multiple_choice", kReference, response));
  };
  for (const char* good :
       {"B", "b", "(B)", "B)", "B.", " B:\n", "B) twelve", "B. Twelve", "(b) twelve.", "twelve",
        "The answer is B.", "Answer: (B)", "option B", "**B**", "\\boxed{B}", "$B$",
        "The answer is **B**.", "B - twelve", "**(B) twelve**"})
    EXPECT_EQ(say(good), "1 1 | B") << good;
  for (const char* good : {"\\boxed{\\text{B}}",
                           "\\boxed{\\textbf{(B)}}",
                           "$\\textbf{(B)}\\ twelve$",
                           "The correct option is B.",
                           "Option B is correct.",
                           "B is correct.",
                           "I choose (B).",
                           "So the answer is B, since 12 is even.",
                           "The answer is \"B\".",
                           "A is wrong, so B.",
                           "<think>A?</think>B",
                           "First A. Wait, that is wrong. The answer is B.",
                           "B because it is even",
                           "**Answer:** B",
                           "The answer is option B",
                           "### Answer\n\nB",
                           "\\boxed{B}",
                           "The answer is \\boxed{\\mathrm{B}}.",
                           "B) twelve, as computed",
                           "Let us see. 11 is odd. The answer is twelve.",
                           "The answer is B. The answer can't be A.",
                           "The answer is B!!",
                           "The answer is ‘B’."})
    EXPECT_EQ(say(good), "1 1 | B") << good;
  for (const char* hedge :
       {"\\boxed{B} or \\boxed{C}", "The answer is B or C.", "The answer is B. Or maybe C.", "B, C",
        "B and C", "Option B is not correct.", "The answer is not B.", "The answer can't be B.",
        "\\boxed{B, C}", "B. 11"})
    EXPECT_EQ(say(hedge).substr(0, 2), "0 ") << hedge;
  EXPECT_EQ(say("D"), "0 1 | D");
  EXPECT_EQ(say("11"), "0 1 | A");
  EXPECT_EQ(say("A"), "0 1 | C");  // the text of an option comes before the letter of another
  for (const char* none :
       {"", "E", "AB", "A or B", "B) 11", "(B", "Bee", "B twelve", "13", "B C", "\xFF"})
    EXPECT_EQ(say(none), "0 0 | ") << none;
  EXPECT_EQ(
      verdict(judged("multiple_choice",
                     R"({"answer": "A", "options": ["Option 2", "12.", "Option 3"]})", "Option 2")),
      "1 1 | A");
  EXPECT_EQ(verdict(judged("multiple_choice",
                           R"({"answer": "B", "options": ["Option 2", "12.", "12"]})", "12.")),
            "1 1 | B");
  EXPECT_EQ(verdict(judged("multiple_choice", R"({"answer": "A", "options": ["1", "1"]})", "1")),
            "0 0 | ");  // two options read so
  EXPECT_EQ(verdict(judged("multiple_choice", kReference, "B", false)), "0 0 | ");
  for (const char* reference :
       {"B", "{}", R"({"answer": "C", "options": ["1", "2"]})",
        R"({"answer": "AB", "options": ["1", "2"]})", R"({"answer": "A", "options": []})"})
    EXPECT_THROW(judged("multiple_choice", reference, "A"), InputError) << reference;
}

TEST(MultipleChoice, ArticlesBracketsAndReasons) {
  const char* const reference =
      R"({"answer": "C", "options": ["The heart", "A lung", "The liver", "An artery"]})";
  const auto say = [&](std::string_view response) {
    return verdict(judged("multiple_choice", reference, response));
  };
  for (const char* right :
       {"the liver", "liver", "The answer is the liver.", "[[C]]", "[C]", "Only C is correct",
        "Option C because it makes bile", "C since it makes bile", "C is correct."})
    EXPECT_EQ(say(right), "1 1 | C") << right;
  for (const char* wrong :
       {"[[B]]", "a lung", "B is correct", "Option B because the liver is too large",
        "C because it makes bile. No, actually, it is B."})
    EXPECT_EQ(say(wrong).substr(0, 1), "0") << wrong;
  EXPECT_EQ(say("C is correct. No, wait: B is correct.").substr(0, 1), "0");
}

TEST(MultipleChoice, FirstLinesSentencesAndYes) {
  const auto say = [](const char* options, std::string_view response) {
    return verdict(judged("multiple_choice",
                          fmt::format(R"({{"answer": "A", "options": [{}]}})", options), response));
  };
  constexpr const char* kSpeeds = R"("12 m/s", "15 m/s", "20 m/s", "25 m/s")";
  for (const char* third :
       {"C\n\nThe car covers 100 m in 5 s, so A is too slow.",
        "C. 20 m/s\n\nThe car covers 100 m in 5 s, so A is too slow.", "C\nA is too slow.",
        "(C) 20 m/s\n\nThe rest is too slow.", "C is the correct answer.",
        "C is the correct answer because the car covers 100 m in 5 s.",
        "A\n\nWait, the answer is C.", "A\n\nThe answer is C."})
    EXPECT_EQ(say(kSpeeds, third), "0 1 | C") << third;
  for (const char* none :
       {"C\nD\n", "C is not the correct answer.", "C or D is the correct answer.", "C\n\nOr D."})
    EXPECT_EQ(say(kSpeeds, none).substr(0, 2), "0 ") << none;
  // What begins with a list of the options is answered below it, or not at all.
  constexpr const char* kCycle =
      R"("evaporation", "condensation", "precipitation", "transpiration")";
  const std::string list = "A. evaporation\nB. condensation\nC. precipitation\nD. transpiration";
  for (const std::string end :
       {"Answer: B", "The answer is B.", "#### B", "\\boxed{B}", "**Answer: B**"})
    EXPECT_EQ(say(kCycle, list + "\n\n" + end), "0 1 | B") << end;
  EXPECT_EQ(say(kCycle, "A: incorrect\nB: correct\nC: incorrect\nD: incorrect\n\n\\boxed{B}"),
            "0 1 | B");
  EXPECT_EQ(say(kCycle, "B. condensation\n\nWait, that is wrong. The answer is C."), "0 1 | C");
  EXPECT_EQ(say(kCycle, list), "0 0 | ");
  constexpr const char* kCities = R"("Sydney", "Melbourne", "Canberra", "Perth")";
  for (const char* third :
       {"The capital of Australia is Canberra.", "It is Canberra, not Sydney.",
        "The capital is not Sydney but Canberra.",
        "Many people think it is Sydney, but the capital of Australia is Canberra.",
        "Not Sydney: the capital is Canberra."})
    EXPECT_EQ(say(kCities, third), "0 1 | C") << third;
  for (const char* none : {"The capital is not Canberra.", "The capital is Sydney or Canberra.",
                           "It could be Canberra.", "Many people think it is Canberra."})
    EXPECT_EQ(say(kCities, none), "0 0 | ") << none;
  for (const char* no : {"No.", "No, because 91 = 7 * 13.", "No, it is not prime."})
    EXPECT_EQ(say(R"("Yes", "No")", no), "0 1 | B") << no;
  for (const char* yes : {"Yes, 97 is prime.", "Yes, because no number divides it."})
    EXPECT_EQ(say(R"("Yes", "No")", yes), "1 1 | A") << yes;
  for (const char* none : {"No, wait, yes.", "No number divides it, so perhaps."})
    EXPECT_EQ(say(R"("Yes", "No")", none), "0 0 | ") << none;
}

/// Where the reference is words, the last sentence may end in them.
TEST(MathAnswer, WordsThatASentenceEndsIn) {
  const auto is_right = [](const char* reference, std::string_view response) {
    return judged("math", reference, response).correct;
  };
  struct Row {
    const char *reference, *right, *wrong;
  };
  for (const auto& [reference, right, wrong] : std::initializer_list<Row>{
           {"\\text{undefined}", "The slope of a vertical line is undefined.",
            "The slope of a vertical line is not undefined."},
           {"\\text{Thursday}", "December 25 of that year falls on a Thursday.",
            "December 25 of that year falls on a Friday."},
           {"\\text{does not exist}",
            "Since both one-sided limits differ, the limit does not exist.",
            "The limit does exist."},
           {"\\text{ellipse}", "The graph is an ellipse.", "The graph is a circle or an ellipse."},
           {"\\text{isosceles}", "So the triangle is isosceles.",
            "So the triangle may be isosceles."},
           {"\\text{no solution}", "The equation has no solution.", "The equation has a solution."},
           {"\\text{right triangle}", "It is a right triangle.", "It is a triangle."},
           {"\\text{parabola}", "The conic is a parabola because the discriminant is zero.",
            "The conic is no parabola."}}) {
    EXPECT_TRUE(is_right(reference, right)) << right;
    EXPECT_FALSE(is_right(reference, wrong)) << wrong;
  }
}

TEST(WordOrder, HandWorked) {
  const auto say = [](std::string_view response) {
    return verdict(judged("word_order", "ap fig fig pe", response));
  };
  EXPECT_EQ(say("ap fig fig pe"), "1 1 1 | ap fig fig pe");
  EXPECT_EQ(say("ap, fig,\nfig; pe\n"), "1 1 1 | ap fig fig pe");
  EXPECT_EQ(say("ap fig pe fig"), "0 1 0.5 | ap fig pe fig");
  EXPECT_EQ(say("ap fig pe"), "0 0 0.5 | ap fig pe");  // a word is missing
  EXPECT_EQ(say("ap fig fig pe so"), "0 0 0.8 | ap fig fig pe so");
  EXPECT_EQ(say("Ap fig fig pe"), "0 0 0.75 | Ap fig fig pe");
  EXPECT_EQ(say(""), "0 0 0 | ");
  EXPECT_THROW(judged("word_order", " ", "ap"), InputError);
}

TEST(KnightsKnaves, HandWorked) {
  const auto say = [](std::string_view response) {
    return verdict(judged("knights_knaves", "KNK", response));
  };
  for (const char* good :
       {"KNK", "knk", "A is a knight, B is a knave, C is a knight.", "B knave; A and C are knights",
        "A=knight B=knave C=knight", "So A and C are both knights, but B is a knave.",
        "Therefore, A is a knight, C is also a knight, and B is a knave."})
    EXPECT_EQ(say(good), "1 1 1 | KNK") << good;
  EXPECT_EQ(say("KKK"), "0 1 0.667 | KKK");
  EXPECT_EQ(say("NKN"), "0 1 0 | NKN");
  for (const char* none : {"", "KN", "KNKN", "K N K", "A is a knight",
                           "A is a knight, B is a knave, C is a knight, A is a knave",
                           "A is not a knight, B is a knave, C is a knight",
                           "A is a knight, B is a knave, C", "knight A, B knave, C knight"})
    EXPECT_EQ(say(none), "0 0 0 | ") << none;
  for (const char* reference : {"", "KX", "KNKNKNKNKNK"})
    EXPECT_THROW(judged("knights_knaves", reference, "K"), InputError) << reference;
}

TEST(ErrorIndex, HandWorked) {
  const auto say = [](const char* reference, const std::string& index) {
    return verdict(judged("error_index", reference, "Step by step. \\boxed{" + index + "}"));
  };
  constexpr const char *kWrong = R"({"error": 2, "steps": 5})",
                       *kRight = R"({"error": -1, "steps": 5})";
  EXPECT_EQ(say(kWrong, "2"), "1 1 1 0 | 2");
  EXPECT_EQ(say(kWrong, "4"), "0 1 1 0.4 | 4");
  EXPECT_EQ(say(kWrong, "0"), "0 1 1 0.4 | 0");
  EXPECT_EQ(say(kWrong, "-1"), "0 1 0 0 | -1");
  EXPECT_EQ(say(kRight, "-1"), "1 1 1 0 | -1");
  EXPECT_EQ(say(kRight, "3"), "0 1 0 0 | 3");
  for (const char* none : {"", "5", "-2", "2.5", "two", "99999999999999999999"})
    EXPECT_EQ(say(kWrong, none), "0 0 0 0 | ") << none;
  EXPECT_EQ(verdict(judged("error_index", kWrong, "2")), "0 0 0 0 | ");  // no box
  for (const char* reference : {"2", "{}", R"({"error": 5, "steps": 5})",
                                R"({"error": -2, "steps": 5})", R"({"error": 0, "steps": 0})"})
    EXPECT_THROW(judged("error_index", reference, "2"), InputError) << reference;
}

TEST(Quantity, HandWorked) {
  constexpr const char* kReference = R"({"value": "2500", "unit": ["m", "metre", "metres"]})";
  const auto say = [](std::string_view response) {
    return verdict(judged("quantity", kReference, response));
  };
  for (const char* good : {"2500", "2,500 m", "2500.0m", "5000/2 metres", " +2500 Metres."})
    EXPECT_EQ(say(good), "1 1 1 | 2500") << good;
  for (const char* good :
       {"2 500 m",
        "2\xE2\x80\xAF"
        "500 m",
        "$2500\\text{ m}$", "\\boxed{2\\,500~\\mathrm{m}}", "The answer is 2500 m.",
        "It is 2,500 metres.", "**2500 m**", "2.5 km × 1000 = 2500 m, so the answer is 2500 m.",
        "2.5 km = 2500 m", "2.5 km is 2500 m. The answer is 2500 m.", "<answer>2500 m</answer>",
        "The distance is 2500 m, as shown."})
    EXPECT_EQ(say(good), "1 1 1 | 2500") << good;
  for (const char* hedge :
       {"2500 m or 3000 m", "The answer is 2500 m or 3000 m.", "25,00 m", "2 50 m", "25 00 m",
        "2500 m, or maybe 2400 m", "2500 m = 2.5 km", "2500 m, so the answer is 2400 m.",
        "2.5 km × 1000 = 2400 m", "The answer is not 2500 m."})
    EXPECT_EQ(judged("quantity", kReference, hedge).components[0], 0.0) << hedge;
  EXPECT_EQ(say("2499 m"), "0 1 1 | 2499");  // 0.9996
  EXPECT_EQ(say("2000 m"), "0 1 0.8 | 2000");
  EXPECT_EQ(say("-2500"), "0 1 0 | -2500");
  EXPECT_EQ(say("2.5 km"), "0 0 0 | 5/2 km");  // right, but not in the unit that was asked for
  EXPECT_EQ(say("2500 M"), "0 0 0 | 2500 M");
  EXPECT_EQ(say("25001"), "0 1 0 | 25001");
  for (const char* none : {"", "m", "about 2500 m", "2500 m or so 1", "1/0", "1/2/3",
                           "99999999999999999999", "0.0000000000000000000001", "2.5e3", "--3"})
    EXPECT_EQ(judged("quantity", kReference, none).components[0], 0.0) << none;
  EXPECT_EQ(say("1/0"), "0 0 0 | ");
  EXPECT_EQ(verdict(judged("quantity", R"({"value": "-0.5", "unit": ["C"]})",
                           "\xE2\x88\x92"
                           "1/2 C")),
            "1 1 1 | -1/2");  // U+2212
  EXPECT_EQ(verdict(judged("quantity", R"({"value": "0", "unit": ["C"]})", "0.1")), "0 1 0 | 1/10");
  for (const char* reference :
       {"2500", "{}", R"({"value": 2500, "unit": ["m"]})", R"({"value": "much", "unit": ["m"]})",
        R"({"value": "1", "unit": []})"})
    EXPECT_THROW(judged("quantity", reference, "1"), InputError) << reference;
}

}  // namespace
}  // namespace rollcall::reward
