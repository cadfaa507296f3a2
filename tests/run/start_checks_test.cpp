// What a run is told at its start of its settings, and what is refused of them.
#include "run/start/start_checks.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "core/settings_text.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

using rollcall::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;

RunConfig config_of(std::vector<std::string> settings) {
  settings.push_back("run.dir=/nonexistent/run");
  return load_run_config({}, settings);
}

/// All that is said of a run file with these settings over it; empty: nothing is wrong.
std::string refusal(const std::vector<std::string>& settings,
                    const std::filesystem::path& file = {}, JobKind kind = JobKind::train) {
  GivenSettings given = gather_settings(file, settings);
  if (!given.faults.places.contains("run.dir")) given.config.run.dir = "/nonexistent/run";
  (void)check_start(given.config, kind, given.faults);
  try {
    given.faults.require_none();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(StartChecks, DrawsThatLeaveTokensOutAreTold) {
  for (const auto& [settings, cut] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"sampling.top_p=0.9"}, "sampling.top_p is 0.9:"},
           {{"sampling.top_k=20"}, "sampling.top_k is 20:"},
           {{"sampling.top_k=20", "sampling.top_p=0.9"},
            "sampling.top_k is 20 and sampling.top_p 0.9:"}}) {
    const std::string told = truncation_told(config_of(settings));
    EXPECT_THAT(told, HasSubstr(cut));
    EXPECT_THAT(told, HasSubstr("rollout/kept_mass_mean"));
    EXPECT_THAT(told, HasSubstr("sampling.logprob = \"kept\" trains on what is drawn from"));
  }
  EXPECT_THAT(truncation_told(config_of({"sampling.top_p=0.9", "run.numerics=cuda_bf16_sliced8"})),
              HasSubstr("in numerics of the host"));
  for (const std::vector<std::string>& settings : {std::vector<std::string>{},
                                                   {"sampling.top_p=0.9", "sampling.logprob=kept"},
                                                   {"sampling.top_p=0.9", "sampling.temperature=0"},
                                                   {"sampling.top_p=0.9", "train.steps=0"}})
    EXPECT_EQ(truncation_told(config_of(settings)), "");
}

TEST(StartChecks, LogProbsOfKeptTokensNeedDrawsThatKeepSomeAndTheHost) {
  EXPECT_EQ(refusal({"sampling.top_p=0.9", "sampling.logprob=kept"}), "");
  EXPECT_THAT(refusal({"sampling.logprob=kept"}),
              HasSubstr("sampling.logprob is set, but draws leave no token out"));
  EXPECT_THAT(
      refusal({"sampling.top_k=5", "sampling.logprob=kept", "run.numerics=cuda_bf16_sliced8"}),
      HasSubstr("choose numerics of the host"));
  EXPECT_THROW(config_of({"sampling.logprob=top_p"}), ConfigError);
}

struct Unread {
  std::vector<std::string> settings;
  std::string says;  ///< of what is read: nothing
};

TEST(StartChecks, SettingsThatNothingReadsAreRefused) {
  const std::vector<Unread> all{
      {{"sft.steps=0", "sft.lr=3e-4"}, "sft.lr is set, but sft.steps is 0"},
      {{"sft.steps=0", "sft.batch_size=8", "sft.thought_dropout=0.5"},
       "sft.thought_dropout is set, but sft.steps is 0"},
      {{"sft.steps=1", "sft.lr=3e-4"}, ""},
      {{"task.file=q.jsonl", "task.min_level=3"},
       "task.min_level is set, but the task draws no levels"},
      {{"task.file=q.jsonl", "task.max_level=5"},
       "task.max_level is set, but the task draws no levels"},
      {{"task.file=q.jsonl", "task.tail_exponent=0"},
       "task.tail_exponent is set, but the task draws no levels"},
      {{"task.file=q.jsonl", "task.operators=[\"+\"]"},
       "task.operators is set, but the task has none"},
      {{"task.file=q.txt", "task.name=corpus", "task.tail_exponent=0", "task.min_level=1"},
       "task.tail_exponent is set, but the task draws no levels"},
      {{"task.file=q.txt", "task.name=corpus", "task.min_level=1"}, ""},
      {{"task.name=arithmetic", "task.digits=[1, 2]", "task.max_level=3"},
       "task.max_level is set, but the task draws no levels"},
      {{"task.name=arithmetic", "task.max_level=3"}, ""},
      {{"sampling.temperature=0", "sampling.top_k=5"},
       "sampling.top_k is set, but sampling.temperature is 0"},
      {{"train.on_nonfinite=stop", "train.max_bad_steps=5"},
       "train.max_bad_steps is set, but train.on_nonfinite is stop"},
      {{"train.steps=0", "train.micro_batch_tokens=128"}, ""},
      {{"train.steps=0", "sft.steps=0", "train.micro_batch_tokens=128"},
       "train.micro_batch_tokens is set, but nothing is trained"},
      {{"eval.validation_samples=4"}, "eval.validation_samples is set, but eval.every is 0"},
      {{"eval.validation_samples=4", "eval.every=5"}, ""},
      {{"checkpoint.keep_best=validation/pass_at_8"},
       "checkpoint.keep_best is set, but eval.every is 0"},
      {{"checkpoint.patience=3"}, "checkpoint.patience is set, but eval.every is 0"},
      {{"checkpoint.patience=3", "eval.every=5"}, ""},
      {{"train.lr_schedule=constant", "train.min_lr_ratio=0.5"},
       "train.min_lr_ratio is set, but train.lr_schedule is constant"},
      {{"train.lr_schedule=linear", "train.min_lr_ratio=0.5"}, ""},
      {{"sft.lr_schedule=constant", "sft.min_lr_ratio=0.5"},
       "sft.min_lr_ratio is set, but sft.lr_schedule is constant"},
      {{"guide.max_tokens=2"}, "guide.max_tokens is set, but guide.share is not"},
      {{"replay.share=0", "replay.choose=newest"}, ""},
      {{"critic.lr=1e-2"}, "critic.lr is set, but the objective trains no value head"},
      {{"judge.votes=3"}, "judge.votes is set, but no model judges"},
      {{"environment.max_turns=4"}, "environment.max_turns is set, but answers are single turns"},
      {{"environment.role=tool"}, "environment.role is set, but answers are single turns"},
      {{"environment.max_tokens=99"}, "environment.max_tokens is set, but answers are single"},
      {{"sampling.turn_tokens=9"}, "sampling.turn_tokens is set, but answers are single turns"},
      {{"environment.processes=2"},
       "environment.processes is set, but the policy talks with no command"},
      {{"environment.name=retry", "environment.timeout_s=2"},
       "environment.timeout_s is set, but the policy talks with no command"},
      {{"environment.name=retry", "environment.sandbox=true"},
       "environment.sandbox is set, but the policy talks with no command"},
      {{"environment.command=[\"true\"]", "environment.sandbox=true", "environment.processes=2"},
       "environment.processes is set, but each answer is a run of its own in the sandbox"},
      {{"environment.components=[\"a\"]"},
       "environment.components is set, but the policy talks with no command"},
      {{"environment.name=retry", "environment.kinds=[\"a\"]"},
       "environment.kinds is set, but the policy talks with no command"},
      {{"environment.name=retry", "environment.tools=[\"calculator\"]"},
       "environment.tools is set, but environment.name is not tools"},
      {{"environment.name=tools", "environment.tools=[\"calculator\"]", "environment.index=lines"},
       "environment.index is set, but the tool search is not among those"},
      {{"environment.start_every=2"},
       "environment.start_every is set, but environment.start_depth is not backward"},
      {{"task.name=key_door", "environment.start_depth=backward", "environment.start_success=1"},
       "environment.start_success is set, but environment.start_depth is not success"},
      {{"environment.name=retry", "sft.turns=1"},
       "sft.turns is set, but no conversation of an expert is learnt"},
      {{"environment.unforked=2"}, "environment.unforked is set, but environment.forks is empty"},
      {{"scheduler.policy=uniform", "train.rollouts_per_prompt=8", "scheduler.max_rollouts=16"},
       "scheduler.max_rollouts is set, but the scheduler gives every prompt"},
      {{"scheduler.policy=dapo", "train.rollouts_per_prompt=8", "scheduler.min_rollouts=4"},
       "scheduler.min_rollouts is set, but the scheduler gives every prompt"},
      {{"openings.as=prompt"}, "openings.as is set, but openings.texts is empty"},
      {{"hints.as=beginning"}, "hints.as is set, but no round of the scheduler asks again"},
      {{"second_pass.of=every"},
       "second_pass.of is set, but second_pass.kind is neither refinement nor error"},
      {{"second_pass.kind=pool", "second_pass.rollouts=2"},
       "second_pass.rollouts is set, but second_pass.kind is neither"},
      {{"second_pass.kind=pool", "second_pass.placement=own_group"},
       "second_pass.placement is set, but second_pass.kind makes no answers"},
      {{"second_pass.kind=refinement", "second_pass.placement=own_group",
        "second_pass.trained_on=parent"},
       "second_pass.trained_on is set, but no refinement trains in the group"},
      {{"second_pass.kind=error", "second_pass.keep=2"},
       "second_pass.keep is set, but no answers of a second pass join"},
      {{"second_pass.kind=error", "second_pass.feedback=reason"},
       "second_pass.feedback is set, but second_pass.kind is not refinement"},
      {{"second_pass.kind=error", "second_pass.refinement={response}"},
       "second_pass.refinement is set, but nothing asks for a better answer"},
      {{"second_pass.kind=refinement", "second_pass.error={response}"},
       "second_pass.error is set, but nothing asks what is wrong"},
      {{"second_pass.buffer_size=2"},
       "second_pass.buffer_size is set, but second_pass.buffer is 0"},
      {{"second_pass.kind=error", "second_pass.factor=2"},
       "second_pass.factor is set, but second_pass.kind is not pool"},
      {{"second_pass.numerics=bf16_sliced8"},
       "second_pass.numerics is set, but second_pass.kind is not pool"},
      {{"reference.refresh_every=8"},
       "reference.refresh_every is set, but the objective compares with no reference policy"},
  };
  for (const auto& [settings, says] : all) {
    const std::string said = refusal(settings);
    if (says.empty()) EXPECT_THAT(said, Not(HasSubstr("nothing would read it"))) << settings.back();
    else EXPECT_THAT(said, HasSubstr(says)) << settings.back();
  }
}

/// Where they turn a part on, the settings of that part are read.
TEST(StartChecks, SettingsOfAPartThatIsOnAreRead) {
  for (const auto& settings : std::vector<std::vector<std::string>>{
           {"environment.command=[\"true\"]", "environment.processes=2", "environment.timeout_s=2",
            "environment.components=[\"a\"]", "environment.kinds=[\"k\"]", "environment.role=user",
            "environment.max_turns=2", "environment.max_tokens=99", "sampling.turn_tokens=9"},
           {"environment.name=tools", "environment.tools=[\"search\"]", "environment.index=lines"},
           {"environment.forks=after_reply", "environment.unforked=2"},
           {"task.name=key_door", "environment.start_depth=backward", "environment.start_every=2",
            "environment.turns_every=2", "sft.turns=2"},
           {"task.name=key_door", "environment.start_depth=success",
            "environment.start_success=0.9"},
           {"second_pass.kind=refinement", "second_pass.of=every", "second_pass.share=0.5",
            "second_pass.rollouts=2", "second_pass.placement=replaces_one",
            "second_pass.trained_on=parent", "second_pass.feedback=critique",
            "second_pass.refinement={response}{feedback}", "second_pass.error={response}"},
           {"second_pass.kind=refinement", "second_pass.keep=2"},
           {"second_pass.kind=error", "second_pass.placement=joins_parent", "second_pass.keep=0"},
           {"second_pass.kind=counterpart", "reference.refresh_every=8"},
           {"second_pass.kind=pool", "second_pass.numerics=bf16_sliced8", "second_pass.factor=2"},
           {"second_pass.buffer=0.5", "second_pass.buffer_size=2",
            "second_pass.refinement={response}"},
           {"openings.texts=[\"Well\"]", "openings.as=prompt"},
           {"scheduler.policy=knapsack", "scheduler.min_rollouts=4", "scheduler.max_rollouts=16"},
           {"scheduler.policy=xrpo", "scheduler.min_rollouts=4", "scheduler.max_rollouts=16"},
           {"train.rollouts_per_prompt=4", "scheduler.policy=uniform", "scheduler.min_rollouts=4",
            "scheduler.max_rollouts=4"},
       }) {
    const std::string said = refusal(settings);
    for (std::size_t i = 1; i < settings.size(); ++i)
      EXPECT_THAT(said,
                  Not(HasSubstr(settings[i].substr(0, settings[i].find('=')) + " is set, but")));
  }
}

TEST(StartChecks, HelpInThePromptNeedsConversationsThatBeginWithIt) {
  const std::vector<std::string> on_the_way{"task.name=key_door", "environment.start_depth=random",
                                            "scheduler.policy=ghpo"};
  EXPECT_THAT(refusal(on_the_way), HasSubstr("would be shown in place of the help"));
  auto beginning = on_the_way, without = on_the_way;
  beginning.push_back("hints.as=beginning"), without.back() = "scheduler.policy=uniform";
  EXPECT_THAT(refusal(beginning), Not(HasSubstr("in place of the help")));
  EXPECT_THAT(refusal(without), Not(HasSubstr("in place of the help")));
}

TEST(StartChecks, ExitsNeedOneRoundOfAnswersOfOneTurn) {
  EXPECT_THAT(refusal({"openings.exit=So"}), Not(HasSubstr("openings.exit")));
  for (const auto& [setting, says] : std::vector<std::pair<std::string, std::string>>{
           {"scheduler.rounds=hints", "the scheduler's rounds are hints"},
           {"environment.name=retry", "so is environment.name"},
           {"environment.command=[\"x\"]", "so is environment.command"},
           {"environment.forks=after_reply", "so is environment.forks"},
           {"second_pass.kind=pool", "second_pass.kind is pool"},
           {"train.rollouts_per_prompt=1", "train.rollouts_per_prompt is 1"},
           {"task.name=key_door", "task.name is key_door"}})
    EXPECT_THAT(refusal({"openings.exit=So", "scheduler.min_rollouts=1", setting}),
                AllOf(HasSubstr("openings.exit is set"), HasSubstr(says)));
}

TEST(StartChecks, AnEnvironmentPlaysItsOwnTaskWithPartsThatKnowConversations) {
  for (const auto& [settings, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"task.name=key_door"}, ""},
           {{"environment.name=retry"}, ""},
           {{"environment.name=tools", "environment.tools=[\"calculator\"]"}, ""},
           {{"environment.command=[\"true\"]"}, ""},
           {{"task.name=key_door", "second_pass.kind=pool"}, ""},
           {{"environment.name=key_dor"}, "did you mean key_door?"},
           {{"environment.name=key_door"}, "task.name is sorting"},
           {{"environment.name=rooms", "task.name=key_door"}, "task.name is key_door"},
           {{"environment.name=tools", "environment.tools=[\"calculater\"]"},
            "did you mean calculator?"},
           {{"environment.command=[\"/nonexistent\"]"},
            "environment.command begins with /nonexistent, which is no program"},
           {{"reward.verifier=episode"}, "the run has no environment"},
           {{"reward.verifier=episode", "environment.command=[\"true\"]"}, ""},
           {{"task.name=key_door", "self_judging.share=0.5"}, "the policy talks with key_door"},
           {{"environment.command=[\"true\"]", "second_pass.kind=refinement"},
            "the policy talks with environment.command"},
           {{"environment.name=retry", "second_pass.buffer=0.25"}, "the policy talks with retry"},
           {{"task.name=key_door", "task.forms=[\"answer_tag\"]"}, "not the answer in a form"},
           {{"task.name=key_door", "objective.recipe=spae-step-potential"},
            "probes the steps of an answer"}}) {
    const std::string said = refusal(settings);
    if (says.empty()) EXPECT_EQ(said, "") << settings.back();
    else EXPECT_THAT(said, HasSubstr(says)) << settings.back();
  }
}

TEST(StartChecks, WhatAJudgeWouldReadIsRefusedOfAnother) {
  EXPECT_THAT(
      refusal({"judge.model=/nonexistent", "judge.kind=reward_model", "judge.stop=[\"x\"]"}),
      HasSubstr("judge.stop is set, but a reward model writes nothing"));
  EXPECT_THAT(refusal({"judge.model=/nonexistent", "judge.top_p=0.5"}),
              HasSubstr("judge.top_p is set, but judge.temperature is 0"));
}

/// They turn nothing on, and a run file may say what is the case anyway.
TEST(StartChecks, DefaultsMayBeStatedWhereNothingReadsThem) {
  EXPECT_EQ(refusal({"sft.steps=0", "sft.lr=1e-3", "sft.batch_size=256", "guide.max_tokens=8",
                     "judge.votes=1", "eval.validation_samples=8"}),
            "");
}

/// Who turns something off by --set tries the run file without it.
TEST(StartChecks, ARunFileMayBeTriedWithoutAPart) {
  const TemporaryFolder folder;
  const auto both = folder.write(
      "run.toml",
      "[sft]\nsteps = 10\nlr = 3e-4\n[train]\nlr = 1e-3\n[eval]\nevery = 5\nvalidation_samples = 6\n");
  EXPECT_EQ(refusal({}, both), "");
  EXPECT_EQ(refusal({"sft.steps=0"}, both), "");
  EXPECT_EQ(refusal({"train.steps=0", "eval.every=0"}, both), "");
  EXPECT_THAT(refusal({"sft.steps=0", "sft.beta1=0.5"}, both),
              HasSubstr("--set sft.beta1=0.5: sft.beta1 is set, but sft.steps is 0"));
  const auto sorting = folder.write("sorting.toml", "[task]\nmin_level = 3\n");
  EXPECT_EQ(refusal({"task.file=q.jsonl"}, sorting), "") << "the same with questions of one's own";
  const auto off = folder.write("off.toml", "[sft]\nsteps = 0\nlr = 3e-4\n");
  EXPECT_THAT(refusal({}, off), HasSubstr(off + ":3: sft.lr is set, but sft.steps is 0"));
  const auto no_steps = folder.write(
      "no_steps.toml", "[train]\nsteps = 0\nlr = 1e-3\n[scheduler]\npolicy = \"uniform\"\n");
  EXPECT_THAT(refusal({}, no_steps),
              HasSubstr(no_steps + ":3: train.lr is set, but train.steps is 0"));
  EXPECT_THAT(refusal({}, no_steps),
              HasSubstr(no_steps + ":5: scheduler.policy is set, but train.steps is 0"));
  const auto help = folder.write("help.toml",
                                 "[train]\nsteps = 0\n[hints]\nas = \"beginning\"\n"
                                 "[second_pass]\nof = \"every\"\n");
  EXPECT_THAT(refusal({}, help), HasSubstr(help + ":4: hints.as is set, but no round"));
  EXPECT_THAT(refusal({}, help),
              HasSubstr(help + ":6: second_pass.of is set, but second_pass.kind"));
  EXPECT_EQ(refusal({"train.steps=0", "train.lr=1e-2", "scheduler.policy=uniform"}), "")
      << "the command of a training, with its warm start alone";
  const auto archive = folder.write(
      "archive.toml", "[train]\nfrom_archive = \"a.h5\"\n[scheduler]\npolicy = \"uniform\"\n");
  EXPECT_THAT(
      refusal({}, archive),
      HasSubstr(":4: scheduler.policy is set, but the rollouts are those of train.from_archive"));
  EXPECT_EQ(refusal({"train.from_archive=a.h5", "scheduler.policy=uniform"}), "")
      << "the command of the run that made it";
  const auto weights =
      folder.write("weights.toml", "[model]\npath = \"/nonexistent\"\n[sft]\nlr = 3e-4\n");
  EXPECT_THAT(
      refusal({}, weights),
      HasSubstr(
          "weights.toml:4: sft.lr is set, but sft.steps is 0, which is the default where weights are read"));
}

/// A run's own record states every key, whether or not anybody gave it.
TEST(StartChecks, ARecordGivesNothing) {
  const TemporaryFolder folder;
  RunConfig config;
  config.sft.steps = 0, config.sft.optimizer.lr = 3e-4, config.critic.optimizer.lr = 0.5;
  const auto record = folder.write("config.toml", settings_text(config));
  EXPECT_EQ(refusal({"run.dir=/nonexistent/run"}, record), "");
  EXPECT_THAT(refusal({"run.dir=/nonexistent/run", "critic.lr=0.25"}, record),
              HasSubstr("critic.lr is set, but the objective trains no value head"));
}

TEST(StartChecks, MistakesOfAllStagesAreOneRefusalInTheOrderOfTheFile) {
  const TemporaryFolder folder;
  const auto file = folder.write("run.toml",
                                 "[task]\n"
                                 "nmae = \"sorting\"\n"
                                 "min_level = 9\n"
                                 "max_level = 4\n"
                                 "[sft]\n"
                                 "steps = 0\n"
                                 "lr = 3e-4\n"
                                 "[train]\n"
                                 "epochs = \"two\"\n"
                                 "mini_batches = 65\n"
                                 "[objective]\n"
                                 "recipe = \"t1-inference-scaling\"\n"
                                 "[objective.knobs]\n"
                                 "clipp = 1\n"
                                 "[scheduler.knobs]\n"
                                 "nope = 3\n"
                                 "[reward]\n"
                                 "command = [\"/nonexistent/grade\"]\n"
                                 "[model]\n"
                                 "path = \"/nonexistent/model\"\n"
                                 "[judge]\n"
                                 "votes = 3\n"
                                 "[run]\n"
                                 "memory_limit = \"lots\"\n");
  const std::string said = refusal({"eval.pass_k=99"}, file);
  std::size_t at = 0;
  for (const char* expected :
       {"13 mistakes, one a line:\n", ":2: task.nmae is not a key",
        ":3: task.min_level 9 is above task.max_level 4", ":7: sft.lr is set, but sft.steps is 0",
        ":9: train.epochs must be an integer", ":10: train.mini_batches 65 exceeds",
        ":12: objective.recipe is t1-inference-scaling, but reference.decay is 1",
        ":14: objective.knobs: no chosen piece has a knob clipp",
        ":16: scheduler.knobs.nope is not a key",
        ":18: reward.command begins with /nonexistent/grade",
        ":20: model.path is /nonexistent/model", ":22: judge.votes is set, but no model judges",
        ":24: ", "--set eval.pass_k=99: eval.pass_k 99 exceeds"}) {
    const auto found = said.find(expected, at);
    EXPECT_NE(found, std::string::npos) << expected << " is not behind the others in:\n" << said;
    if (found != std::string::npos) at = found;
  }
}

TEST(StartChecks, WrongSettingsLeadNoOtherCheckAstray) {
  EXPECT_THAT(refusal({"sft.steps=many", "sft.lr=3e-4", "model.path=/nonexistent"}),
              Not(HasSubstr("sft.lr")));
  EXPECT_THAT(refusal({"objective.recipe=gprpo", "critic.lr=0.5"}), Not(HasSubstr("critic.lr")));
  EXPECT_THAT(refusal({"objective.recipe=dots-rr", "replay.share=lots"}),
              Not(HasSubstr("replay.share is 0")));
  EXPECT_THAT(refusal({"task.name=sortin", "sandbox.cpu_s=1"}), Not(HasSubstr("sandbox.cpu_s")));
}

TEST(StartChecks, TokensWithoutTextAreTold) {
  EXPECT_EQ(padding_told(config_of({}), 256, 256), "");
  EXPECT_THAT(padding_told(config_of({}), 300, 256),
              HasSubstr("the model has 300 tokens and the tokenizer 256"));
  EXPECT_THAT(padding_told(config_of({}), 300, 256), HasSubstr("no metric measures"));
  EXPECT_THAT(padding_told(config_of({"sampling.top_p=0.9"}), 300, 256),
              HasSubstr("rollout/kept_mass_mean is without it"));
  EXPECT_EQ(padding_told(config_of({"sampling.top_p=0.9", "sampling.logprob=kept"}), 300, 256), "")
      << "its softmax is over what may be drawn";
  EXPECT_EQ(padding_told(config_of({"train.steps=0"}), 300, 256), "");
}

TEST(StartChecks, TheLikeliestTokensAreNotTrainedOn) {
  EXPECT_THAT(refusal({"sampling.temperature=0"}),
              HasSubstr("sampling.temperature is 0, and the run trains on what it draws"));
  EXPECT_THAT(refusal({"sampling.temperature=0"}, {}, JobKind::eval),
              Not(HasSubstr("trains on what it draws")));
  EXPECT_THAT(refusal({"sampling.temperature=0", "train.steps=0"}),
              Not(HasSubstr("trains on what it draws")));
  EXPECT_EQ(refusal({"sampling.temperature=0.1"}), "");
}

TEST(StartChecks, ARolloutAloneMustTeachSomething) {
  const std::vector<std::string> alone{"train.rollouts_per_prompt=1", "scheduler.min_rollouts=1",
                                       "scheduler.policy=uniform"};
  const auto with = [&](const std::string& setting) {
    auto all = alone;
    all.push_back(setting);
    return all;
  };
  EXPECT_THAT(refusal(with("objective.pieces.advantage=pass_at_k")),
              HasSubstr("nothing would be learnt"));
  EXPECT_EQ(refusal(alone), "") << "a group of one keeps its plain reward";
  const auto told = [&](const std::vector<std::string>& settings) {
    const RunConfig config = config_of(settings);
    return lone_rollouts_told(
        config, *method::make_objective(config.objective.recipe, config.objective.pieces,
                                        config.objective.knobs));
  };
  EXPECT_THAT(
      told(alone),
      HasSubstr(
          "train.rollouts_per_prompt is 1: no rollout has another of its prompt to be compared with"));
  EXPECT_THAT(told(alone), HasSubstr("its advantage is its plain reward"));
  EXPECT_THAT(told({"scheduler.min_rollouts=1"}), HasSubstr("scheduler.min_rollouts is 1: "));
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told(with("objective.recipe=ppo")), "") << "it compares with its value head";
}

}  // namespace
}  // namespace rollcall::run
