// The scheduler's rewards are those that the update makes of the same rollouts, round by round,
// permuted
// with them; what only the update knows is refused.
#include "run/step/heard_rewards.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "run/random_batch.hpp"
#include "run/scoring/scoring.hpp"
#include "run/step/step_wire.hpp"
#include "run/step/undecided.hpp"
#include "scheduling/composed.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

namespace rollcall::run {
namespace {

std::unique_ptr<const method::Objective> method_of(const RunConfig& c) {
  return method::make_objective(c.objective.recipe, c.objective.pieces, c.objective.knobs);
}

RunConfig shaped_config() {
  RunConfig config;
  config.objective.recipe = "dapo";
  config.objective.pieces = {{"reward", "majority_vote+length_target"}};
  config.sampling.max_new_tokens = 20;
  return config;
}

/// What scoring reports of the batch, and what it sends along.
std::vector<GroupReport> reports_of(const StepBatch& batch, const RunConfig& config) {
  RolloutShard shard;
  ScoredShard scores;
  shard.groups = batch.groups, scores.component_names = batch.component_names,
  scores.scores = batch.scores;
  auto reports = report(shard, scores, undecided_of(config)).groups;
  settle_rewards(reports, lowest_reward(std::array{&std::as_const(reports)}));
  return reports;
}

/// As the update closes the step.
std::vector<std::vector<double>> by_update(StepBatch batch, const RunConfig& config) {
  close_step(batch, config, 3);
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto columns = make_train_batch(batch, all, 1 << 20, config.sampling.max_new_tokens).columns;
  columns.seed = std::uint64_t(config.run.seed), columns.step = 3;
  return rewards_by_group(*method_of(config), columns, batch);
}

void expect_same(const std::vector<GroupReport>& heard,
                 const std::vector<std::vector<double>>& rewards) {
  std::vector<std::vector<double>> told;
  for (const GroupReport& report : heard)
    if (!report.rewards.empty()) told.push_back(report.rewards);
  EXPECT_EQ(told, rewards);
}

TEST(HeardRewards, AreThoseOfTheUpdate) {
  for (const bool shuffled : {false, true})
    for (const char* undecided : {"drop", "wrong"}) {
      RunConfig config = shaped_config();
      config.task.shuffle_rewards = shuffled, config.reward.undecided = undecided;
      const auto objective = method_of(config);
      const StepBatch batch = random_batch(11, 12);
      HeardRewards heard(config, *objective, true);
      heard.begin(3, 0.0);
      heard.add(to_wire(batch));
      auto reports = reports_of(batch, config);
      heard.rewrite({&reports});
      expect_same(reports, by_update(batch, config));
    }
}

TEST(HeardRewards, OfARoundAreAGroupsLast) {
  const RunConfig config = shaped_config();
  const auto objective = method_of(config);
  const StepBatch batch = random_batch(12, 6);
  StepBatch first = batch, second = batch;
  // samples ascend: the first of a group came a round earlier
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    first.groups[g].rollouts.resize(1), first.scores[g].resize(1);
    second.groups[g].rollouts.erase(second.groups[g].rollouts.begin()),
        second.scores[g].erase(second.scores[g].begin());
  }
  HeardRewards heard(config, *objective, true);
  heard.begin(3, 0.0);
  heard.add(to_wire(first)), heard.add(to_wire(second));
  auto whole = reports_of(batch, config), later = reports_of(second, config);
  heard.rewrite({&whole}), heard.rewrite({&later});
  for (std::size_t g = 0; g < whole.size(); ++g) {
    const auto& all = whole[g].rewards;
    const auto& last = later[g].rewards;
    ASSERT_LE(last.size(), all.size());
    EXPECT_TRUE(std::equal(last.begin(), last.end(), all.end() - std::ptrdiff_t(last.size())));
  }
}

TEST(HeardRewards, APermutationReachesASchedulerThatHearsTheVerifier) {
  RunConfig config;
  config.task.shuffle_rewards = true;
  const auto objective = method_of(config);
  StepBatch batch = random_batch(13, 12);
  auto reports = reports_of(batch, config);
  HeardRewards heard(config, *objective, false);
  heard.begin(3, 0.0);
  heard.rewrite({&reports});
  expect_same(reports, by_update(batch, config));
  settle_undecided(batch, true);
  shuffle_rewards(batch, std::uint64_t(config.run.seed), 3);
  std::size_t g = 0;
  for (const GroupReport& report : reports) {
    if (report.rewards.empty()) continue;
    for (std::size_t i = 0; i < report.correct.size(); ++i)
      EXPECT_EQ(report.correct[i] != 0, batch.scores[g][i].correct);
    ++g;
  }
}

/// DAPO draws until the groups that teach fill the step. The control's rounds go by a permutation
/// of the step so far, and the update by that of the whole step: they must be the same at the end,
/// or the control trains on fewer groups than its run.
TEST(HeardRewards, APermutationGoesOverDerivedGroupsInTheOrderOfTheUpdate) {
  RunConfig config;
  config.task.shuffle_rewards = true;
  const auto objective = method_of(config);
  HeardRewards heard(config, *objective, false);
  heard.begin(3, 0.0);
  const auto report = [](const GroupId& id, std::vector<double> rewards) {
    GroupReport made{.id = id, .rewards = std::move(rewards)};
    for (const double reward : made.rewards) made.correct.push_back(reward > 4.0 ? 1 : 0);
    return made;
  };
  // A further draw of the first prompt comes before the second prompt.
  std::vector<GroupReport> reports{report({3, {5}, 0}, {1, 2, 3}), report({3, {6}, 0}, {4, 5})},
      derived{report({3, {5}, 2048}, {6, 7, 8})};
  StepBatch step;
  for (const GroupReport* one : {&reports[0], &derived[0], &reports[1]}) {
    Group group{.id = one->id, .rollouts = std::vector<Rollout>(one->rewards.size())};
    std::vector<Score> scores;
    for (const double reward : one->rewards)
      scores.push_back({.components = {}, .reward = reward, .correct = reward > 4.0});
    step.groups.push_back(std::move(group)), step.scores.push_back(std::move(scores));
  }
  close_step(step, config, 3);
  heard.rewrite({&reports, &derived});
  std::vector<double> told, trained;
  for (const GroupReport* one : {&reports[0], &derived[0], &reports[1]})
    told.insert(told.end(), one->rewards.begin(), one->rewards.end());
  for (const auto& scores : step.scores)
    for (const Score& score : scores) trained.push_back(score.reward);
  EXPECT_EQ(told, trained);
  EXPECT_NE(told, (std::vector<double>{1, 2, 3, 6, 7, 8, 4, 5})) << "nothing was permuted";
}

TEST(HeardRewards, AControlFillsItsStepAsItsRunDoes) {
  RunConfig config;
  const auto objective = method_of(config);
  for (std::uint64_t step = 1; step <= 20; ++step)
    for (const bool shuffled : {false, true}) {
      config.task.shuffle_rewards = shuffled;
      HeardRewards heard(config, *objective, false);
      heard.begin(step, 0.0);
      const auto policy =
          scheduling::make_scheduler({"dapo"}, {}, {.level = std::vector<std::int32_t>(400)}, 1);
      const scheduling::StepRequest request{
          .step = step, .prompts = 8, .budget = 32, .min_rollouts = 4, .max_rollouts = 4};
      std::vector<GroupReport> all;
      for (auto decision = policy->begin_step(request);;) {
        std::vector<GroupReport> latest;
        for (const GroupPlan& plan : decision.groups) {
          GroupReport& report = latest.emplace_back(GroupReport{.id = plan.id});
          for (std::uint32_t i = 0; i < plan.count; ++i) {
            const bool right =
                RandomStream(9, RandomPurpose::objective, step, plan.id.prompt.value, i)
                    .uniform(0) < 0.3;
            report.rewards.push_back(right ? 1.0 : 0.0), report.correct.push_back(right ? 1 : 0),
                report.lengths.push_back(1);
          }
        }
        std::sort(latest.begin(), latest.end(),
                  [](const auto& a, const auto& b) { return a.id < b.id; });
        scheduling::merge_reports(all, latest);
        if (decision.last_round) break;
        decision = heard.next_round(*policy, request, latest, all, {});
      }
      heard.rewrite({&all});
      const auto training = policy->settle(request, all);
      EXPECT_EQ(training.trained, 32)
          << "step " << step << (shuffled ? ", permuted: " : ": ") << training.trained;
    }
}

/// Where the recipe compares with greedy answers, a prompt without one leaves the step before its
/// verdicts are permuted.
TEST(HeardRewards, AGroupLeavesWithItsGreedyAnswer) {
  for (const bool by_rollouts : {false, true})
    for (const bool shuffled : {false, true}) {
      RunConfig config = by_rollouts ? shaped_config() : RunConfig();
      config.task.shuffle_rewards = shuffled;
      if (!by_rollouts && !shuffled) continue;  // nothing is rewritten
      const auto objective = method_of(config);
      StepBatch batch = random_batch(15, 12);
      const PromptId without = batch.groups[2].id.prompt;
      std::vector<GroupReport> greedy;
      for (const Group& group : batch.groups) {
        if (!batch.greedy.emplace(group.id.prompt, group.id.prompt == without ? std::nan("") : 0.25)
                 .second)
          continue;
        GroupReport& report = greedy.emplace_back(GroupReport{.id = {3, group.id.prompt, 0}});
        if (group.id.prompt == without) report.dropped = 1;
        else report.rewards = {0.25}, report.correct = {0};
      }
      auto reports = reports_of(batch, config);
      HeardRewards heard(config, *objective, by_rollouts);
      heard.begin(3, 0.0);
      StepBatch sent = batch;
      sent.greedy.clear();  // scoring sends training rollouts alone
      heard.add(to_wire(sent));
      heard.rewrite({&reports}, greedy);
      expect_same(reports, by_update(batch, config));
      for (std::size_t g = 0; g < reports.size(); ++g) {
        EXPECT_EQ(reports[g].rewards.empty() && reports[g].id.prompt == without,
                  reports[g].id.prompt == without);
        EXPECT_EQ(drawn(reports[g]), std::int64_t(batch.groups[g].rollouts.size()))
            << "budgets count what was drawn";
      }
    }
}

TEST(HeardRewards, GroupsThatDifferInTheRecipesRewardAreNotDead) {
  RunConfig config;
  config.objective.recipe = "dapo_overlong", config.sampling.max_new_tokens = 4;
  StepBatch batch = random_batch(14, 2);
  for (std::size_t g = 0; g < 2; ++g)
    for (auto& score : batch.scores[g])
      score = {.components = {0, 0}, .reward = 0.0, .correct = false};
  for (auto* group : {&batch.groups[0], &batch.groups[1]}) {
    group->rollouts.resize(1), batch.scores[std::size_t(group - batch.groups.data())].resize(1);
    Rollout again = group->rollouts[0];
    again.sample += 1, again.turns.resize(2), again.facts = {};
    auto& turn = again.turns[1];
    turn = {.role = Role::policy,
            .tokens = {5, 5, 5, 5},
            .columns = {.logprob = {-1, -1, -1, -1}, .entropy = {1, 1, 1, 1}},
            .policy_version = {1, 1, 1, 1}};
    group->rollouts[0].turns.resize(1), group->rollouts[0].facts = {};
    group->rollouts.push_back(again),
        batch.scores[std::size_t(group - batch.groups.data())].push_back({.components = {0, 0}});
  }
  auto reports = reports_of(batch, config);
  EXPECT_FALSE(scheduling::informative(reports[0]));
  const auto objective = method_of(config);
  HeardRewards heard(config, *objective, true);
  heard.begin(3, 0.0);
  heard.add(to_wire(batch));
  heard.rewrite({&reports});
  EXPECT_TRUE(scheduling::informative(reports[0]));  // the second was cut at the limit and pays for
                                                     // it
  EXPECT_EQ(equal_share(batch, by_update(batch, config)), 0.0);
}

TEST(HeardRewards, GroupsThatOnlyRoundingPartsAreDead) {
  const StepBatch batch = random_batch(14, 2);
  std::vector<std::vector<double>> rewards;
  for (const auto& scores : batch.scores) rewards.emplace_back(scores.size(), 0.6);
  for (auto& of_group : rewards) of_group.back() = 0.6000000000000001;
  EXPECT_EQ(equal_share(batch, rewards), 1.0);
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

std::string hears(const RunConfig& config, const std::string& policy) {
  return refusal([&] {
    check_hears(config, *method_of(config),
                *scheduling::make_scheduler({policy}, {}, {.level = {1, 2}}, 1));
  });
}

TEST(HeardRewards, ThatOnlyTheUpdateKnowsAreRefused) {
  RunConfig config;
  config.objective.pieces = {{"reward", "kl_limit"}};
  EXPECT_NE(hears(config, "dapo").find("scheduler.hears=verifier"), std::string::npos);
  EXPECT_EQ(hears(config, "uniform_sqrt"), "");  // it asks who was right
  config.scheduler.hears = "verifier";
  EXPECT_EQ(hears(config, "dapo"), "");
  EXPECT_NE(hears(config, "uniform").find("reads no rewards"), std::string::npos);
  config.scheduler.hears = "reward", config.replay.share = 0.5, config.replay.choose = "advantage";
  EXPECT_NE(hears(config, "uniform_sqrt").find("replay.choose"), std::string::npos);
  config.objective.pieces = {{"reward", "confidence"}};
  EXPECT_EQ(hears(config, "dapo"), "");
  config.hints.learns = true;  // no one has sampled these tokens, which have no entropies yet
  EXPECT_NE(hears(config, "dapo").find("hints.learns=false"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::run
