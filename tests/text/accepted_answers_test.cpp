// A reference says whether its row had a list or a text, whatever the text looks like.
#include "text/answer/accepted_answers.hpp"

#include "base/text/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::text {
namespace {

using Texts = std::vector<std::string>;

/// Texts that look like lists, or like what marks one, as often as not.
rc::Gen<std::string> looks_like_a_list() {
  const auto plain =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab[]\",\\ \x1e")));
  const auto list = rc::gen::map(rc::gen::container<Texts>(plain),
                                 [](const Texts& texts) { return nlohmann::json(texts).dump(); });
  return rc::gen::map(
      rc::gen::pair(rc::gen::inRange(0, 3), rc::gen::oneOf(plain, list)),
      [](const auto& made) { return std::string(std::size_t(made.first), '\x1e') + made.second; });
}

TEST(AcceptedAnswers, ATextStaysOneAnswer) {
  EXPECT_TRUE(rc::check("whatever it looks like", [] {
    const std::string text = *looks_like_a_list();
    const std::string reference = accepting(text);
    RC_ASSERT(accepted_answers(reference).empty());
    RC_ASSERT(only_answer(reference) == text);
    RC_ASSERT(first_accepted(reference) == text);
    RC_ASSERT(shown_reference(reference) == text);
  }));
}

TEST(AcceptedAnswers, AListStaysAList) {
  EXPECT_TRUE(rc::check("of one text and of many", [] {
    const Texts answers = *rc::gen::nonEmpty(rc::gen::container<Texts>(looks_like_a_list()));
    const std::string reference = accepting(answers);
    RC_ASSERT(accepted_answers(reference) == answers);
    RC_ASSERT(first_accepted(reference) == answers.front());
    RC_ASSERT(nlohmann::json::parse(shown_reference(reference)).get<Texts>() == answers);
  }));
}

TEST(AcceptedAnswers, ReferencesOfEarlierBuildsAreRead) {
  EXPECT_EQ(accepted_answers(R"(["4","four"])"), (Texts{"4", "four"}));
  EXPECT_EQ(accepting(Texts{"4", "four"}), R"(["4","four"])")
      << "the content of a prompt, by which a resumed run knows it";
  for (const char* one : {"4", R"(["4"])", "[1, 2]", R"({"answer": "A"})", ""}) {
    EXPECT_TRUE(accepted_answers(one).empty()) << one;
    EXPECT_EQ(only_answer(one), one);
    EXPECT_EQ(accepting(std::string(one)), one) << one;
  }
}

}  // namespace
}  // namespace rollcall::text
