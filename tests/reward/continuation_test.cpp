// How a text goes on: by words, from half a sentence to as far as the reference tells.
#include "base/errors/error.hpp"
#include "judged.hpp"

#include <gtest/gtest.h>

namespace rollcall::reward {
namespace {

std::string said(std::string_view response, bool finished = true) {
  return verdict(judged("continuation",
                        R"({"next": ["9 and 5 make 14.", "14 and 2 make 16."], "masked": false})",
                        response, finished));
}

TEST(Continuation, HandWorked) {
  EXPECT_EQ(said("9 and 5 make 14."), "1 1 1 0 | 9 and 5 make 14.");
  EXPECT_EQ(said("9 and 5"), "1 1 1 0 | 9 and 5");  // three of five words, rounded up from half
  EXPECT_EQ(said("9 and"), "0 1 0.667 0 | 9 and");  // a beginning of anything
  EXPECT_EQ(said("9  and 5\nmake 14"), "1 1 1 0 | 9  and 5\nmake 14");
  EXPECT_EQ(said("9 and 5 make 14. 14 and"), "1 1 1 0 | 9 and 5 make 14. 14 and");
  EXPECT_EQ(said("9 and 5 make 15."), "0 1 0.8 0 | 9 and 5 make 15.");  // a wrong number
  EXPECT_EQ(said("14 and 2 make 16."), "0 1 0.5 0 | 14 and 2 make 16.");
  EXPECT_EQ(said("9 and 5 make 14. 14 and 2 make 16. So"),
            "0 1 0.909 0 | 9 and 5 make 14. 14 and 2 make 16. So");
  EXPECT_EQ(said(""), "0 0 0 0 | ");
  // punctuation may be missing, not another
  EXPECT_EQ(said("9 and 5 make 14. 14?"), "0 1 0.833 0 | 9 and 5 make 14. 14?");
  EXPECT_FALSE(
      judged("continuation", R"({"next": ["It rains."], "masked": false})", "It rains?").correct);
  EXPECT_EQ(said("9 and 5 make 14.", false), "0 0 0 0 | ");
  EXPECT_EQ(
      verdict(judged("continuation", R"({"next": ["It rains."], "masked": true})", "It rains")),
      "1 1 1 1 | It rains");
}

/// arXiv:2509.19249: a prediction that is the first half of the paragraph is right; one with a
/// wrong number in it is not.
TEST(Continuation, HalfAParagraphIsRight) {
  const char* reference =
      R"({"next": ["Ann has 3 apples and Bob has 4.", "Together they have 7.", "They eat 2.", "Then 5 are left."], "masked": false})";
  EXPECT_TRUE(
      judged("continuation", reference, "Ann has 3 apples and Bob has 4. Together they have 7.")
          .correct);
  EXPECT_FALSE(
      judged("continuation", reference, "Ann has 3 apples and Bob has 4. Together they have 8.")
          .correct);
}

TEST(Continuation, AReferenceOfNoUseIsNamed) {
  for (const char* reference :
       {"It rains.", R"({"next": [], "masked": false})", R"({"next": [" "], "masked": false})",
        R"({"next": ["It rains."]})"})
    EXPECT_THROW(judged("continuation", reference, "It rains."), InputError) << reference;
}

}  // namespace
}  // namespace rollcall::reward
