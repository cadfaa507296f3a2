// The run file: defaults are valid, everything is written out and read back, and contradictions are
// refused.
#include "core/run_config.hpp"
#include "core/settings_text.hpp"

#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace rollcall {
namespace {

using rollcall::testing::TemporaryFolder;

std::string refusal(const std::vector<std::string>& assignments) {
  try {
    load_run_config({}, assignments);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(RunConfig, TheDefaultsAreValid) { EXPECT_EQ(refusal({}), "accepted"); }

TEST(RunConfig, EveryDefaultLiesInItsOwnRange) {
  RunConfig config, copy;
  EXPECT_NO_THROW(bind(copy).load_text(bind(config).to_toml(), "defaults"));
}

TEST(RunConfig, WritingAndReadingBackIsTheIdentity) {
  const TemporaryFolder folder;
  RunConfig config = load_run_config(
      {}, {"run.dir=runs/a \"b\"", "run.seed=987654321012345", "train.lr=0.1234567890123456789",
           "sampling.stop=[\"\\n\", \"####\"]", "task.shuffle_rewards=true",
           "objective.knobs.clip_high=0.28", "objective.pieces.advantage=rloo",
           "scheduler.knobs.window=50", "sft.lr=3e-4"});
  const std::string text = bind(config).to_toml();
  RunConfig copy = load_run_config(folder.write("run.toml", text), {});
  EXPECT_EQ(bind(copy).to_toml(), text);
  EXPECT_EQ(copy.run.dir, "runs/a \"b\"");
  EXPECT_EQ(copy.run.seed, 987654321012345);
  EXPECT_EQ(copy.train.optimizer.lr, 0.1234567890123456789);
  EXPECT_EQ(copy.sft.optimizer.lr, 3e-4);
  EXPECT_EQ(copy.sampling.stop, (std::vector<std::string>{"\n", "####"}));
  EXPECT_EQ(copy.objective.knobs, config.objective.knobs);
  EXPECT_EQ(copy.scheduler.knobs,
            (std::vector<std::pair<std::string, std::string>>{{"window", "50"}}));
}

TEST(RunConfig, SettingsOverrideTheFile) {
  const TemporaryFolder folder;
  const auto config = load_run_config(folder.write("run.toml", "[train]\nsteps = 5\nepochs = 2\n"),
                                      {"train.steps=7", "train.steps=8"});
  EXPECT_EQ(config.train.steps, 8);
  EXPECT_EQ(config.train.epochs, 2);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// How many lines of the written run file differ from the defaults after `assignment`; 0 also when
/// it is refused.
int changed_lines(const std::string& assignment) {
  RunConfig config;
  ConfigSchema schema = bind(config);
  const auto before = lines_of(schema.to_toml());
  try {
    schema.set(assignment);
  } catch (const ConfigError&) {
    return 0;  // not of this key's type or range
  }
  const auto after = lines_of(schema.to_toml());
  int changed = before.size() == after.size() ? 0 : 1000;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    changed += before[i] != after[i];
  return changed;
}

TEST(RunConfig, EveryKeyHasItsOwnVariable) {  // a copied line of bind() would write another key's
                                              // value
  RunConfig config;
  for (const auto& key : bind(config).keys()) {
    // tables
    if (key.ends_with("knobs") || key.ends_with("pieces") || key == "text.variables") continue;
    int most = 0;
    for (const char* value :
         {"bf16_sliced8", "true",   "false",        "0.5",       "2",      "16",        "[2]",
          "[\"x\"]",      "x",      "byte",         "single",    "debug",  "stop",      "newest",
          "current",      "wrong",  "reward_model", "correct",   "nccl",   "verifier",  "kept",
          "by_row",       "linear", "tool",         "row",       "prompt", "beginning", "pool",
          "every",        "parent", "reason",       "own_group", "drop"}) {
      most = std::max(most, changed_lines(key + "=" + value));
    }
    EXPECT_EQ(most, 1) << key;
  }
}

TEST(RunConfig, WeightDecayNamesTheHead) {  // an untied one is not decayed either
  RunConfig config;
  int found = 0;
  for (const auto& line : lines_of(bind(config).to_toml())) {
    if (!line.starts_with("weight_decay = ")) continue;
    ++found;
    EXPECT_NE(line.find("the head, tied or not"), std::string::npos) << line;
  }
  EXPECT_EQ(found, 3) << "sft's, train's and critic's";
}

TEST(RunConfig, ARunsOwnFileBelongsToItsFolder) {
  const testing::TemporaryFolder folder;
  RunConfig config;
  config.run.dir = "runs/original";
  const std::string own = settings_text(config), plain = "[run]\ndir = \"runs/original\"\n";
  for (const char* name : {"config.toml", "submitted.toml", "submitted-0123456789abcdef.toml"}) {
    EXPECT_EQ(load_run_config(folder.write(name, own), {}).run.dir, folder.path().string());
    EXPECT_EQ(load_run_config(folder.write(name, own), {"run.dir=named"}).run.dir, "named");
    EXPECT_EQ(load_run_config(folder.write(name, plain), {}).run.dir, "runs/original")
        << "a person's file means what it says";
  }
  EXPECT_EQ(load_run_config(folder.write("other.toml", own), {}).run.dir, "runs/original");
  config.run.dir = (folder.path() / "." / "").string();
  EXPECT_EQ(load_run_config(folder.write("config.toml", settings_text(config)), {}).run.dir,
            config.run.dir)
      << "the same folder keeps its name";
}

TEST(RunConfig, VariablesOfOlderRunsAreOfTheTypeThatTheyHad) {
  const testing::TemporaryFolder folder;
  const std::string body =
      "[text.variables]\n%enable_thinking = \"false\"\nmood = \"calm\"\nversion = \"1.10\"\nwords = \"[1, 2]\"\n";
  const auto file = [&](const std::string& comment) {
    std::string text = body;
    return folder.write("config.toml", text.replace(text.find('%'), 1, comment));
  };
  using KeyValues = ConfigSchema::KeyValues;
  EXPECT_EQ(read_run_config(file("")).text.variables, (KeyValues{{"enable_thinking", "\"false\""},
                                                                 {"mood", "\"calm\""},
                                                                 {"version", "\"1.10\""},
                                                                 {"words", "\"[1, 2]\""}}));
  EXPECT_EQ(read_run_config(
                file("# variables of the chat template, for example enable_thinking = false\n"))
                .text.variables,
            (KeyValues{{"enable_thinking", "false"},
                       {"mood", "\"calm\""},
                       {"version", "1.1"},
                       {"words", "[1, 2]"}}));
}

struct Refused {
  std::vector<std::string> settings;
  std::string says;
};

TEST(RunConfig, ContradictionsAreRefused) {
  for (const auto& [settings, says] : {
           Refused{{"task.min_level=5", "task.max_level=4"},
                   "task.min_level 5 is above task.max_level 4"},
           Refused{{"model.num_attention_heads=4", "model.num_key_value_heads=3"},
                   "is not a multiple"},
           Refused{{"model.head_dim=33"}, "model.head_dim 33 is odd"},
           Refused{{"train.rollouts_per_prompt=33"},
                   "the budget of 33 rollouts a prompt lies outside"},
           Refused{{"train.rollouts_per_prompt=1"}, "the budget of 1 rollouts"},
           Refused{{"eval.pass_k=17"}, "eval.pass_k 17 exceeds"},
           Refused{{"eval.every=5", "eval.validation_samples=4", "eval.pass_k=8"},
                   "eval.pass_k 8 exceeds"},
           Refused{{"train.mini_batches=65"}, "train.mini_batches 65 exceeds"},
           Refused{{"task.name=jsonl"}, "task.file is empty"},
           Refused{{"task.name=corpus", "task.file=[\"a.txt\"]"}, "which looks like a list"},
           Refused{{"task.file=a.jsonl", "task.heldout_file=[\"b.jsonl\"]"},
                   "task.heldout_file is [\"b.jsonl\"], which looks like a list"},
           Refused{{"reward.components=[\"style\"]"},
                   "reward.components is set without reward.command"},
           Refused{{"reward.verifier=math", "reward.command=[\"./grade\"]"},
                   "reward.verifier is math, and reward.command is set"},
           Refused{{"reward.command=[\"\"]"}, "the first word of reward.command is empty"},
           Refused{{"reward.command=[\"./grade\"]", "task.format_weight=0.5"},
                   "task.format_weight is 0.5"},
           Refused{{"reward.command=[\"./grade\"]", "reward.components=[\"a\", \"correct\"]"},
                   "reward.components has correct twice"},
           Refused{{"judge.ranks=1"}, "judge.ranks is 1, but judge.model is empty"},
           Refused{{"judge.model=x", "judge.prompt=right?"}, "judge.prompt is \"right?\""},
           Refused{{"judge.model=x", "judge.kind=reward_model",
                    "judge.prompt=is {response} or {other}?"},
                   "judge.prompt has {other}, and judge.kind is reward_model"},
           Refused{{"judge.model=x", "judge.prompt=is {response} or {other}?",
                    "train.rollouts_per_prompt=1", "scheduler.min_rollouts=1"},
                   "an answer alone has no other of its prompt"},
           Refused{{"judge.model=x", "judge.prompt=better than {other}?"},
                   "without {response} every answer would be judged alike"},
           Refused{{"judge.model=x", "judge.component=a/b"}, "judge.component is \"a/b\""},
           Refused{{"judge.model=x", "judge.scale=[5, 1]"}, "judge.scale is [5, 1]"},
           Refused{{"judge.model=x", "judge.scale=[0, inf]"}, "judge.scale is [0, inf]"},
           Refused{{"judge.model=x", "judge.votes=2"}, "judge.votes is 2 and judge.temperature 0"},
           Refused{{R"(reward.command=["grade"])", "experts.share=1"},
                   "experts.share is 1, and reward.command is set"},
           Refused{{R"(reward.command=["grade"])", R"(reward.components=["a", "b"])",
                    "experts.share=0.5"},
                   "experts.share is 0.5, and reward.command is set"},
           Refused{{"judge.model=x", "experts.share=1"},
                   "experts.share is 1, and judge.model is set"},
           Refused{{"self_judging.share=0.5", "self_judging.pointwise=right?"},
                   "self_judging.pointwise is \"right?\""},
           Refused{{"self_judging.share=0.5", "self_judging.pairwise={prompt}{first}"},
                   "self_judging.pairwise is \"{prompt}{first}\""},
           Refused{{"self_judging.share=0.5", "self_judging.pointwise=", "self_judging.pairwise=",
                    "self_judging.reflection="},
                   "all of its texts are empty"},
           Refused{{"self_judging.share=0.01"},
                   "self_judging.share is 0.01 of train.prompts_per_step 64"},
           Refused{{"self_judging.share=0.5", "train.prompts_per_step=17000",
                    "self_judging.pointwise=", "self_judging.pairwise="},
                   "reflections none beyond 8192"},
           Refused{{"self_judging.share=0.5", "train.prompts_per_step=200000"},
                   "over train.steps 200"},
           Refused{{"self_judging.share=0.5", "judge.model=x"},
                   "self_judging.share is 0.5, and judge.model is set"},
           Refused{{"self_judging.share=0.5", "reward.command=[\"./grade\"]"},
                   "self_judging.share is 0.5, and reward.command is set"},
           Refused{{"self_judging.share=0.5", "guide.share=0.5"},
                   "self_judging.share is 0.5, and guide.share is above 0"},
           Refused{{"self_judging.share=0.5", "experts.share=0.5"},
                   "self_judging.share is 0.5, and experts.share is above 0"},
           Refused{{"environment.name=retry", "environment.command=[\"./env\"]"},
                   "environment.name is retry, and environment.command is set"},
           Refused{{"environment.command=[\"\"]"},
                   "the first word of environment.command is empty"},
           Refused{{"environment.command=[\"./env\"]",
                    "environment.components=[\"steps\", \"\", \"correct\", \"steps\"]"},
                   "environment.components has an empty name, correct twice, steps twice"},
           Refused{{"environment.command=[\"./env\"]", "environment.components=[\"style\"]",
                    "reward.command=[\"./grade\"]", "reward.components=[\"style\"]"},
                   "environment.components has style twice"},
           Refused{{"environment.command=[\"./env\"]", "environment.components=[\"judge\"]",
                    "judge.model=x"},
                   "environment.components has judge twice"},
           Refused{{"environment.command=[\"./env\"]", "environment.kinds=[\"look\", \"look\"]"},
                   "environment.kinds is [\"look\", \"look\"]"},
           Refused{{"environment.name=tools"},
                   "environment.name is tools, and environment.tools is empty"},
           Refused{{"environment.name=tools", "environment.tools=[\"python\", \"python\"]"},
                   "environment.tools has a name twice: python, python"},
           Refused{{"environment.name=tools", "environment.tools=[\"search\"]"},
                   "environment.tools has search, and environment.index is empty"},
           Refused{{"environment.index=[\"a\", \"b\"]"}, "which looks like a list"},
           Refused{{"environment.max_tokens=63"},
                   "sampling.max_new_tokens 64 exceeds environment.max_tokens 63"},
           Refused{{"sampling.turn_tokens=65"},
                   "sampling.turn_tokens 65 exceeds sampling.max_new_tokens 64"},
           Refused{{"environment.unforked=8"},
                   "environment.unforked is 8 of train.rollouts_per_prompt 8"},
           Refused{{"hints.shares=[]"}, "hints.shares is []"},
           Refused{{"hints.shares=[0.5, 0.25]"}, "hints.shares is [0.5, 0.25]"},
           Refused{{"hints.shares=[0.5, 1]"}, "hints.shares is [0.5, 1]"},
           Refused{{"hints.shares=[0, 0.5]"}, "hints.shares is [0, 0.5]"},
           Refused{{"hints.text={prompt}"}, "hints.text is \"{prompt}\", without {hint}"},
           Refused{{"hints.text=help"}, "without {prompt} and {hint}"},
           Refused{{"hints.source=row"}, "hints.source is row, and task.name is sorting"},
           Refused{{"hints.source=row", "hints.hint_key=", "task.file=q.jsonl"},
                   "hints.source is row, and hints.hint_key is empty"},
           Refused{{"second_pass.kind=refinement", "second_pass.share=0.01"},
                   "second_pass.share is 0.01 of train.prompts_per_step 64"},
           Refused{{"second_pass.kind=error", "train.prompts_per_step=2049"},
                   "that may make 8196 prompts a step"},
           Refused{{"second_pass.kind=refinement", "second_pass.of=every",
                    "train.prompts_per_step=1025"},
                   "that may make 8200 prompts a step"},
           Refused{{"second_pass.kind=refinement", "train.steps=4194304"},
                   "second_pass.share 1 of train.prompts_per_step 64 over train.steps 4194304"},
           Refused{{"second_pass.kind=refinement", "second_pass.refinement={prompt} again"},
                   "second_pass.refinement is \"{prompt} again\", without {response}"},
           Refused{{"second_pass.kind=refinement", "second_pass.feedback=reason",
                    "second_pass.refinement={response}"},
                   "second_pass.feedback is reason, and second_pass.refinement has no {feedback}"},
           Refused{{"second_pass.kind=error", "second_pass.error=wrong?"},
                   "second_pass.error is \"wrong?\", without {response}"},
           Refused{{"second_pass.kind=refinement", "second_pass.feedback=critique",
                    "second_pass.error=wrong?"},
                   "second_pass.error is \"wrong?\", without {response}"},
           Refused{{"second_pass.kind=counterpart"},
                   "second_pass.kind is counterpart, and reference.refresh_every is 0"},
           Refused{{"second_pass.kind=pool", "second_pass.numerics=cuda_bf16_sliced8"},
                   "second_pass.numerics is cuda_bf16_sliced8, and run.numerics is "
                   "fp32_fixed_order"},
           Refused{{"second_pass.buffer=0.01"},
                   "second_pass.buffer is 0.01 of train.prompts_per_step 64"},
           Refused{{"second_pass.buffer=0.5", "train.prompts_per_step=20000"},
                   "that may make 10000 prompts a step"},
           Refused{{"second_pass.buffer=0.5", "self_judging.share=0.5"},
                   "second_pass.buffer is 0.5, and self_judging.share is 0.5"},
           Refused{{"second_pass.buffer=0.5", "second_pass.refinement={prompt}"},
                   "second_pass.refinement is \"{prompt}\", without {response}"},
       }) {
    const std::string message = refusal(settings);
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_NE(message.find(" ("), std::string::npos) << message;
    EXPECT_NE(message.find("); "), std::string::npos) << message;
  }
  EXPECT_EQ(refusal({"task.file=[\"a.jsonl\", {path=\"b.jsonl\"}]"}), "accepted")
      << "the task of files reads several";
  EXPECT_EQ(refusal({"eval.validation_samples=4"}), "accepted");  // nothing validates
  EXPECT_EQ(refusal({"train.rollouts_per_prompt=32"}), "accepted");
}

/// What lies just inside the bounds of the test above, and what another kind does not read.
TEST(RunConfig, ConversationsAndSecondPassesWithinTheirBoundsAreAccepted) {
  for (const std::vector<std::string>& settings : {
           std::vector<std::string>{"environment.max_tokens=64", "sampling.turn_tokens=64"},
           {"environment.unforked=7"},
           {"environment.command=[\"./env\"]", "environment.components=[\"judge\"]"},
           {"environment.name=tools", "environment.tools=[\"search\"]", "environment.index=lines"},
           {"hints.source=row", "task.file=q.jsonl"},
           {"second_pass.kind=error", "train.prompts_per_step=2048"},
           {"second_pass.kind=refinement", "second_pass.of=every", "train.prompts_per_step=1024"},
           {"second_pass.kind=counterpart", "reference.refresh_every=8"},
           {"second_pass.kind=pool", "second_pass.numerics=bf16_sliced8",
            "train.prompts_per_step=9000"},
           {"second_pass.error=wrong?", "second_pass.refinement=again"},
           {"second_pass.buffer=0.4", "self_judging.share=0.5"},
       })
    EXPECT_EQ(refusal(settings), "accepted") << settings.front();
}

/// What goes on from a mended line is no sibling of the answers that it was made of.
TEST(RunConfig, ErrorsTrainInAGroupOfTheirOwnUnlessAPlaceIsNamed) {
  const auto placement = [](const std::vector<std::string>& settings) {
    return load_run_config({}, settings).second_pass.placement;
  };
  EXPECT_EQ(placement({}), "joins_parent");
  EXPECT_EQ(placement({"second_pass.kind=refinement"}), "joins_parent");
  EXPECT_EQ(placement({"second_pass.kind=error"}), "own_group");
  EXPECT_EQ(placement({"second_pass.kind=error", "second_pass.placement=joins_parent"}),
            "joins_parent");
}

TEST(RunConfig, MisspeltKeysAndNamesAreRefused) {
  EXPECT_NE(refusal({"train.step=3"}).find("did you mean train.steps?"), std::string::npos);
  EXPECT_NE(refusal({"text.tokenizer=bytes"}).find("did you mean byte?"), std::string::npos);
  EXPECT_NE(refusal({"run.layout=singel"}).find("did you mean single?"), std::string::npos);
  EXPECT_NE(refusal({"second_pass.kind=refine"}).find("did you mean refinement?"),
            std::string::npos);
  const std::string far = refusal({"second_pass.kind=xyz"});
  EXPECT_NE(far.find("; valid are \"\", refinement, error, counterpart, pool"), std::string::npos)
      << far;
  const std::string near_nothing = refusal({"second_pass.numerics=x"});
  EXPECT_EQ(near_nothing.find("did you mean"), std::string::npos)
      << "the empty text is one letter away: " << near_nothing;
}

TEST(RunConfig, KeysOfOtherTrainersLeadToOurs) {
  for (const auto& [theirs, ours] :
       {std::pair("learning_rate=1e-5", "here it is train.lr"),
        {"actor_rollout_ref.actor.optim.lr=1e-5", "here it is train.lr"},
        {"critic.optim.lr=1e-5", "here it is critic.lr"},
        {"data.train_files=x", "here it is task.file"},
        {"train.num_generations=8", "here it is train.rollouts_per_prompt"},
        {"actor_rollout_ref.rollout.n=8", "here it is train.rollouts_per_prompt"},
        {"max-completion-length=8", "here it is sampling.max_new_tokens"},
        {"actor_rollout_ref.rollout.multi_turn.max_assistant_turns=4",
         "here it is environment.max_turns"},
        {"grpo.max_rollout_turns=4", "here it is environment.max_turns"},
        {"agent_func_path=a.py", "here it is environment.command"}})
    EXPECT_NE(refusal({theirs}).find(ours), std::string::npos) << refusal({theirs});
  EXPECT_NE(refusal({"train.temperature=1"}).find("sampling.temperature or "), std::string::npos)
      << refusal({"train.temperature=1"});
  const std::string far = refusal({"zebra=1"});
  EXPECT_EQ(far.find("did you mean"), std::string::npos) << far;
}

TEST(RunConfig, AllThatIsWrongIsToldAtOnce) {
  const std::string read = refusal({"train.stepz=3", "train.lr=fast", "task.min_level=99"});
  for (const char* said : {"3 mistakes, one a line:", "train.stepz", "train.lr must be a number",
                           "task.min_level is 99"})
    EXPECT_NE(read.find(said), std::string::npos) << read;
  const std::string checked =
      refusal({"task.min_level=5", "task.max_level=4", "model.head_dim=33", "judge.ranks=1"});
  for (const char* said :
       {"3 mistakes, one a line:", "task.min_level 5", "model.head_dim 33", "judge.ranks is 1"})
    EXPECT_NE(checked.find(said), std::string::npos) << checked;
}

TEST(RunConfig, MistakesOfEveryKindAreToldAtOnceWithTheirPlaces) {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "run.toml",
      "[train]\nstepz = 3\nlr = \"fast\"\nepochs = 1000\nmini_batches = 65\non_nonfinite = \"ignore\"\n"
      "[model]\nhead_dim = 33\n[task]\nmin_level = 5\nmax_level = 4\nname = sorting\n"
      "[self_judging]\nshare = 0.5\npointwise = \"right?\"\npairwise = \"{first}\"\n");
  std::string said;
  try {
    load_run_config(file, {"eval.pass_k=17", "sampling.stop=[a", "judge.ranks=1"});
  } catch (const ConfigError& error) {
    said = error.what();
  }
  std::vector<std::string> expected{"13 mistakes, one a line:"};
  for (const int line : {2, 3, 4, 5, 6, 8, 10, 12, 15, 16})
    expected.push_back(file + ":" + std::to_string(line) + ": ");
  for (const char* set : {"--set eval.pass_k=17: eval.pass_k 17 exceeds",
                          "--set sampling.stop=[a: ", "--set judge.ranks=1: judge.ranks is 1"})
    expected.emplace_back(set);
  const auto lines = lines_of(said);
  ASSERT_EQ(lines.size(), expected.size()) << said;
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_TRUE(lines[i].starts_with(expected[i])) << lines[i] << "\n" << expected[i];
}

/// What could not be read has its default, of which nothing need be said.
TEST(RunConfig, AWrongSettingLeadsNoOtherCheckAstray) {
  for (const auto& [settings, key] : {
           Refused{{"train.rollouts_per_prompt=many", "scheduler.max_rollouts=4"},
                   "scheduler.max_rollouts 4"},
           Refused{{"task.nmae=corpus", "task.validation_prompts=-1"}, "made task"},
           Refused{{"reward.comand=[\"x\"]", "reward.components=[\"a\"]"},
                   "without reward.command"},
           Refused{{"eval.sampels=4", "eval.pass_k=17"}, "exceeds"},
           Refused{{"judge.modle=x", "judge.ranks=1"}, "judge.model is empty"},
       }) {
    const std::string said = refusal(settings);
    EXPECT_NE(said, "accepted");
    EXPECT_EQ(said.find(key), std::string::npos) << said;
  }
  const TemporaryFolder folder;
  const auto open = folder.write(
      "open.toml",
      "[task]\nmin_level = 5\nmax_level = 4\n[sampling]\nstop = [\n[model]\nhead_dim = 33\n");
  try {
    load_run_config(open, {"train.steps=many"});
    FAIL();
  } catch (const ConfigError& error) {
    const std::string said = error.what();
    // the list without an end, and what --set says
    EXPECT_NE(said.find("2 mistakes"), std::string::npos) << said;
    EXPECT_EQ(said.find("min_level 5"), std::string::npos)
        << "what is below the list may set it otherwise: " << said;
  }
}

TEST(RunConfig, PassKFollowsTheSamplesWhereItIsNotSet) {
  const auto pass_k = [](const std::vector<std::string>& settings) {
    return load_run_config({}, settings).eval.pass_k;
  };
  EXPECT_EQ(pass_k({}), 8);
  EXPECT_EQ(pass_k({"eval.samples=4"}), 4);
  EXPECT_EQ(pass_k({"eval.samples=100"}), 8);
  EXPECT_EQ(pass_k({"eval.samples=16", "eval.every=5", "eval.validation_samples=2"}), 2);
  EXPECT_EQ(pass_k({"eval.samples=4", "eval.pass_k=3"}), 3);
  EXPECT_NE(refusal({"eval.samples=4", "eval.pass_k=8"}).find("eval.pass_k 8 exceeds"),
            std::string::npos);
}

TEST(RunConfig, AFileOfQuestionsIsATaskOfItsOwn) {
  const RunConfig c = load_run_config("", {"task.file=q.jsonl"});
  EXPECT_EQ(c.task.name, "file");
  EXPECT_EQ(c.task.answer_marker, "auto");
  EXPECT_EQ(load_run_config("", {"task.file=q.txt", "task.name=corpus"}).task.answer_marker,
            "####");
}

TEST(RunConfig, OldNamesOfTheTaskOfFilesAreRead) {
  const RunConfig c =
      load_run_config("", {"task.name=jsonl", "task.file=q.jsonl", "task.question_key=q",
                           "task.answer_key=a", "task.domain_key=d", "task.prior_key=p"});
  EXPECT_EQ(c.task.name, "file");
  EXPECT_EQ(c.task.answer_marker, "auto") << "its defaults are those of the new name";
  EXPECT_EQ(c.task.fields.prompt, "q");
  EXPECT_EQ(c.task.fields.answer, "a");
  EXPECT_EQ(c.task.fields.domain, "d");
  EXPECT_EQ(c.task.fields.prior, "p");
}

TEST(RunConfig, AMissingRunFileIsAnInputError) {
  EXPECT_THROW(load_run_config("/no/such/run.toml", {}), InputError);
}

/// What is checked is what the step asks: parts of a group make no prompt.
TEST(RunConfig, ASecondPassCountsWholeGroups) {
  const auto refusal = [](const char* prompts) {
    try {
      load_run_config({}, {"second_pass.kind=error", "second_pass.share=0.5",
                           std::string("train.prompts_per_step=") + prompts});
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("4097").find("that may make"), std::string::npos) << "2048 groups of 4";
  EXPECT_NE(refusal("4098").find("that may make 8196 prompts a step"), std::string::npos);
}

}  // namespace
}  // namespace rollcall
