// What is asked behind other contexts: by which tokens, where nothing is asked since nothing
// changed, and which columns the answers become.
#include "run/update/recontext/recontext.hpp"

#include "base/errors/error.hpp"
#include "environment/chosen.hpp"
#include "io/sample_run.hpp"
#include "method/columns.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/question_forms.hpp"
#include "run/small_job.hpp"
#include "run/update/auxiliary_models.hpp"
#include "text/chat/turn_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

namespace column = method::column;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Tokens = std::vector<std::int32_t>;

class RecontextTest : public testing::Test {
 protected:
  static RunContext make(const std::filesystem::path& folder,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{
        "task.name=word_sorting",           "task.train_prompts=4", "environment.name=retry",
        "environment.max_tokens=64",        "probes.opener=\"=\"",  "sampling.max_new_tokens=12",
        "model.max_position_embeddings=256"};
    settings.insert(settings.end(), more.begin(), more.end());
    RunContext made = test::small_job(folder, settings);
    open_policy(made, *comm::alone());
    return made;
  }

  Tokens tokens(const std::string& text) const { return context.texts.tokenizer->encode(text); }
  Tokens reference(std::uint64_t prompt) const {
    return tokens(context.texts.prompts.train[prompt].answer);
  }
  Tokens prompt(std::uint64_t number) const {
    return prompt_tokens(context.texts, context.texts.prompts.train[number], 0);
  }
  static Tokens joined(const std::vector<Tokens>& parts) {
    Tokens all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  /// What the policy is told of a message after one of its turns.
  Tokens told(const Tokens& turn, const std::string& message) const {
    const text::TurnTexts texts(
        *context.texts.format,
        environment::traits_of_run(context.config, *context.texts.format).role,
        environment::tool_schemas(context.config));
    const text::Said said{texts.role(), message};
    return texts.between(turn, std::span(&said, 1));
  }
  static Turn turn(Role role, Tokens said, float logprob = -1.0F) {
    const std::size_t columns = role == Role::policy ? said.size() : 0;
    return {.role = role,
            .tokens = std::move(said),
            .columns = {std::vector<float>(columns, logprob), std::vector<float>(columns)},
            .policy_version = std::vector<std::uint64_t>(columns)};
  }
  /// A rollout of two actions, and one of a single action.
  StepBatch conversation(const std::string& answer) const {
    Rollout two, one;
    two.turns = {turn(Role::prompt, prompt(1)), turn(Role::policy, tokens("ab")),
                 turn(Role::environment, told(tokens("ab"), answer)),
                 turn(Role::policy, tokens("b a")), turn(Role::environment, {})};
    one.sample = 1;
    one.turns = {turn(Role::prompt, prompt(1)), turn(Role::policy, tokens("abc"), -2.0F)};
    StepBatch made;
    made.groups.push_back({.id = {7, {1}, 0}, .rollouts = {std::move(two), std::move(one)}});
    made.scores = {{Score{}, Score{}}};
    return made;
  }
  std::vector<Recontext> questions(const std::string& name, const StepBatch& batch) const {
    return questions_of(name, context.config, context.texts, batch);
  }

  io::test::RunFolder folder;
  RunContext context = make(folder.path());
  std::unique_ptr<comm::Communicator> alone = comm::alone();
};

TEST_F(RecontextTest, TheReferenceIsAskedBeforeTheFirstActionAndBehindEach) {
  const StepBatch batch = conversation("no");
  const auto asked = questions(column::gold_logprob, batch);
  ASSERT_THAT(asked, SizeIs(5));
  const Tokens open = tokens("="), first = joined({prompt(1), tokens("ab")}),
               second = joined({first, told(tokens("ab"), "no")});
  EXPECT_EQ(asked[0].context, joined({prompt(1), open}));
  EXPECT_EQ(asked[1].context, joined({second, open})) << "with what was told after the action";
  EXPECT_EQ(asked[2].context, joined({second, tokens("b a"), open}));
  EXPECT_EQ(asked[3].context, joined({prompt(1), open}));
  EXPECT_EQ(asked[4].context, joined({prompt(1), tokens("abc"), open}));
  for (const auto& question : asked) EXPECT_EQ(question.target, reference(1));
}

TEST_F(RecontextTest, GoldColumnsAreMeansOfTurnsAndRollouts) {
  StepBatch batch = conversation("no");
  const auto asked = questions(column::gold_logprob, batch);
  const std::vector<std::vector<float>> found{{-1, -3}, {-1, -1}, {-4, -2}, {-5}, {-6}};
  add_recontext_column(batch, column::gold_logprob, asked, found);
  EXPECT_THAT(batch.columns.at(column::gold_logprob)[0], ElementsAre(-1, -3, -6));
  EXPECT_THAT(batch.columns.at(column::gold_logprob_before)[0], ElementsAre(-2, -5));
  const auto columns = make_train_batch(batch, {0}, 1 << 20, 12).columns;
  EXPECT_THAT(columns.named.at(column::gold_logprob), ElementsAre(-1, -3, -6))
      << "which is no column of tokens";
}

TEST_F(RecontextTest, AnActionIsAskedBehindMaskedFeedback) {
  StepBatch batch = conversation("no");
  const auto asked = questions(column::masked_logprob, batch);
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].context, joined({prompt(1), tokens("ab"), told(tokens("ab"), kMasked)}));
  EXPECT_EQ(asked[0].target, tokens("b a"));
  const std::size_t first = tokens("ab").size(), count = tokens("b a").size();
  EXPECT_EQ(asked[0].place, first);
  std::vector<float> expected(first, -1.0F), found(count, -3.0F);
  expected.insert(expected.end(), count, -3.0F);
  expected.insert(expected.end(), tokens("abc").size(), -2.0F);
  const std::vector<std::vector<float>> answers{found};
  add_recontext_column(batch, column::masked_logprob, asked, answers);
  EXPECT_EQ(batch.columns.at(column::masked_logprob)[0], expected)
      << "tokens that were not asked about have their old log-prob";
}

/// Feedback that says nothing else than the mask gains nothing, exactly.
TEST_F(RecontextTest, FeedbackThatIsTheMaskChangesNothing) {
  StepBatch batch = conversation(kMasked);
  EXPECT_THAT(questions(column::masked_logprob, batch), IsEmpty());
  add_recontext_column(batch, column::masked_logprob, {}, {});
  std::vector<float> old;
  for (const auto& rollout : batch.groups[0].rollouts)
    for (const auto& part : rollout.turns)
      old.insert(old.end(), part.columns.logprob.begin(), part.columns.logprob.end());
  EXPECT_EQ(batch.columns.at(column::masked_logprob)[0], old);
}

TEST_F(RecontextTest, WhatWasSampledBehindHelpIsAskedWithoutIt) {
  const Derivation help{.kind = DerivedKind::hint, .parent = {7, {1}, 0}, .tier = 1};
  StepBatch batch = conversation("no");
  for (auto& rollout : batch.groups[0].rollouts)
    rollout.turns[0].tokens = joined({tokens("help "), prompt(1)});
  batch.groups[0].from = help;
  const auto asked = questions(column::unhinted_logprob, batch);
  ASSERT_THAT(asked, SizeIs(3)) << "one for each action";
  EXPECT_EQ(asked[0].context, prompt(1));
  EXPECT_EQ(asked[0].target, tokens("ab"));
  EXPECT_EQ(asked[1].context, joined({prompt(1), tokens("ab"), told(tokens("ab"), "no")}));
  EXPECT_EQ(asked[1].target, tokens("b a"));
  EXPECT_EQ(asked[1].place, tokens("ab").size());
  EXPECT_EQ(asked[2].target, tokens("abc"));
  batch.groups[0].from = {};
  EXPECT_THAT(questions(column::unhinted_logprob, batch), IsEmpty()) << "there was no help";
}

/// Help that begins an answer is left out of the context, whether it trains or not.
TEST_F(RecontextTest, ABeginningThatWasGivenAsHelpIsLeftOut) {
  context.texts.hints.as = "beginning";
  StepBatch batch = conversation("no");
  Group& group = batch.groups[0];
  group.from = {.kind = DerivedKind::hint, .parent = {7, {1}, 0}, .tier = 1};
  const Tokens help = PromptBook(context.texts, {}).given(Purpose::train, group.id, group.from);
  ASSERT_THAT(help, testing::Not(IsEmpty()));
  const auto begin = [&](StepBatch of, Role role, const Tokens& told) {
    for (Rollout& rollout : of.groups[0].rollouts) {
      rollout.turns.insert(rollout.turns.begin() + 1, turn(role, told));
      rollout.facts.resize(rollout.turns.size());
      if (role == Role::policy) rollout.facts[1].flags = turn_flag::given;
    }
    return of;
  };
  const auto untrained = questions(column::unhinted_logprob, begin(batch, Role::environment, help)),
             trained = questions(column::unhinted_logprob, begin(batch, Role::policy, help));
  ASSERT_THAT(untrained, SizeIs(3)) << "one for each action";
  ASSERT_THAT(trained, SizeIs(3));
  for (std::size_t q = 0; q < 3; ++q) {
    EXPECT_EQ(untrained[q].context, trained[q].context);
    EXPECT_EQ(untrained[q].target, trained[q].target);
  }
  EXPECT_EQ(untrained[0].context, prompt(1));
  EXPECT_EQ(untrained[0].target, tokens("ab"));
  EXPECT_EQ(untrained[1].context, joined({prompt(1), tokens("ab"), told(tokens("ab"), "no")}));
  EXPECT_EQ(untrained[1].place, tokens("ab").size()) << "tokens that do not train have no place";
  EXPECT_EQ(trained[1].place, help.size() + tokens("ab").size());
  const auto guided = questions(column::unhinted_logprob,
                                begin(batch, Role::environment, joined({tokens("c"), help})));
  ASSERT_THAT(guided, SizeIs(3)) << "what a guide began with before the help stays";
  EXPECT_EQ(guided[0].context, joined({prompt(1), tokens("c")}));
}

/// A command may begin a conversation with words of its own, in which no help was shown.
TEST_F(RecontextTest, WhatACommandSaysInPlaceOfTheQuestionStays) {
  context.config.environment.name.clear(), context.config.environment.command = {"a program"};
  StepBatch batch = conversation("no");
  batch.groups[0].from = {.kind = DerivedKind::hint, .parent = {7, {1}, 0}, .tier = 1};
  for (auto& rollout : batch.groups[0].rollouts) rollout.turns[0].tokens = tokens("your move");
  EXPECT_THAT(questions(column::unhinted_logprob, batch), IsEmpty());
  const Tokens help = tokens("b");
  Rollout& led = batch.groups[0].rollouts[1];
  led.turns.insert(led.turns.begin() + 1, turn(Role::policy, help));
  led.facts.resize(3);
  led.facts[1].flags = turn_flag::given;
  const auto asked = questions(column::unhinted_logprob, batch);
  ASSERT_THAT(asked, SizeIs(1)) << "the beginning that was given is the help";
  EXPECT_EQ(asked[0].context, tokens("your move"));
  EXPECT_EQ(asked[0].target, tokens("abc"));
}

/// The context keeps the rollout's prompt where it begins with it, and the targets keep the tokens
/// that sampling kept.
TEST_F(RecontextTest, AQuestionIsAGroupOfItsOwn) {
  const StepBatch batch = conversation("no");
  Recontext behind{.context = joined({prompt(1), {1, 2}}), .target = {3, 4}},
      before{.context = {5, 6}, .target = {7}};
  behind.kept.put(1, Tokens{4, 9});
  const StepBatch asked = as_batch(std::vector{behind, before}, batch);
  ASSERT_THAT(asked.groups, SizeIs(2));
  const auto& turns = asked.groups[0].rollouts.at(0).turns;
  EXPECT_EQ(turns.at(0).tokens, prompt(1));
  EXPECT_EQ(turns.at(1).tokens, (Tokens{1, 2}));
  EXPECT_EQ(turns.at(2).tokens, (Tokens{3, 4}));
  EXPECT_EQ(turns.at(2).kept, behind.kept);
  EXPECT_EQ(asked.groups[1].rollouts.at(0).turns.at(0).tokens, (Tokens{5, 6}));
}

/// Asked behind the very context in which they were sampled, tokens have the log-probs of the
/// policy; and the columns of a step are those of passes.
TEST_F(RecontextTest, ColumnsComeOfThePolicyBeforeTheUpdate) {
  StepBatch batch = conversation("no");
  const auto objective = method::make_objective("igpo", {}, {});
  AuxiliaryModels companions(context, *objective, *alone);
  companions.add_asked_columns(batch, 7);
  const auto asked = questions(column::gold_logprob, batch);
  for (std::size_t q = 0; q < 3; ++q) {
    model::MicroBatch micro_batch;
    micro_batch.tokens = joined({asked[q].context, asked[q].target});
    micro_batch.offsets = {0, std::int64_t(micro_batch.tokens.size())};
    for (std::size_t t = asked[q].context.size(); t < micro_batch.tokens.size(); ++t)
      micro_batch.targets.push_back(std::int64_t(t));
    double mean = 0.0;
    for (const float logprob :
         model::forward(context.store->policy(), micro_batch, context.config.sampling.temperature)
             .logprob)
      mean += double(logprob) / double(asked[q].target.size());
    const float found = q == 0 ? batch.columns.at(column::gold_logprob_before)[0][0]
                               : batch.columns.at(column::gold_logprob)[0][q - 1];
    EXPECT_NEAR(found, mean, 1e-6) << "question " << q;
  }
  EXPECT_FALSE(batch.columns.contains(column::masked_logprob)) << "igpo does not read it";
}

TEST_F(RecontextTest, SettingsThatDoNotFitAreRefused) {
  const auto igpo = method::make_objective("igpo", {}, {});
  const auto refusal = [&](const RunContext& of) -> std::string {
    try {
      check_recontext(of.config, of.texts, of.models.policy.max_position_embeddings, *igpo);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(context), "");
  EXPECT_THAT(refusal(make(folder.path(), {"environment.max_tokens=0"})),
              HasSubstr("set environment.max_tokens to at most"));
  EXPECT_THAT(refusal(make(folder.path(), {"environment.max_tokens=240"})), HasSubstr("positions"));
  EXPECT_THAT(refusal(make(folder.path(), {"task.name=tags", "model.max_position_embeddings=512"})),
              HasSubstr("holds its reference answer"));
}

}  // namespace
}  // namespace rollcall::run
