// The second pass of a step: which answers are asked about, with which numbers and texts, within its
// bounds and in whatever parts the step came.
#include "run/coordinator/steps/second_pass.hpp"

#include "base/errors/error.hpp"
#include "core/second_pass_bounds.hpp"
#include "io/sample_run.hpp"
#include "run/context/derived/exhibits.hpp"
#include "run/context/derived/second_pass_texts.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/models_of.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/step_bounds.hpp"
#include "run/small_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace rollcall::run {
namespace {

constexpr std::uint64_t kStep = 3;

RunContext job(const std::filesystem::path& folder) {
  RunContext context =
      test::small_job(folder, {"task.name=sorting", "task.train_prompts=64",
                               "model.max_position_embeddings=128", "sampling.max_new_tokens=16",
                               "train.prompts_per_step=8", "train.rollouts_per_prompt=6"});
  SecondPassSection& s = context.config.second_pass;
  s.kind = "refinement";
  s.refinement = "{prompt}|{response}|{feedback}|{reference}";
  s.error = "{prompt}|{response}|{reference}?";
  return context;
}

/// A scored step: sample i of a group is right where `outcome[i]` is '+' and wrong where it is '-';
/// 'x' was cut, 'u' has no verdict. An answer says "r" or "w" and its number.
struct Played {
  RolloutShard shard;
  ScoredShard scores;
  std::vector<GroupReport> reports;

  void add(const GroupId& id, const std::string& outcome, const Derivation& from = {}) {
    shard.step = scores.step = kStep;
    Group group{.id = id, .level = 2, .rollouts = {}, .from = from};
    std::vector<Score> judged;
    GroupReport report{.id = id, .level = 2, .from = from};
    for (std::uint32_t i = 0; i < outcome.size(); ++i) {
      const bool right = outcome[i] == '+';
      group.rollouts.push_back(
          {.sample = i, .turns = {}, .text = (right ? "r" : "w") + std::to_string(i)});
      if (outcome[i] == 'x') group.rollouts.back().finish = FinishReason::length;
      judged.push_back({.components = {},
                        .reward = right ? 1.0 : 0.0,
                        .correct = right,
                        .undecided = outcome[i] == 'u',
                        .reason = "because"});
      if (outcome[i] == 'u') ++report.dropped;
      else report.rewards.push_back(right ? 1.0 : 0.0), report.correct.push_back(right ? 1 : 0);
    }
    shard.groups.push_back(std::move(group)), scores.scores.push_back(std::move(judged));
    reports.push_back(std::move(report));
  }
  void add(std::uint64_t prompt, const std::string& outcome) { add({kStep, {prompt}, 0}, outcome); }

  std::vector<Specimen> specimens(const RunConfig& config) const {
    std::vector<Specimen> all;
    add_exhibits(all, config, shard, scores);
    return merged(std::move(all));
  }
};

SecondPass pass_of(const RunContext& context) {
  return {context.config, context.texts, context.models.policy.max_position_embeddings, kStep};
}

DerivedRound first_round(const RunContext& context, const Played& step) {
  return pass_of(context).next(step.specimens(context.config), step.reports);
}

/// How many prompts were made of each group of the task, by its prompt.
std::map<std::uint64_t, int> parents(const DerivedRound& round) {
  std::map<std::uint64_t, int> counts;
  for (const GroupPlan& group : round.groups) ++counts[group.from.parent.prompt.value];
  return counts;
}

TEST(SecondPass, AsksAboutDeadGroupsAlone) {
  const io::test::RunFolder folder;
  const RunContext context = job(folder.path());
  Played step;
  step.add(0, "------"), step.add(1, "--+---"), step.add(2, "uuuuuu"), step.add(3, "-xuxxx");
  step.add({kStep, derived_number(DerivedKind::verdict, kStep, 0), 0}, "------");
  const DerivedRound round = first_round(context, step);
  EXPECT_EQ(parents(round), (std::map<std::uint64_t, int>{{0, 4}, {3, 1}}))
      << "at most 4 answers of a group; one without a verdict is no failure";
  ASSERT_EQ(round.prompts.size(), round.groups.size());
  for (std::size_t i = 0; i < round.groups.size(); ++i) {
    const GroupPlan& group = round.groups[i];
    EXPECT_EQ(group.id, (GroupId{kStep, derived_number(DerivedKind::refinement, kStep, i), 0}));
    EXPECT_EQ(group.from, round.prompts[i].from);
    EXPECT_EQ(group.from.placement, Placement::joins_parent);
    EXPECT_EQ(group.first_sample, first_derived_sample(group.id.prompt));
    EXPECT_EQ(group.count, 1U);
    EXPECT_EQ(group.level, 2);
    EXPECT_TRUE(i == 0 || round.groups[i - 1].from.parent_sample < group.from.parent_sample ||
                round.groups[i - 1].from.parent < group.from.parent);
  }
}

TEST(SecondPass, TheTextHasTheAnswerAndWhatIsWrongWithIt) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  Played step;
  step.add(5, "+---");
  context.config.second_pass.of = "every";
  const Prompt& question = context.texts.prompts.train[5];
  const auto texts = [&](const char* feedback) {
    context.config.second_pass.feedback = feedback;
    std::vector<std::string> all;
    for (const DerivedPrompt& derived : first_round(context, step).prompts) {
      EXPECT_EQ(derived.prompt.answer, question.answer);
      all.push_back(derived.prompt.text);
    }
    return all;
  };
  const std::string right = question.answer;
  ASSERT_EQ(texts("verdict").size(), 4U);
  EXPECT_EQ(texts("verdict")[0], question.text + "|r0|The answer is right.|" + right);
  EXPECT_EQ(texts("verdict")[1], question.text + "|w1|The answer is wrong.|" + right);
  EXPECT_EQ(texts("reason")[1], question.text + "|w1|because|" + right);
  EXPECT_EQ(texts("reference")[1],
            question.text + "|w1|The right answer is " + right + ".|" + right);
  context.config.second_pass.of = "failed";
  EXPECT_EQ(texts("verdict").size(), 3U);
  context.config.second_pass.of = "dead";
  EXPECT_TRUE(texts("verdict").empty());
}

TEST(SecondPass, OnlyAnswersThatMayBeAskedAboutAreSent) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  Played step;
  step.add(5, "+-x-"), step.add(6, "++");
  const auto sent = [&](const char* of) {
    context.config.second_pass.of = of;
    std::size_t answers = 0;
    for (const Specimen& group : step.specimens(context.config)) answers += group.exhibits.size();
    return answers;
  };
  EXPECT_EQ(sent("dead"), 2U);
  EXPECT_EQ(sent("failed"), 2U);
  EXPECT_EQ(sent("every"), 5U);
}

TEST(SecondPass, KeepsToItsShareAndBounds) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  Played step;
  for (std::uint64_t prompt = 0; prompt < 8; ++prompt) step.add(prompt, "------");
  SecondPassSection& s = context.config.second_pass;
  EXPECT_EQ(parents(first_round(context, step)).size(), 8U);
  s.share = 0.4;  // of 8 groups: 3
  const auto chosen = parents(first_round(context, step));
  EXPECT_EQ(chosen.size(), 3U);
  s.rollouts = 5;
  const SecondPassBounds bounds = second_pass_bounds(context.config);
  EXPECT_EQ(bounds.prompts, 12);
  EXPECT_EQ(bounds.rollouts, 60);
  EXPECT_EQ(bounds.rounds, 1);
  const DerivedRound round = first_round(context, step);
  EXPECT_EQ(round.groups.size(), 12U);
  EXPECT_EQ(round.groups[0].count, 5U);
  s.of = "every";
  EXPECT_EQ(second_pass_bounds(context.config).prompts, 48) << "no more than the step draws";
  EXPECT_EQ(first_round(context, step).groups.size(), 18U) << "three groups of six";
  s.kind = "error", s.of = "dead";
  EXPECT_EQ(second_pass_bounds(context.config).rollouts, 12 * (5 + 1));
  EXPECT_EQ(second_pass_bounds(context.config).rounds, 2);
  s.kind = "";
  EXPECT_EQ(second_pass_bounds(context.config).rollouts, 0);
}

TEST(SecondPass, CountsInThePlanOfAJob) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.rollouts = 3;
  sizing::RunModels with, without;
  add_step_bounds(with, context.config);
  context.config.second_pass.kind = "";
  add_step_bounds(without, context.config);
  EXPECT_EQ(with.most_rollouts - without.most_rollouts, 8 * 4 * 3);
  EXPECT_EQ(with.most_rounds - without.most_rounds, 1);
}

TEST(SecondPass, IsOverAfterItsRounds) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  Played step;
  step.add(0, "--");
  SecondPass pass = pass_of(context);
  EXPECT_EQ(pass.next(step.specimens(context.config), step.reports).groups.size(), 2U);
  EXPECT_TRUE(pass.next(step.specimens(context.config), step.reports).groups.empty());
  Played solved;
  solved.add(0, "+-");
  EXPECT_TRUE(first_round(context, solved).groups.empty()) << "no group is dead";
  context.config.second_pass.kind = "";
  EXPECT_TRUE(step.specimens(context.config).empty()) << "no answer is sent for nothing";
  EXPECT_TRUE(first_round(context, step).groups.empty());
}

TEST(SecondPass, HowAStepWasCutChangesNothing) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.share = 0.5;
  Played step;
  for (std::uint64_t prompt = 0; prompt < 8; ++prompt) step.add(prompt, "------");
  std::vector<Specimen> parts;  // every group in two parts, the last ones first
  for (const bool later : {true, false})
    for (const Specimen& group : step.specimens(context.config)) {
      Specimen part{.id = group.id, .level = group.level};
      for (const Exhibit& exhibit : group.exhibits)
        if ((exhibit.sample >= 3) == later) part.exhibits.push_back(exhibit);
      parts.push_back(std::move(part));
    }
  std::reverse(parts.begin(), parts.end());
  const DerivedRound whole = first_round(context, step),
                     again = pass_of(context).next(merged(std::move(parts)), step.reports);
  ASSERT_EQ(whole.prompts.size(), 16U);
  ASSERT_EQ(again.prompts.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(whole.prompts[i].prompt.id, again.prompts[i].prompt.id);
    EXPECT_EQ(whole.prompts[i].prompt.text, again.prompts[i].prompt.text);
    EXPECT_EQ(whole.prompts[i].from, again.prompts[i].from);
  }
}

TEST(SecondPass, LeavesOutWhatTheModelHasNoRoomFor) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.refinement = std::string(120, '-') + "{prompt}{response}";
  Played step;
  step.add(0, "--");
  SecondPass pass = pass_of(context);
  EXPECT_TRUE(pass.next(step.specimens(context.config), step.reports).groups.empty());
  EXPECT_EQ(pass.metrics({}).at("second_pass/left_out"), 2.0);
  EXPECT_LE(longest_asked(context.config, context.texts, 128), 128 - 16);
}

TEST(SecondPass, CutAnswersAreCountedAsLeftOut) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  const auto left_out = [&] {
    Played step;
    step.add(0, "xxxxxx"), step.add(1, "-xx---"), step.add(2, "+xxx--"), step.add(3, "uuuuxx");
    SecondPass pass = pass_of(context);
    const DerivedRound round = pass.next(step.specimens(context.config), step.reports);
    EXPECT_FALSE(parents(round).contains(0)) << "all of its answers were cut";
    return pass.metrics({}).at("second_pass/left_out");
  };
  EXPECT_EQ(left_out(), 10.0) << "group 2 has a right answer, so it is none of the dead";
  context.config.second_pass.of = "failed";
  EXPECT_EQ(left_out(), 13.0);
}

TEST(SecondPass, TextsThatNeverFitAreRefused) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  SecondPassSection& s = context.config.second_pass;
  const auto told = [&] {
    try {
      check_second_pass_room(context.config, context.texts, 128);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(told(), "");
  s.refinement = std::string(120, '-') + "{prompt}{response}";
  EXPECT_NE(told().find("second_pass.refinement has"), std::string::npos) << told();
  s.kind = "error";
  EXPECT_EQ(told(), "") << "nothing is refined";
  s.buffer = 0.5;
  EXPECT_NE(told().find("second_pass.refinement has"), std::string::npos) << told();
  s.error = s.refinement;
  EXPECT_NE(told().find("second_pass.error has"), std::string::npos) << told();
  s.kind = "pool", s.buffer = 0.0;
  EXPECT_EQ(told(), "");
}

/// The step with the answers to the errors that `round` asks.
Played with_errors(Played step, const DerivedRound& round, const std::vector<std::string>& said) {
  for (std::size_t i = 0; i < said.size(); ++i) {
    step.add(round.groups[i].id, "-", round.groups[i].from);
    step.shard.groups.back().rollouts[0].text = said[i];
  }
  return step;
}

TEST(SecondPass, ACritiqueIsTheFeedback) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.feedback = "critique";
  context.config.second_pass.rollouts = 2;
  Played step;
  step.add(7, "--");
  const Prompt& question = context.texts.prompts.train[7];
  SecondPass pass = pass_of(context);
  const DerivedRound errors = pass.next(step.specimens(context.config), step.reports);
  ASSERT_EQ(errors.groups.size(), 2U);
  EXPECT_EQ(errors.groups[0].from.kind, DerivedKind::error);
  EXPECT_EQ(errors.groups[0].from.placement, Placement::trains_nowhere);
  EXPECT_EQ(errors.groups[0].count, 1U);
  EXPECT_EQ(errors.prompts[1].prompt.text, question.text + "|w1|" + question.answer + "?");
  const Played more = with_errors(step, errors, {"too short", "too long"});
  const DerivedRound round = pass.next(more.specimens(context.config), more.reports);
  ASSERT_EQ(round.groups.size(), 2U);
  EXPECT_EQ(round.groups[0].from.kind, DerivedKind::refinement);
  EXPECT_EQ(round.groups[0].from.parent, (GroupId{kStep, {7}, 0})) << "the parent is the task's";
  EXPECT_EQ(round.groups[1].from.parent_sample, 1U);
  EXPECT_EQ(round.groups[1].count, 2U);
  EXPECT_EQ(round.prompts[1].prompt.text, question.text + "|w1|too long|" + question.answer);
  EXPECT_TRUE(pass.next(more.specimens(context.config), more.reports).groups.empty());
}

TEST(SecondPass, InterventionsGoOnFromAMendedLine) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.kind = "error";
  context.config.second_pass.placement = "own_group";
  Played step;
  step.add(7, "--");
  const text::Tokenizer& tokenizer = *context.texts.tokenizer;
  for (Rollout& rollout : step.shard.groups[0].rollouts) {
    rollout.text = "one\nbad\nend";
    rollout.turns = {{Role::prompt, {1}}, {Role::policy, tokenizer.encode("one\nbad\nend")}};
    rollout.turns[1].tokens.push_back(tokenizer.eos());
  }
  SecondPass pass = pass_of(context);
  const DerivedRound errors = pass.next(step.specimens(context.config), step.reports);
  const Played more = with_errors(step, errors, {"bad\ngood", "nothing that was said"});
  const DerivedRound round = pass.next(more.specimens(context.config), more.reports);
  ASSERT_EQ(round.groups.size(), 1U) << "the other error quotes no line";
  EXPECT_EQ(round.groups[0].from.kind, DerivedKind::intervention);
  EXPECT_EQ(round.groups[0].first_sample, 0U) << "it trains as a group of its own";
  EXPECT_EQ(round.prompts[0].prompt.text, context.texts.prompts.train[7].text);
  EXPECT_EQ(round.prompts[0].given, tokenizer.encode("one\ngood\n"));
  EXPECT_FALSE(round.prompts[0].learns_given);
  EXPECT_EQ(pass.metrics({}).at("second_pass/left_out"), 1.0);
  SecondPass learning(context.config, context.texts, 128, kStep, /*learns_mended=*/true);
  for (const DerivedPrompt& error :
       learning.next(step.specimens(context.config), step.reports).prompts)
    EXPECT_FALSE(error.learns_given);
  EXPECT_TRUE(learning.next(more.specimens(context.config), more.reports).prompts[0].learns_given);
  const PromptBook book(context.texts, round.prompts);
  const GroupPlan& group = round.groups[0];
  EXPECT_EQ(book.given(Purpose::train, group.id, group.from), round.prompts[0].given);
  EXPECT_EQ(book.tokens(Purpose::train, group.id, group.from),
            context.texts.prompt_tokens[std::size_t(Split::train)][7]);
}

TEST(SecondPass, ErrorsThatWereCutAreCounted) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.kind = "error";
  Played step;
  step.add(7, "--");
  SecondPass pass = pass_of(context);
  const DerivedRound errors = pass.next(step.specimens(context.config), step.reports);
  ASSERT_EQ(errors.groups.size(), 2U);
  Played more = with_errors(step, errors, {"quotes nothing"});
  more.add(errors.groups[1].id, "x", errors.groups[1].from);
  EXPECT_TRUE(pass.next(more.specimens(context.config), more.reports).groups.empty());
  EXPECT_EQ(pass.metrics({}).at("second_pass/left_out"), 2.0);
}

/// A beginning that was given is a part of the answer's text, so the lines are found behind it.
TEST(SecondPass, InterventionsKeepTheBeginningThatWasGiven) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.kind = "error";
  const text::Tokenizer& tokenizer = *context.texts.tokenizer;
  Played step;
  step.add(7, "-");
  Rollout& rollout = step.shard.groups[0].rollouts[0];
  rollout.text = "one\nbad\nend";
  rollout.turns = {{Role::prompt, {1}},
                   {Role::environment, tokenizer.encode("one\n")},
                   {Role::policy, tokenizer.encode("bad\nend")}};
  SecondPass pass = pass_of(context);
  const DerivedRound errors = pass.next(step.specimens(context.config), step.reports);
  const Played more = with_errors(step, errors, {"bad\ngood"});
  const DerivedRound round = pass.next(more.specimens(context.config), more.reports);
  ASSERT_EQ(round.prompts.size(), 1U);
  EXPECT_EQ(round.prompts[0].given, tokenizer.encode("one\ngood\n"));
}

TEST(PromptBook, KnowsTheRowBehindADerivedPrompt) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  const std::string row = R"({"id": 7})";
  context.texts.prompts.extra[context.texts.prompts.train[7].text] = row;
  Played step;
  step.add(7, "-");
  DerivedRound round = first_round(context, step);
  ASSERT_EQ(round.prompts.size(), 1U);
  const PromptId verdict = derived_number(DerivedKind::verdict, kStep, 0);
  round.prompts.insert(
      round.prompts.begin(),
      DerivedPrompt{.prompt = {.id = verdict, .text = "?", .answer = "A", .solution = {}},
                    .from = {.kind = DerivedKind::verdict}});
  const PromptBook book(context.texts, round.prompts);
  const GroupId refined = round.groups[0].id;
  EXPECT_EQ(book.extra(Purpose::train, {kStep, {7}, 0}), row);
  EXPECT_EQ(book.extra(Purpose::train, refined), row) << "that of the prompt it was made of";
  EXPECT_EQ(book.extra(Purpose::train, {kStep, verdict, 0}), "");
  RolloutShard shard;
  shard.groups.push_back({.id = refined, .rollouts = {}, .from = round.groups[0].from});
  const auto stored = book.stored(shard);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].text, round.prompts[1].prompt.text);
  EXPECT_EQ(stored[0].answer, context.texts.prompts.train[7].answer);
  EXPECT_EQ(stored[0].extra, row);
}

TEST(SecondPass, CountsWhatItAsks) {
  const io::test::RunFolder folder;
  const RunContext context = job(folder.path());
  const auto report = [](DerivedKind kind, std::uint64_t index, std::vector<std::uint8_t> correct) {
    GroupReport made{.id = {kStep, derived_number(kind, kStep, index), 0}};
    made.from.kind = kind, made.dropped = 1;
    made.rewards.assign(correct.size(), 0.0), made.correct = std::move(correct);
    return made;
  };
  const auto metrics = pass_of(context).metrics(
      {report(DerivedKind::refinement, 0, {1, 0}), report(DerivedKind::refinement, 1, {1}),
       report(DerivedKind::error, 0, {0}), report(DerivedKind::continuation, 0, {1, 1})});
  EXPECT_EQ(metrics.at("second_pass/refinement_groups"), 2.0);
  EXPECT_EQ(metrics.at("second_pass/refinement_rollouts"), 5.0);
  EXPECT_EQ(metrics.at("second_pass/refinement_correct"), 2.0);
  EXPECT_EQ(metrics.at("second_pass/error_rollouts"), 2.0);
  EXPECT_EQ(metrics.at("second_pass/continuation_correct"), 2.0);
  EXPECT_EQ(metrics.at("second_pass/rollouts"), 7.0) << "continuations are of the step's budget";
}

Exhibit said(const RunContext& context, const std::string& text) {
  return {.sample = 0, .text = text, .tokens = context.texts.tokenizer->encode(text)};
}

TEST(MendedBeginning, NeedsALineThatIsQuotedOnce) {
  const io::test::RunFolder folder;
  const RunContext context = job(folder.path());
  const text::PromptFormat& format = *context.texts.format;
  const auto mended = [&](const std::string& answer, const std::string& error) -> std::string {
    const auto tokens = mended_beginning(format, said(context, answer), error);
    return tokens ? format.tokenizer()->decode(*tokens) : "none";
  };
  EXPECT_EQ(mended("a\nb\nc", "b\nB"), "a\nB\n");
  EXPECT_EQ(mended("a\n  b \nc", "The wrong line:\n b\n\n  B "), "a\nB\n")
      << "white space around a line, and lines before the quotation, do not count";
  EXPECT_EQ(mended("a\nb\nc", "a\nA"), "A\n") << "the first line";
  EXPECT_EQ(mended("a\nb\nb", "b\nB"), "none") << "which of the two is meant is not known";
  EXPECT_EQ(mended("a\nb\nc", "d\nD"), "none");
  EXPECT_EQ(mended("a\nb\nc", "b"), "none") << "nothing new follows";
  EXPECT_EQ(mended("a\nb\nc", "b\nb"), "none") << "the line is the same";
  EXPECT_EQ(mended("a\nb\nc", ""), "none");
}

}  // namespace
}  // namespace rollcall::run
