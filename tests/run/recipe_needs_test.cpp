// Which runs are refused, or told, because they would not be the method that their settings name:
// recipes without what they need, controls that are none, and weights, components and bounds that
// nothing reads.
#include "run/context/recipe_needs.hpp"

#include "base/errors/error.hpp"
#include "run/start/start_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

std::unique_ptr<const method::Objective> method_of(const RunConfig& c) {
  return method::make_objective(c.objective.recipe, c.objective.pieces, c.objective.knobs);
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(Weights, OfASchedulerAreRefusedWhereTheLossReadsNoAdvantage) {
  const auto weighs = [](const std::string& recipe, const std::string& policy,
                         const std::string& selection = "") {
    RunConfig config;
    config.objective.recipe = recipe, config.scheduler.policy = policy;
    return refusal([&] {
      check_weights(
          config, *method_of(config),
          *scheduling::make_scheduler({policy, "", "", "", selection}, {}, {.level = {1, 2}}, 1));
    });
  };
  for (const std::string recipe : {"online_dpo", "ipo_online", "inpo", "trpa", "disco", "pacs",
                                   "drpo-decoupled-reward", "real-labels", "otr"})
    for (const auto* policy : {"gdro_reweight", "gdro_both"})
      EXPECT_NE(weighs(recipe, policy).find("reads no advantage"), std::string::npos) << recipe;
  EXPECT_NE(weighs("disco", "dapo", "gdro_reweight").find("reads no advantage"), std::string::npos);
  for (const auto* policy : {"uniform", "gdro_resample", "dapo"})
    EXPECT_EQ(weighs("disco", policy), "") << policy;
  for (const auto* recipe : {"grpo", "nft", "dypo", "kimi15"})
    EXPECT_EQ(weighs(recipe, "gdro_reweight"), "") << recipe;
}

TEST(Control, IsRefusedWhereVerdictsAreNotAllThatTeaches) {
  const auto control = [](const std::string& recipe, const std::string& reward = "",
                          double experts = 0.0) {
    RunConfig config;
    config.task.shuffle_rewards = true, config.objective.recipe = recipe,
    config.experts.share = experts;
    if (!reward.empty()) config.objective.pieces = {{"reward", reward}};
    return refusal([&] { check_control(config, *method_of(config)); });
  };
  EXPECT_NE(control("on_policy_distillation").find("a teacher"), std::string::npos);
  EXPECT_NE(control("chord").find("worked solutions"), std::string::npos);
  EXPECT_NE(control("grpo", "", 0.5).find("worked solutions"), std::string::npos);
  EXPECT_NE(control("grpo", "confidence").find("reads no verdict"), std::string::npos);
  for (const auto* recipe : {"grpo", "psr-nsr-w-reinforce", "gdpo", "pacs"})
    EXPECT_EQ(control(recipe), "") << recipe;
  RunConfig judging;
  judging.task.shuffle_rewards = true, judging.self_judging.share = 0.5;
  EXPECT_NE(refusal([&] {
              check_control(judging, *method_of(judging));
            }).find("judge tasks are made of true verdicts"),
            std::string::npos);
}

TEST(Control, IsRefusedWherePromptsAreMadeOfVerdictsOrAnotherModelTeaches) {
  const auto control = [](const std::function<void(RunConfig&)>& change) {
    RunConfig config;
    config.task.shuffle_rewards = true;
    change(config);
    return refusal([&] { check_control(config, *method_of(config)); });
  };
  for (const auto* kind : {"refinement", "error", "pool", "counterpart"})
    EXPECT_NE(
        control([&](RunConfig& c) { c.second_pass.kind = kind; }).find("past the permutation"),
        std::string::npos)
        << kind;
  EXPECT_NE(
      control([](RunConfig& c) { c.second_pass.buffer = 0.5; }).find("second_pass.buffer is 0.5"),
      std::string::npos);
  for (const auto* policy : {"ghpo", "scaf_grpo", "adhint"})
    EXPECT_NE(
        control([&](RunConfig& c) { c.scheduler.policy = policy; }).find("asks again with help"),
        std::string::npos)
        << policy;
  EXPECT_NE(control([](RunConfig& c) { c.scheduler.rounds = "hints"; }).find("with help"),
            std::string::npos);
  EXPECT_EQ(
      control([](RunConfig& c) { c.scheduler.policy = "ghpo", c.scheduler.rounds = "single"; }),
      "");
  const auto compares = [](const std::string& recipe, const std::string& reference) {
    return [=](RunConfig& c) {
      c.objective.recipe = recipe, c.model.path = "base", c.reference.model = reference;
    };
  };
  EXPECT_NE(control(compares("grpo_kl", "other")).find("another model"), std::string::npos);
  EXPECT_EQ(control(compares("grpo_kl", "base")), "") << "it is the policy itself";
  EXPECT_EQ(control(compares("grpo_kl", "")), "");
  EXPECT_EQ(control(compares("grpo", "other")), "") << "nothing reads it";
  for (const auto* recipe : {"igpo", "a2tgpo"})
    EXPECT_NE(control([&](RunConfig& c) {
                c.objective.recipe = recipe;
              }).find("how probable the reference answer is"),
              std::string::npos)
        << recipe;
  const auto talks = [](const char* command) {
    return [=](RunConfig& c) {
      c.objective.recipe = "gigpo";
      if (command != nullptr) c.environment.command = {command};
    };
  };
  for (const char* command : {"./world", static_cast<const char*>(nullptr)})
    EXPECT_EQ(control(talks(command)), "") << "what turns are paid is permuted with the verdicts";
}

TEST(RecipeNeeds, ARowOfReplayHasItsChoiceAndItsOldPolicy) {
  const auto needs = [](const std::string& recipe, const std::string& choose,
                        const std::string& old_policy) {
    RunConfig config;
    config.objective.recipe = recipe, config.replay.share = 0.5, config.replay.choose = choose,
    config.replay.old_policy = old_policy;
    return refusal([&] {
      Faults faults;
      check_recipe_needs(config, faults);
      faults.require_none();
    });
  };
  EXPECT_NE(needs("skywork-r1v2-ssb", "uniform", "sampler").find("set replay.choose=advantage"),
            std::string::npos);
  EXPECT_EQ(needs("skywork-r1v2-ssb", "advantage", "sampler"), "");
  for (const auto* recipe : {"dots-rr", "remix-squeeze"}) {
    EXPECT_NE(needs(recipe, "uniform", "sampler").find("set replay.old_policy=current"),
              std::string::npos)
        << recipe;
    EXPECT_EQ(needs(recipe, "uniform", "current"), "") << recipe;
  }
}

TEST(RecipeNeeds, ARowOfUnsolvedPromptsHasASchedulerThatKeepsThem) {
  const auto needs = [](const std::string& policy, const std::string& selection = "",
                        const std::string& left_out = "") {
    RunConfig config;
    config.objective.recipe = "ngrpo", config.scheduler.policy = policy,
    config.scheduler.selection = selection;
    if (!left_out.empty()) config.scheduler.knobs = {{"left_out", left_out}};
    return refusal([&] {
      Faults faults;
      check_recipe_needs(config, faults);
      faults.require_none();
    });
  };
  for (const auto* policy : {"dapo", "dler", "brorl"})
    EXPECT_NE(needs(policy).find("set scheduler.knobs.left_out=solved"), std::string::npos)
        << policy;
  EXPECT_NE(needs("uniform", "informative").find("left_out=solved"), std::string::npos);
  EXPECT_NE(needs("dapo", "", "equal").find("left_out=solved"), std::string::npos);
  EXPECT_EQ(needs("dapo", "", "solved"), "");
  EXPECT_EQ(needs("dapo", "all"), "");
  EXPECT_EQ(needs("uniform_sqrt"), "");
}

TEST(RecipeNeeds, WhatARowGoesWithIsTold) {
  const auto told = [](const std::string& recipe, const std::string& policy = "uniform_sqrt",
                       std::int64_t rollouts = 8, const std::string& rounds = "") {
    RunConfig config;
    config.objective.recipe = recipe, config.scheduler.policy = policy,
    config.train.rollouts_per_prompt = rollouts, config.scheduler.rounds = rounds;
    std::string all;
    for (const auto& line : companions_told(config)) all += line + "\n";
    return all;
  };
  EXPECT_EQ(told("grpo"), "");
  EXPECT_NE(told("mssr", "uniform", 4).find("train.rollouts_per_prompt is 4"), std::string::npos);
  EXPECT_EQ(told("mssr", "uniform", 1), "");
  EXPECT_NE(told("spo-single-stream", "uniform", 1).find("goes with scheduler.policy spo"),
            std::string::npos);
  EXPECT_EQ(told("spo-single-stream", "spo", 1), "");
  EXPECT_NE(
      told("one-shot-rlvr").find("goes with scheduler.policy one_shot, and it is uniform_sqrt"),
      std::string::npos);
  EXPECT_NE(told("dapo").find("dapo or dler or greso or brorl"), std::string::npos);
  EXPECT_EQ(told("dapo", "greso"), "");
  EXPECT_EQ(told("dapo", "gdro_reweight", 8, "refill"), "");
  for (const std::string recipe : {"pcl", "dars", "wgrpo"}) EXPECT_NE(told(recipe), "") << recipe;
  EXPECT_EQ(told("dars", "dars_hw"), "");
}

/// A part is there if the scheduler has its piece, whichever row or key brings it.
TEST(RecipeNeeds, WhatARowGoesWithIsAPieceAndNotAName) {
  const auto told = [](const std::string& recipe, const std::string& policy,
                       const std::string& sampler = "", const std::string& rounds = "") {
    RunConfig config;
    config.objective.recipe = recipe, config.scheduler.policy = policy;
    config.scheduler.sampler = sampler, config.scheduler.rounds = rounds;
    std::string all;
    for (const auto& line : companions_told(config)) all += line + "\n";
    return all;
  };
  EXPECT_EQ(told("dapo", "dapo"), "");
  EXPECT_NE(told("dapo", "dapo", "", "single").find("it is dapo with single in place of refill"),
            std::string::npos);
  EXPECT_EQ(told("adhint", "ghpo"), "") << "prompts get help";
  EXPECT_EQ(told("adhint", "uniform", "", "hints"), "");
  EXPECT_NE(told("adhint", "uniform").find("no prompt gets help"), std::string::npos);
  EXPECT_EQ(told("rmt", "uniform", "tier_schedule"), "");
  EXPECT_NE(told("rmt", "rmt", "uniform").find("levels do not come"), std::string::npos);
  EXPECT_EQ(told("scalerl", "uniform").find("equal rewards"), std::string::npos)
      << "the recipe's own weight leaves them out";
}

/// Each row that needs a setting, with and without it.
TEST(RecipeNeeds, ARowWithoutItsSettingIsRefused) {
  using Change = std::function<void(RunConfig&)>;
  struct Case {
    const char *recipe, *says;
    std::vector<Change> lacking, met;
  };
  const Change nothing = [](RunConfig&) {};
  const auto schedules = [](const char* policy, const char* selection = "") {
    return [=](RunConfig& c) { c.scheduler.policy = policy, c.scheduler.selection = selection; };
  };
  const auto asks = [](const char* kind) {
    return [=](RunConfig& c) { c.second_pass.kind = kind; };
  };
  const Case cases[] = {
      {"pods",
       "set scheduler.policy=pods",
       {nothing, schedules("pods", "all"), schedules("rstar2_agent")},
       {schedules("pods"), schedules("uniform", "max_variance"),
        schedules("dapo", "max_variance")}},
      {"rstar2-agent",
       "set scheduler.policy=rstar2_agent",
       {nothing, schedules("rstar2_agent", "all"), schedules("pods")},
       {schedules("rstar2_agent"), schedules("uniform", "clean_positives")}},
      {"t1-inference-scaling",
       "set reference.decay",
       {nothing},
       {[](RunConfig& c) { c.reference.decay = 0.99; },
        [](RunConfig& c) { c.reference.refresh_every = 5; }}},
      {"llds",
       "set train.mini_batches or train.epochs above 1",
       {nothing},
       {[](RunConfig& c) { c.train.mini_batches = 2; }, [](RunConfig& c) { c.train.epochs = 2; }}},
      {"critique-grpo",
       "set second_pass.kind=refinement",
       {nothing, asks("error")},
       {asks("refinement")}},
      {"int-intervention-training",
       "set second_pass.kind=error",
       {nothing, asks("refinement")},
       {asks("error")}},
      {"seppo",
       "set second_pass.kind=counterpart",
       {nothing, asks("error")},
       {asks("counterpart")}},
      {"prompt-augmentation-grpo",
       "task.forms names none",
       {nothing, [](RunConfig& c) { c.task.forms = {"boxed"}; }},
       {[](RunConfig& c) {
         c.task.forms = {"boxed", "think"};
       }}},
      {"ton-thought-dropout",
       "set sft.thought_dropout",
       {[](RunConfig& c) { c.sft.steps = 5; }},
       {[](RunConfig& c) { c.sft.steps = 5, c.sft.thought_dropout = 0.5; }}},
  };
  for (const Case& row : cases) {
    const auto says = [&](const Change& change) {
      RunConfig config;
      config.objective.recipe = row.recipe;
      change(config);
      return refusal([&] {
        Faults faults;
        check_recipe_needs(config, faults);
        faults.require_none();
      });
    };
    for (const Change& change : row.lacking)
      EXPECT_NE(says(change).find(row.says), std::string::npos)
          << row.recipe << " says: " << says(change);
    for (const Change& change : row.met) EXPECT_EQ(says(change), "") << row.recipe;
  }
}

/// The table's names are rows of the two tables.
TEST(RecipeNeeds, WhatRowsGoWithIsThere) {
  const auto policies = scheduling::policy_names();
  for (const auto& recipe : method::library().recipes()) {
    RunConfig config;
    config.objective.recipe = recipe.name;
    for (const auto& line : companions_told(config)) {
      const std::string begin = "goes with scheduler.policy ";
      const auto at = line.find(begin);
      if (at == std::string::npos) continue;
      std::istringstream words(
          line.substr(at + begin.size(), line.find(", and it is") - at - begin.size()));
      for (std::string word; words >> word;)
        EXPECT_TRUE(word == "or" ||
                    std::find(policies.begin(), policies.end(), word) != policies.end())
            << line;
    }
  }
}

/// Two rows of one loss differ by what a run has beside it, so the second one asks for that.
TEST(RecipeNeeds, ARowWithTheLossOfAnotherIsRefusedByDefault) {
  const auto& rows = method::library().recipes();
  int alike = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[i].pieces != rows[j].pieces || rows[i].settings != rows[j].settings) continue;
      RunConfig config;
      config.objective.recipe = rows[i].name;
      EXPECT_NE(refusal([&] {
                  Faults faults;
                  check_recipe_needs(config, faults);
                  faults.require_none();
                }),
                "")
          << rows[i].name << " would train as " << rows[j].name;
      ++alike;
    }
  EXPECT_GT(alike, 0) << "prompt-augmentation-grpo has the loss of dapo";
}

TEST(RecipeNeeds, AnEnsembleHasTwoScorersThatCount) {
  RunConfig config;
  config.objective.recipe = "rm-ensemble-wco-uwo";
  const auto needs = [&] {
    return refusal([&] {
      Faults faults;
      check_recipe_needs(config, faults);
      faults.require_none();
    });
  };
  EXPECT_NE(needs().find("fewer than two components count"), std::string::npos)
      << "the task's verifier has correct and format, which do not count";
  config.reward.command = {"./grade"}, config.reward.components = {"a"};
  EXPECT_NE(needs().find("fewer than two components count"), std::string::npos);
  config.judge.model = "model", config.judge.component = "b";
  EXPECT_EQ(needs(), "");
  config.objective.knobs = {{"component_weights", "a=1, b=0"}};
  EXPECT_NE(needs().find("fewer than two components count"), std::string::npos)
      << "a weight of 0 leaves a scorer out";
  config.objective.knobs = {{"omit_components", "correct"}}, config.judge.model = "",
  config.reward.components = {"a", "b"};
  EXPECT_EQ(needs(), "");
  config.objective.knobs = {}, config.objective.recipe = "ace-rl", config.reward.components = {};
  EXPECT_NE(needs().find("no reward component counts"), std::string::npos);
  config.reward.components = {"clear"};
  EXPECT_EQ(needs(), "");
}

TEST(PolicyNeeds, ARunThatAllowsFewerRolloutsIsRefused) {
  RunConfig config;
  config.scheduler.policy = "dars_hw";
  const auto needs = [&](const scheduling::Knobs& knobs) {
    return refusal([&] {
      check_policy_needs(config,
                         *scheduling::make_scheduler({"dars_hw"}, knobs, {.level = {1, 2}}, 1));
    });
  };
  EXPECT_NE(needs({}).find("scheduler.max_rollouts=64"), std::string::npos);
  EXPECT_EQ(needs({{"depth_limit", "32"}}), "");
  config.scheduler.max_rollouts = 64;
  EXPECT_EQ(needs({}), "");
  const auto room = [&](const std::string& policy, std::int64_t most) {
    config.scheduler.policy = policy, config.scheduler.max_rollouts = most;
    return refusal([&] {
      check_policy_needs(config, *scheduling::make_scheduler({policy}, {}, {.level = {1, 2}}, 1));
    });
  };
  EXPECT_NE(room("knapsack", 8).find("set scheduler.max_rollouts=16"), std::string::npos);
  EXPECT_EQ(room("knapsack", 16), "");
  EXPECT_EQ(room("uniform_sqrt", 8), "") << "the default, which names no policy";
}

/// A constant on the scale of the reward, where the form of an answer or a command moves that scale.
TEST(RewardScale, IsToldWhereAConstantIsOnAnother) {
  const auto told = [](const std::string& recipe, double form, const method::Settings& knobs = {},
                       bool command = false) {
    RunConfig config;
    config.objective.recipe = recipe, config.objective.knobs = knobs;
    config.task.format_weight = form;
    if (command) config.reward.command = {"./grade"};
    return reward_scale_told(config, *method_of(config));
  };
  for (const auto& [recipe, says] : std::vector<std::pair<std::string, std::string>>{
           {"ngrpo", "1 for the largest reward (best_reward)"},
           {"bnpo", "1 for the largest reward (reward_high)"},
           {"v0-5", "1 for the largest reward (reward_high)"},
           {"cgpo-mixture-of-judges", "1 for the largest reward (reference_reward)"},
           {"topr", "1 for the largest reward (baseline)"},
           {"spo-single-stream", "shares of right answers"},
           {"mssr", "shares of right answers"},
           {"a-lol", "shares of right answers"}}) {
    EXPECT_NE(told(recipe, 0.5).find(says), std::string::npos)
        << recipe << ": " << told(recipe, 0.5);
    EXPECT_NE(told(recipe, 0.5).find("goes up to 1.5"), std::string::npos) << recipe;
    EXPECT_EQ(told(recipe, 0.0), "") << recipe;
    EXPECT_NE(told(recipe, 0.0, {}, true).find("reward.command gives"), std::string::npos);
  }
  EXPECT_EQ(told("ngrpo", 0.5, {{"best_reward", "1.5"}}), "");
  EXPECT_NE(told("ngrpo", 0.0, {{"best_reward", "1.5"}}).find("goes up to 1, and"),
            std::string::npos);
  EXPECT_EQ(told("bnpo", 0.5, {{"components", "mean"}}), "") << "it does not read the reward";
  for (const auto* recipe : {"grpo", "dler", "remax"}) EXPECT_EQ(told(recipe, 0.5), "") << recipe;
}

/// What a start says of settings of the reward that the loss does not read.
TEST(UnreadRewards, AreToldAsTheLossReadsThem) {
  const auto told = [](const std::function<void(RunConfig&)>& change) {
    RunConfig config;
    change(config);
    std::string all;
    for (const auto& line : unread_rewards_told(config, *method_of(config), false))
      all += line + "\n";
    return all;
  };
  const auto form = [&](const std::string& recipe, const method::Settings& knobs = {},
                        const method::Settings& pieces = {}) {
    return told([&](RunConfig& c) {
      c.objective.recipe = recipe, c.objective.knobs = knobs, c.objective.pieces = pieces;
      c.task.format_weight = 0.5;
    });
  };
  const std::string own = "component/format with a weight of its own",
                    nothing = "the form of an answer changes critic/score";
  for (const std::string recipe : {"gdpo", "rl-struct"}) {
    EXPECT_NE(form(recipe).find(own), std::string::npos) << form(recipe);
    EXPECT_EQ(form(recipe).find(nothing), std::string::npos) << form(recipe);
  }
  EXPECT_NE(form("bnpo", {{"components", "mean"}}).find(own), std::string::npos);
  EXPECT_EQ(form("bnpo"), "") << "it reads the reward";
  EXPECT_NE(form("gdpo", {{"component_weights", "format=0"}}).find(nothing), std::string::npos);
  EXPECT_NE(form("gdpo", {{"omit_components", "format"}}).find(nothing), std::string::npos);
  EXPECT_NE(form("ace-rl").find(nothing), std::string::npos) << "it omits format";
  EXPECT_NE(form("disco").find(nothing), std::string::npos);
  EXPECT_EQ(form("grpo"), "");
  const auto judge = [&](const method::Settings& knobs) {
    return told([&](RunConfig& c) {
      c.objective.pieces = {{"reward", "components"}}, c.objective.knobs = knobs;
      c.judge.model = "judge", c.judge.component = "clear";
    });
  };
  EXPECT_EQ(judge({}), "");
  for (const auto& knobs : {method::Settings{{"component_weights", "clear=0"}},
                            method::Settings{{"omit_components", "clear"}}})
    EXPECT_NE(judge(knobs).find("nothing is learnt from them"), std::string::npos);
}

TEST(RecipeNeeds, ARowThatWeighsHelpTrainsIt) {
  RunConfig config;
  config.objective.recipe = "adhint";
  const auto needs = [&] {
    return refusal([&] {
      Faults faults;
      check_recipe_needs(config, faults);
      faults.require_none();
    });
  };
  EXPECT_EQ(needs(), "") << "no help is given";
  config.scheduler.policy = "adhint";
  EXPECT_NE(needs().find("set hints.as=beginning and hints.learns=true"), std::string::npos);
  config.hints.as = "beginning";
  EXPECT_NE(needs().find("hints.learns"), std::string::npos);
  config.hints.learns = true;
  EXPECT_EQ(needs(), "");
}

}  // namespace
}  // namespace rollcall::run
