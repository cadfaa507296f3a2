// Pieces that change nothing where every ratio is 1 are told once, and refused where the run file
// names them.
#include "run/start/on_policy.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {
namespace {

RunConfig config_of(const std::string& recipe, const method::Settings& pieces = {},
                    const method::Settings& knobs = {}) {
  RunConfig config;
  config.objective.recipe = recipe;
  config.objective.pieces = pieces, config.objective.knobs = knobs;
  config.train.mini_batches = config.train.epochs = 1;
  return config;
}

std::unique_ptr<const method::Objective> method_of(const RunConfig& c) {
  return method::make_objective(c.objective.recipe, c.objective.pieces, c.objective.knobs);
}

std::string refusal(const RunConfig& config) {
  try {
    check_idle_pieces(config, *method_of(config));
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

IdleTold told(const RunConfig& config) { return idle_told(config, *method_of(config)); }

TEST(IdlePieces, ThatARunFileNamesAreRefused) {
  for (const std::string weight : {"tis", "importance", "reject", "opsm", "ess_lr"})
    EXPECT_NE(refusal(config_of("grpo", {{"weight", weight}})).find("set train.mini_batches"),
              std::string::npos)
        << weight;
  for (const std::string regularizer : {"lazy_likelihood", "kl_hinge", "policy_drift", "kl_cov"})
    EXPECT_NE(refusal(config_of("grpo", {{"regularizer", "entropy+" + regularizer}}))
                  .find("names regularizer " + regularizer),
              std::string::npos)
        << regularizer;
  const RunConfig anchored = config_of("grpo", {{"regularizer", "kl"}}, {{"kl_anchor", "old"}});
  EXPECT_NE(refusal(anchored).find("names regularizer kl"), std::string::npos);
  EXPECT_EQ(refusal(config_of("grpo", {{"regularizer", "kl"}})), "") << "from the reference";
  EXPECT_EQ(refusal(config_of("grpo", {{"ratio", "sequence"}})), "") << "it is warned of";
  EXPECT_EQ(refusal(config_of("cpgd", {{"regularizer", "policy_drift"}})), "") << "the row's own";
}

TEST(IdlePieces, ActInOtherRuns) {
  const std::vector<std::function<void(RunConfig&)>> changes{
      [](RunConfig& c) { c.train.mini_batches = 2; },
      [](RunConfig& c) { c.train.epochs = 2; },
      [](RunConfig& c) { c.replay.share = 0.5; },
      [](RunConfig& c) { c.experts.share = 0.1; },
      [](RunConfig& c) { c.guide.share = 0.1; },
      [](RunConfig& c) { c.second_pass.kind = "refinement"; },
      [](RunConfig& c) { c.scheduler.policy = "ghpo"; },
      [](RunConfig& c) { c.train.from_archive = "run"; },
      [](RunConfig& c) { c.run.numerics = "cuda_bf16_sliced8"; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RunConfig named = config_of("grpo", {{"weight", "tis"}}), row = config_of("gspo");
    changes[i](named), changes[i](row);
    EXPECT_EQ(refusal(named), "") << i;
    EXPECT_EQ(told(row).sentence, "") << i;
  }
}

TEST(IdlePieces, AreToldOnceWithTheRowThatActsAlike) {
  const auto says = [](const std::string& recipe, const std::string& other) {
    const IdleTold line = told(config_of(recipe));
    EXPECT_FALSE(line.is_warning) << recipe;
    EXPECT_NE(line.sentence.find("objective.recipe " + recipe + " has the derivative of " + other),
              std::string::npos)
        << line.sentence;
  };
  says("gspo", "grpo, and ratio sequence changes nothing"), says("decoupled_seq_is_rs", "grpo");
  says("ppo_dual_clip", "grpo"), says("cispo", "dapo"), says("ppo_kl_penalty", "ppo");
  for (const auto* recipe : {"grpo", "dapo", "dr_grpo", "ppo", "kimi15", "gdpo"})
    EXPECT_EQ(told(config_of(recipe)).sentence, "") << recipe;
  const IdleTold drift = told(config_of("cpgd"));
  EXPECT_NE(drift.sentence.find("regularizer policy_drift changes nothing"), std::string::npos);
  EXPECT_FALSE(drift.is_warning);
  const IdleTold named = told(config_of("grpo", {{"ratio", "sequence"}}));
  EXPECT_NE(named.sentence.find("ratio sequence changes nothing"), std::string::npos);
  EXPECT_TRUE(named.is_warning);
}

}  // namespace
}  // namespace rollcall::run
