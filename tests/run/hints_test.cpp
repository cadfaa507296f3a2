// Texts of help: how much of a solution each tier shows, where it stands in the question, and which
// prompts have any.
#include "run/context/derived/hints.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/question_forms.hpp"
#include "run/coordinator/make_scheduler.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <gmock/gmock.h>

namespace rollcall::run {
namespace {

using testing::HasSubstr;

Prompt prompt_of(std::uint64_t number, const std::string& solution) {
  Prompt prompt;
  prompt.id = {number};
  prompt.text = "question " + std::to_string(number), prompt.solution = solution;
  return prompt;
}

RunTexts texts_of(const std::vector<std::string>& solutions,
                  const std::string& tokenizer = "character") {
  RunTexts texts;
  TextSection section;
  section.tokenizer = tokenizer;
  texts.format = std::make_shared<const text::PromptFormat>(section, std::filesystem::path());
  texts.tokenizer = texts.format->tokenizer();
  for (const auto& solution : solutions)
    texts.prompts.train.push_back(prompt_of(texts.prompts.train.size(), solution));
  return texts;
}

/// The help of tiers 1, 2, ... of the first prompt.
std::vector<std::string> tiers_of(const RunTexts& texts, std::int32_t tiers = 3) {
  std::vector<std::string> help;
  for (std::int32_t tier = 1; tier <= tiers; ++tier)
    help.push_back(help_of(texts, texts.prompts.train.at(0), 0, tier));
  return help;
}

using Texts = std::vector<std::string>;

TEST(HintTexts, AreSharesOfTheLinesOfASolution) {
  EXPECT_EQ(tiers_of(texts_of({"a\nb\nc\nd"})), (Texts{"a\n", "a\nb\n", "a\nb\nc\n"}));
  // 1.5, 3 and 4.5 of six lines.
  EXPECT_EQ(tiers_of(texts_of({"a\nb\nc\nd\ne\nf\n"})),
            (Texts{"a\nb\n", "a\nb\nc\n", "a\nb\nc\nd\ne\n"}));
  RunTexts nearly = texts_of({"a\nb\nc"});
  nearly.hints.shares = {0.01, 0.99};
  EXPECT_EQ(tiers_of(nearly, 2), (Texts{"a\n", "a\nb\n"})) << "never none and never all";
}

TEST(HintTexts, AreSharesOfTheTokensWhereLinesAreTooFew) {
  EXPECT_EQ(tiers_of(texts_of({"12345678"})), (Texts{"12", "1234", "123456"}));
  EXPECT_EQ(tiers_of(texts_of({"1234\n678"})), (Texts{"12", "1234", "1234\n6"}));
  EXPECT_EQ(tiers_of(texts_of({"12"})), (Texts{"1", "1", "1"}));
  EXPECT_EQ(tiers_of(texts_of({"1"})), (Texts{"", "", ""}));
  // 2, 3 and 5 of six bytes, in whole characters.
  EXPECT_EQ(tiers_of(texts_of({"\xC3\xA4\xC3\xB6\xC3\xBC"}, "byte")),
            (Texts{"\xC3\xA4", "\xC3\xA4", "\xC3\xA4\xC3\xB6"}));
}

TEST(HintTexts, StandInTheQuestionAndAFormKeepsItsInstruction) {
  RunTexts texts = texts_of({"a\nb\nc\nd"});
  const Prompt& prompt = texts.prompts.train[0];
  EXPECT_EQ(with_hint(texts, prompt, 0, 2).text, "question 0\n\nHint:\na\nb");
  EXPECT_EQ(with_hint(texts, prompt, 0, 0).text, "question 0");
  EXPECT_EQ(with_hint(texts, prompt, 0, 2).answer, prompt.answer);
  texts.forms = {&text::find_answer_form("boxed")};
  ASSERT_NE(texts.forms[0]->instruction, nullptr);
  const Prompt in_form = with_hint(texts, prompt, 0, 1);
  EXPECT_TRUE(text::is_asked_in(*texts.forms[0], in_form.text)) << in_form.text;
  EXPECT_THAT(in_form.text, HasSubstr("question 0\n\nHint:\n"));
  texts.hints.text = "{hint} {prompt} {hint}";
  texts.forms = {&text::find_answer_form("plain")};
  EXPECT_EQ(with_hint(texts, prompt, 0, 1).text, "a question 0 a");
}

TEST(HintTexts, BeginTheAnswerWhereTheyAreABeginning) {
  RunTexts texts = texts_of({"a\nb\nc\nd"});
  const Prompt& prompt = texts.prompts.train[0];
  EXPECT_TRUE(hint_tokens(texts, prompt, 0, 2).empty());
  texts.hints.as = "beginning";
  EXPECT_EQ(with_hint(texts, prompt, 0, 2).text, "question 0");
  EXPECT_EQ(hint_tokens(texts, prompt, 0, 2), texts.tokenizer->encode("a\nb\n"));
  EXPECT_TRUE(hint_tokens(texts, prompt, 0, 0).empty());
}

TEST(HintTexts, AreAskedByTheBookOfPrompts) {
  RunTexts texts = texts_of({"a\nb\nc\nd"});
  const PromptBook book(texts, {});
  const GroupId tier{1, {0}, 1};
  const Derivation from{.kind = DerivedKind::hint, .parent = {1, {0}, 0}, .tier = 2};
  const Prompt asked = book.asked(Purpose::train, tier, from);
  EXPECT_EQ(asked.text, "question 0\n\nHint:\na\nb");
  EXPECT_EQ(book.tokens(Purpose::train, tier, from), texts.format->prompt_tokens(asked));
  EXPECT_TRUE(book.given(Purpose::train, tier, from).empty());
  texts.hints.as = "beginning";
  EXPECT_EQ(book.asked(Purpose::train, tier, from).text, "question 0");
  EXPECT_EQ(book.given(Purpose::train, tier, from), texts.tokenizer->encode("a\nb\n"));
}

TEST(HintTexts, OfARowAreItsFirstTexts) {
  RunTexts texts = texts_of({"", "", ""});
  texts.hints.source = "row";
  texts.prompts.extra["question 0"] = R"({"line": 1, "hints": ["know", "plan", "solve"]})";
  texts.prompts.extra["question 1"] = R"({"line": 2})";
  texts.prompts.extra["question 2"] = R"({"line": 3, "hints": ["know", 7]})";
  EXPECT_EQ(tiers_of(texts, 4),
            (Texts{"know\n", "know\nplan\n", "know\nplan\nsolve\n", "know\nplan\nsolve\n"}));
  EXPECT_EQ(help_of(texts, texts.prompts.train[1], 0, 1), "");
  try {
    help_of(texts, texts.prompts.train[2], 0, 1);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the row of \"question 2\" that is no list of texts"));
  }
}

std::string refusal(RunTexts& texts, std::int64_t tiers, std::int64_t answer,
                    std::int64_t positions) {
  RunConfig config;
  config.sampling.max_new_tokens = answer;
  WorkerPool pool(2);
  try {
    fill_help(texts, config, pool, positions, tiers);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(HintTexts, EachPromptHasTheTiersThatThereIsRoomFor) {
  RunTexts texts = texts_of({"aaaa\nbbbb\ncccc\ndddd", "1", "12345678"});
  const auto tokens = [&](std::size_t prompt, std::int32_t tier) {
    return std::int64_t(
        texts.format->prompt_tokens(with_hint(texts, texts.prompts.train[prompt], 0, tier)).size());
  };
  EXPECT_EQ(refusal(texts, 3, 8, 200), "");
  EXPECT_EQ(texts.tiers, (std::vector<std::uint8_t>{3, 0, 3}));
  EXPECT_EQ(texts.longest_with_help, tokens(0, 3));
  EXPECT_EQ(refusal(texts, 3, 8, 8 + tokens(0, 2)), "");
  EXPECT_EQ(texts.tiers, (std::vector<std::uint8_t>{2, 0, 3}));
  EXPECT_THAT(refusal(texts, 3, 8, 8 + tokens(2, 1) - 1), HasSubstr("there is no room"));
  texts.hints.as = "beginning";
  EXPECT_EQ(refusal(texts, 3, 6, 200), "");
  EXPECT_EQ(texts.tiers, (std::vector<std::uint8_t>{1, 0, 2}))
      << "an answer of 6 tokens is not all given";
  EXPECT_THAT(refusal(texts, 3, 2, 200), HasSubstr("raise sampling.max_new_tokens"));
}

TEST(HintTexts, TheSchedulerAsksNoPromptForHelpThatItHasNot) {
  RunTexts texts = texts_of({"1", "a\nb\nc\nd"});
  ASSERT_EQ(refusal(texts, 3, 8, 200), "");
  RunConfig config;
  config.scheduler.policy = "ghpo";
  const auto scheduler = make_scheduler(config, texts);
  const scheduling::StepRequest request{
      .step = 1, .prompts = 2, .budget = 8, .min_rollouts = 4, .max_rollouts = 4};
  std::vector<GroupReport> failed;
  for (const GroupPlan& plan : scheduler->begin_step(request).groups) {
    GroupReport report{.id = plan.id, .level = plan.level};
    report.rewards.assign(4, 0.0), report.correct.assign(4, 0), report.lengths.assign(4, 1);
    failed.push_back(std::move(report));
  }
  ASSERT_EQ(failed.size(), 2U);
  const scheduling::Decision round = scheduler->next_round(request, failed);
  ASSERT_EQ(round.groups.size(), 1U);
  EXPECT_EQ(round.groups[0].id.prompt.value, 1U);
  EXPECT_EQ(round.groups[0].from.tier, 1);
}

TEST(HintTexts, TiersThatTheSectionDoesNotHaveAreRefused) {
  RunTexts texts = texts_of({"a\nb\nc\nd"});
  EXPECT_THAT(refusal(texts, 12, 8, 200),
              HasSubstr("scheduler.knobs.hint_tiers is 12, and hints.shares lists 3"));
  texts = texts_of({});
  EXPECT_EQ(refusal(texts, 3, 8, 200), "") << "an evaluation of a file without training rows";
  texts = texts_of({"", ""});
  EXPECT_THAT(refusal(texts, 3, 8, 200), HasSubstr("no training prompt has help"));
  texts.hints.source = "row";
  EXPECT_THAT(refusal(texts, 12, 8, 200), HasSubstr("hints.hint_key"));
}

}  // namespace
}  // namespace rollcall::run
