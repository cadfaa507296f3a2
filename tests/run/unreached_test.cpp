// Parts of an objective that a run never reaches: refused where the run file names them, told where
// they are the recipe's own.
#include "run/start/unreached.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {
namespace {

using Change = std::function<void(RunConfig&)>;

RunConfig config_of(const std::string& recipe, const method::Settings& pieces, const Change& change,
                    const method::Settings& knobs = {}) {
  RunConfig config;
  config.objective.recipe = recipe, config.objective.pieces = pieces;
  config.objective.knobs = knobs;
  config.scheduler.policy = "uniform";  // whose groups are all as large
  config.train.mini_batches = config.train.epochs = 1, config.train.rollouts_per_prompt = 8;
  config.sampling.max_new_tokens = 1000;
  change(config);
  return config;
}

std::unique_ptr<const method::Objective> method_of(const RunConfig& c) {
  return method::make_objective(c.objective.recipe, c.objective.pieces, c.objective.knobs);
}

const Change kNothing = [](RunConfig&) {};

std::string refusal(const std::string& recipe, const method::Settings& pieces,
                    const Change& change = kNothing, const method::Settings& knobs = {}) {
  const RunConfig config = config_of(recipe, pieces, change, knobs);
  try {
    Faults faults;
    check_unreached(config, *method_of(config), faults);
    faults.require_none();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

std::string told(const std::string& recipe, const Change& change = kNothing,
                 const method::Settings& pieces = {}) {
  const RunConfig config = config_of(recipe, pieces, change);
  std::string all;
  for (const auto& line : unreached_told(config, *method_of(config))) all += line + "\n";
  return all;
}

TEST(Unreached, PiecesThatARunFileNamesAreRefused) {
  const Change hints = [](RunConfig&c) { c.scheduler.policy = "ghpo"; },
               again = [](RunConfig&c) { c.second_pass.kind = "refinement"; },
               guide = [](RunConfig&c) { c.guide.share = 0.5; },
               odd = [](RunConfig&c) { c.train.rollouts_per_prompt = 9; };
  struct Case {
    method::Settings pieces;
    const char* says;
    std::vector<Change> met;
  };
  for (const auto& [pieces, says, met] : std::vector<Case>{
           {{{"regularizer", "given_nll"}}, "no tokens are given", {hints, again, guide}},
           {{{"regularizer", "entropy+given_nll"}}, "no tokens are given", {hints}},
           {{{"weight", "drop_after_given"}}, "no tokens are given", {hints, again}},
           {{{"weight", "hint_consistency"}}, "no tokens are given", {hints, again}},
           {{{"surrogate", "shaped_off_policy"}}, "no answer is written again", {again}},
           {{{"weight", "drop_pivot"}}, "an even number of rollouts", {odd}}}) {
    EXPECT_NE(refusal("grpo", pieces).find(says), std::string::npos) << refusal("grpo", pieces);
    for (const Change& change : met) EXPECT_EQ(refusal("grpo", pieces, change), "") << says;
  }
  EXPECT_EQ(refusal("mc-grpo", {{"weight", "drop_pivot"}}), "") << "the row's own";
}

TEST(Unreached, AReferenceThatIsThePolicyIsRefused) {
  const Change copies = [](RunConfig&c) { c.reference.refresh_every = 1; },
               follows = [](RunConfig&c) { c.reference.decay = 0.0; };
  EXPECT_NE(refusal("grpo_kl", {}, copies).find("refresh_every is 1"), std::string::npos);
  EXPECT_NE(refusal("grpo_kl", {}, follows).find("decay is 0"), std::string::npos);
  EXPECT_EQ(refusal("grpo_kl", {}, [](RunConfig& c) { c.reference.refresh_every = 2; }), "");
  EXPECT_EQ(refusal("grpo_kl", {},
                    [](RunConfig& c) { c.reference.refresh_every = 1, c.train.mini_batches = 2; }),
            "");
  EXPECT_EQ(refusal("grpo", {}, copies), "") << "it has no reference";
}

TEST(Unreached, MomentsOfAllAreRefusedAsThoseOfSome) {
  const method::Settings trained{{"moments_of", "trained"}};
  EXPECT_NE(refusal("grpo", {}, kNothing, trained).find("all rollouts of a group train"),
            std::string::npos);
  EXPECT_EQ(refusal(
                "grpo", {}, [](RunConfig& c) { c.scheduler.policy = "pods"; }, trained),
            "");
}

TEST(Unreached, PartsOfARecipeAreTold) {
  EXPECT_NE(told("mc-grpo").find("weight drop_pivot of objective.recipe mc-grpo changes nothing"),
            std::string::npos);
  EXPECT_EQ(told("mc-grpo", [](RunConfig& c) { c.train.rollouts_per_prompt = 9; }), "");
  EXPECT_EQ(told("mc-grpo", kNothing, {{"weight", "none"}}), "") << "the run file leaves it out";
  EXPECT_NE(told("rlgf").find("goes with guide.share"), std::string::npos);
  EXPECT_EQ(told("rlgf", [](RunConfig& c) { c.guide.share = 0.5; }), "");
  EXPECT_EQ(told("grpo"), "");
}

TEST(Unreached, ConstantsOfLongAnswersAreToldWhereAnswersAreShort) {
  const auto answers = [](std::int64_t tokens) {
    return [=](RunConfig& c) { c.sampling.max_new_tokens = tokens; };
  };
  EXPECT_NE(told("demystify-long-cot", answers(40)).find("counts from 41 tokens on"),
            std::string::npos);
  EXPECT_EQ(told("demystify-long-cot", answers(41)), "");
  EXPECT_NE(told("vapo", answers(20)).find("objective.knobs.length_alpha of advantage gae"),
            std::string::npos);
  EXPECT_EQ(told("vapo", answers(21)), "");
  EXPECT_NE(told("rmt", answers(6)).find("budget_start of reward triangular_length"),
            std::string::npos);
  EXPECT_EQ(told("rmt", answers(160)), "");
  EXPECT_EQ(told("ppo", answers(6)), "") << "its lambda is one for all lengths";
}

}  // namespace
}  // namespace rollcall::run
