// Closes a copy of the step in the same way as the update (close_step), each time the scheduler is
// asked.
#include "run/step/heard_rewards.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/differing.hpp"
#include "base/text/joined.hpp"
#include "core/derived_prompt.hpp"
#include "method/columns.hpp"
#include "run/context/column_sources.hpp"
#include "run/step/step_wire.hpp"
#include "run/step/undecided.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace rollcall::run {

bool hears_recipe(const RunConfig& config, const method::Objective& objective) {
  return config.scheduler.hears == "reward" && !objective.reward_source().is_verifiers;
}

void check_hears(const RunConfig& config, const method::Objective& objective,
                 const scheduling::Scheduler& policy) {
  const bool replays = config.replay.share > 0 && config.replay.choose == "advantage";
  const bool schedules = config.train.from_archive.empty() && policy.traits().hears_rewards;
  require<ConfigError>(
      config.scheduler.hears == SchedulerSection{}.hears || schedules || replays,
      fmt::format("scheduler.hears is {}, and scheduler.policy {} reads no rewards",
                  config.scheduler.hears, config.scheduler.policy),
      "nothing would read it", "leave scheduler.hears out, or choose another scheduler.policy");
  if (!hears_recipe(config, objective)) return;
  const auto late = objective.reward_source().late;
  require<ConfigError>(
      late.empty() || !(schedules || replays),
      fmt::format("objective.pieces.reward holds {}, and {} goes by rewards", fmt::join(late, ", "),
                  schedules ? "scheduler.policy " + config.scheduler.policy
                            : std::string("replay.choose=advantage")),
      "that reward is known only once the update has run its passes",
      "set scheduler.hears=verifier, or choose another policy");
  const auto columns = objective.columns();
  const bool reads_entropies =
      std::find(columns.begin(), columns.end(), method::column::old_entropy) != columns.end();
  require<ConfigError>(
      !reads_entropies || !learns_given(config, objective) || !(schedules || replays),
      fmt::format("objective.recipe {} reads entropies, {} goes by rewards, and beginnings that "
                  "were given train",
                  config.objective.recipe,
                  schedules ? "scheduler.policy " + config.scheduler.policy
                            : std::string("replay.choose=advantage")),
      "the entropies of these beginnings are known only once the update has run its passes",
      "set scheduler.hears=verifier, or hints.learns=false");
}

bool sends_rollouts(const RunConfig& config, const method::Objective& objective,
                    const scheduling::Scheduler& policy) {
  return hears_recipe(config, objective) && policy.traits().hears_rewards;
}

std::vector<std::vector<double>> rewards_by_group(const method::Objective& objective,
                                                  const method::StepColumns& columns,
                                                  const StepBatch& batch) {
  const auto paid = objective.rewards(columns);
  std::vector<std::vector<double>> rewards;
  auto at = paid.begin();
  for (const Group& group : batch.groups) {
    const auto end = at + std::ptrdiff_t(group.rollouts.size());
    rewards.emplace_back(at, end);
    at = end;
  }
  return rewards;
}

double equal_share(const StepBatch& batch, const std::vector<std::vector<double>>& rewards) {
  double compared = 0.0, equal = 0.0;
  for (std::size_t g = 0; g < fresh_groups(batch); ++g) {
    const auto& rollouts = batch.groups[g].rollouts;
    if (!is_plain(batch.groups[g].id, batch.groups[g].from)) continue;
    // Experts, and rollouts that have moved here from a derived group, come last.
    const auto own =
        std::size_t(std::count_if(rollouts.begin(), rollouts.end(),
                                  [](const Rollout& r) { return !is_expert(r) && !r.placed; }));
    if (own < 2) continue;
    compared += 1.0;
    equal += differ({rewards[g].data(), own}) ? 0.0 : 1.0;
  }
  return compared > 0 ? equal / compared : std::numeric_limits<double>::quiet_NaN();
}

void HeardRewards::add(const std::string& rollouts) {
  if (rollouts.empty()) return;
  StepBatch part = from_wire(rollouts);
  rollouts_.component_names = std::move(part.component_names);
  std::move(part.groups.begin(), part.groups.end(), std::back_inserter(rollouts_.groups));
  std::move(part.scores.begin(), part.scores.end(), std::back_inserter(rollouts_.scores));
}

namespace {

/// The step with its groups in the same order as in the update, because a permutation of verdicts
/// depends on it.
StepBatch in_order(StepBatch step) {
  const auto before = [](const Group& a, const Group& b) { return a.id < b.id; };
  if (std::is_sorted(step.groups.begin(), step.groups.end(), before)) return step;
  std::vector<StepBatch> parts;
  parts.push_back(std::move(step));
  return joined(std::move(parts));
}

}  // namespace

StepBatch HeardRewards::as_reported(const Reports& reports) {
  StepBatch step;
  for (const auto* of_round : reports)
    for (const GroupReport& report : *of_round) {
      Group& group =
          step.groups.emplace_back(Group{.id = report.id, .level = report.level, .rollouts = {}});
      group.rollouts.resize(report.rewards.size());
      auto& scores = step.scores.emplace_back();
      for (std::size_t i = 0; i < report.rewards.size(); ++i) {
        group.rollouts[i].sample = std::uint32_t(i);
        scores.push_back(
            {.components = {}, .reward = report.rewards[i], .correct = report.correct[i] != 0});
      }
    }
  return in_order(std::move(step));
}

std::vector<std::vector<double>> HeardRewards::paid(const StepBatch& step) const {
  std::vector<std::size_t> all(step.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto columns = make_train_batch(step, all, std::numeric_limits<std::int64_t>::max(),
                                  config_->sampling.max_new_tokens)
                     .columns;
  columns.seed = std::uint64_t(config_->run.seed), columns.step = step_;
  columns.progress = progress_;
  return rewards_by_group(*objective_, columns, step);
}

scheduling::Decision HeardRewards::next_round(scheduling::Scheduler& scheduler,
                                              const scheduling::StepRequest& request,
                                              std::vector<GroupReport> latest,
                                              std::vector<GroupReport> so_far,
                                              const std::vector<GroupReport>& greedy) const {
  if (!config_->task.shuffle_rewards) {
    rewrite({&latest}, greedy);
    return scheduler.next_round(request, latest);
  }
  rewrite({&so_far}, greedy);
  scheduler.hear_again(std::move(so_far));
  return scheduler.next_round(request, {});
}

void HeardRewards::rewrite(const Reports& reports, const std::vector<GroupReport>& greedy) const {
  if (!by_rollouts_ && !config_->task.shuffle_rewards) return;
  std::vector<StepBatch> parts;
  parts.push_back(by_rollouts_ ? rollouts_ : as_reported(reports));
  StepBatch step = by_rollouts_ ? joined(std::move(parts)) : std::move(parts.front());
  step.greedy = greedy_rewards(greedy);
  close_step(step, *config_, step_);
  if (step.groups.empty()) return;  // there is no verdict at all, which the update reports
  const auto shaped = by_rollouts_ ? paid(step) : std::vector<std::vector<double>>();
  std::map<GroupId, std::size_t> index;
  for (std::size_t g = 0; g < step.groups.size(); ++g) index[step.groups[g].id] = g;
  for (auto* of_round : reports)
    for (GroupReport& report : *of_round) {
      const std::size_t n = report.rewards.size();
      if (n == 0) continue;
      const auto at = index.find(report.id);
      if (at == index.end()) {  // the group left the step because its greedy answer left
        let_go(report);
        continue;
      }
      const auto& scores = step.scores[at->second];
      // Rollouts of a round are the last of their group.
      const std::size_t first = scores.size() - n;
      for (std::size_t i = 0; i < n; ++i) {
        report.rewards[i] =
            by_rollouts_ ? shaped[at->second].at(first + i) : scores.at(first + i).reward;
        report.correct[i] = scores.at(first + i).correct ? 1 : 0;
      }
    }
}

}  // namespace rollcall::run
