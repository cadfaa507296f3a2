// Which schedulers hear rewards, told by what they do: with the same right answers and other
// rewards a
// policy that says that it hears none decides the same, and every piece that says so is found out.
#include "scheduling/schedulers.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

namespace rollcall::scheduling {
namespace {

/// Right and wrong by the address of the sample; rewards are those, or fractions that differ by it.
std::vector<GroupReport> reports_of(const std::vector<GroupPlan>& plans, bool fractions) {
  std::vector<GroupReport> reports;
  for (const GroupPlan& plan : plans) {
    GroupReport r = outcome(plan);
    r.predicted.assign(r.rewards.size(), 0.5), r.diversity = 0.5;
    for (std::size_t i = 0; i < r.rewards.size() && fractions; ++i)
      r.rewards[i] =
          0.5 * r.rewards[i] + 0.01 * double((plan.first_sample + i + plan.id.prompt.value) % 7);
    reports.push_back(std::move(r));
  }
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return reports;
}

/// Decisions, training and bins of some steps, as text. `weighs`: set where a group's weight is not
/// 1.
std::string run(const SchedulerChoice& choice, const Knobs& knobs, bool fractions,
                bool* weighs = nullptr) {
  PromptTable table = prompt_table(200);
  table.domain.assign(200, 0), table.prior.assign(200, 0.5F);
  const auto policy = make_scheduler(choice, knobs, table, 3);
  std::string text;
  for (std::uint64_t step = 1; step <= 30; ++step) {
    const StepRequest request{.step = step,
                              .prompts = 8,
                              .budget = 64,
                              .min_rollouts = 2,
                              .max_rollouts = 16,
                              .progress = double(step) / 30};
    std::vector<GroupReport> all;
    for (Decision round = policy->begin_step(request);;) {
      text += describe({round});
      const auto reports = reports_of(round.groups, fractions);
      for (const GroupReport& report : reports) all.push_back(report);
      if (round.last_round) break;
      round = policy->next_round(request, reports);
    }
    std::map<GroupId, GroupReport> whole;
    for (const GroupReport& part : all) {
      auto& group = whole.try_emplace(part.id, no_results(part.id, part.level)).first->second;
      group.from = part.from;
      const auto append = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(group.rewards, part.rewards), append(group.correct, part.correct);
      append(group.lengths, part.lengths), append(group.predicted, part.predicted);
      group.diversity = 0.5;
    }
    all.clear();
    for (const auto& [id, report] : whole) all.push_back(report);
    for (const GroupTraining& group : policy->settle(request, all).groups) {
      text += std::to_string(group.id.prompt.value) + " " + std::to_string(group.weight);
      if (weighs != nullptr && group.weight != 1.0) *weighs = true;
      for (const auto keep : group.keep) text += keep != 0 ? "+" : "-";
    }
    policy->end_step(all);
  }
  return text;
}

TEST(HearsRewards, AreToldByWhatAPolicyDoes) {
  for (const auto& row : policy_names()) {
    const auto policy = make_scheduler({row}, {}, prompt_table(4), 1);
    const bool differs = run({row}, {}, false) != run({row}, {}, true);
    EXPECT_TRUE(policy->traits().hears_rewards || !differs)
        << row << " hears rewards and does not say so";
    const auto knobs = knob_names({row});
    const auto has = [&](const char* knob) {
      return std::find(knobs.begin(), knobs.end(), knob) != knobs.end();
    };
    // whose default is a loss; others hear rewards
    const bool by_loss = has("signal") || has("arm_signal");
    const bool rare = row == "gdro_sqrt";  // its bins differ in variance only after longer
    EXPECT_TRUE(differs || !policy->traits().hears_rewards || by_loss || rare)
        << row << " says that it hears rewards";
  }
}

TEST(Weighs, IsToldByWhatAPolicyDoes) {
  for (const auto& row : policy_names()) {
    bool weighs = false;
    run({row}, {}, true, &weighs);
    const bool says = make_scheduler({row}, {}, prompt_table(4), 1)->traits().weighs;
    EXPECT_TRUE(says || !weighs) << row << " weighs and does not say so";
    EXPECT_TRUE(weighs || row != "gdro_reweight") << "the step shows it";
    const bool never = row == "uniform" || row == "dapo" || row == "gdro_resample";
    EXPECT_FALSE(never && says) << row;
  }
}

}  // namespace
}  // namespace rollcall::scheduling
