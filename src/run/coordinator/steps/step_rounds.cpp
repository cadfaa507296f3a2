// Asks the scheduler for a decision, sends the plan, and passes the reports back, until the step is
// closed.
#include "run/coordinator/steps/step_rounds.hpp"

#include "base/time/clock.hpp"
#include "method/columns.hpp"
#include "run/context/column_sources.hpp"
#include "run/context/derived/exhibits.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/steps/pool_rounds.hpp"
#include "run/coordinator/steps/second_pass.hpp"
#include "run/coordinator/steps/settle_derived.hpp"
#include "run/generation/forks/forks.hpp"
#include "run/step/undecided.hpp"
#include "run/workers/step_cut.hpp"
#include "scheduling/composed.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

bool reads_greedy_rewards(const method::Objective& objective) {
  const auto columns = objective.columns();
  return std::find(columns.begin(), columns.end(), method::column::greedy_reward) != columns.end();
}

/// The lowest reward of the step so far. Answers without a verdict that stay in the step get it.
double lowest_of(const Round& rounds) {
  return lowest_reward(std::array{&std::as_const(rounds.reports), &std::as_const(rounds.derived)});
}

/// Adds `round` to `all`, the rounds of its step before it. `round` keeps its reports on the task's
/// prompts, since the scheduler receives them next.
void add_round(Round& all, Round& round) {
  add(all.verdicts, round.verdicts);
  all.figures.add(round.figures);
  scheduling::merge_reports(all.reports, round.reports);
  scheduling::merge_reports(all.greedy, std::move(round.greedy));
  std::move(round.files.begin(), round.files.end(), std::back_inserter(all.files));
  scheduling::merge_reports(all.derived, std::move(round.derived));
  std::move(round.specimens.begin(), round.specimens.end(), std::back_inserter(all.specimens));
  all.generation_s += round.generation_s;
  all.generation_mean_s += round.generation_mean_s;
  all.slowest_rank = round.slowest_rank;
  all.scoring_s += round.scoring_s;
  all.archive_s += round.archive_s;
}

std::vector<GroupReport> all_reports(std::vector<GroupReport> drawn,
                                     const std::vector<GroupReport>& derived) {
  scheduling::merge_reports(drawn, derived);
  return drawn;
}

}  // namespace

StepRounds::StepRounds(const RunContext& context, CoordinatorState& state,
                       scheduling::Scheduler& scheduler, Rounds& rounds)
    : context_(&context),
      state_(&state),
      scheduler_(&scheduler),
      rounds_(&rounds),
      objective_(method::make_objective(context.config.objective.recipe,
                                        context.config.objective.pieces,
                                        context.config.objective.knobs)),
      asks_greedy_(reads_greedy_rewards(*objective_)),
      starts_(context.config, context.texts),
      heard_(context.config, *objective_, context.sends_rollouts) {}

/// One greedy answer to each prompt of the round that has none yet in this step. The plan has no
/// groups when the objective does not ask for greedy answers, and none for prompts of a second
/// pass.
StepPlan StepRounds::greedy_plan(const StepPlan& round, std::set<PromptId>& answered) const {
  StepPlan plan{Purpose::greedy, round.split,    round.step, round.round,
                round.policy,    round.sampling, {},         round.derived};
  plan.sampling.temperature = 0.0;
  for (const auto& group : round.groups) {
    if (asks_greedy_ && is_plain(group.from) && answered.insert(group.id.prompt).second)
      plan.groups.push_back({.id = {round.step, group.id.prompt, 0},
                             .level = group.level,
                             .count = 1,
                             .start = group.start});
  }
  return plan;
}

/// Adds the prompts that the previous step left to ask, each with train.rollouts_per_prompt
/// rollouts.
void StepRounds::ask_next(StepPlan& plan) const {
  plan.derived = state_->next;
  for (const auto& [prompt, from, given, learns] : plan.derived)
    plan.groups.push_back({.id = {plan.step, prompt.id, 0},
                           .level = prompt.level,
                           .count = std::uint32_t(context_->config.train.rollouts_per_prompt),
                           .from = is_judge_task(from.kind) ? Derivation{} : from});
}

StepPlan StepRounds::plan_of(std::uint64_t step, std::uint32_t round,
                             std::vector<GroupPlan> groups) const {
  StepPlan plan{Purpose::train,
                Split::train,
                step,
                round,
                PolicyVersion{state_->policy_version},
                context_->config.sampling,
                std::move(groups)};
  starts_.set(plan.groups, state_->actions_left);
  const std::string& forks = context_->config.environment.forks;
  if (forks.empty()) return plan;
  plan.sampling.two_likeliest = find_fork_rule(forks).reads_likeliest;
  for (GroupPlan& group : plan.groups) group.unforked = unforked_of(context_->config, group);
  return plan;
}

/// Plays a round and adds it to `all`, the rounds of its step before it.
Round StepRounds::play(Round& all, StepPlan plan, std::set<PromptId>& answered) {
  StepPlan greedy = greedy_plan(plan, answered);
  std::vector<StepPlan> plans;
  plans.push_back(std::move(plan));
  plans.push_back(std::move(greedy));
  Round round = rounds_->run(std::move(plans), &heard_);
  if (round.cut_short) throw StepIsCut{};
  add_round(all, round);
  return round;
}

/// Plays a round of pools, and gives the groups of the scheduler's round the samples that it draws
/// again.
void StepRounds::choose_samples(Round& all, const StepPlan& plan, const PoolRounds& pools,
                                std::vector<GroupPlan>& groups) {
  std::set<PromptId> answered;
  play(all, plan, answered);
  all.specimens = merged(std::move(all.specimens));
  pools.choose(groups, plan.groups, all.specimens);
}

/// The rounds of the second pass, after the scheduler's rounds. `number`: the number of the first
/// of them.
void StepRounds::ask_again(Round& all, std::uint64_t step, std::uint32_t number) {
  if (!shows_exhibits(context_->config)) return;
  SecondPass pass(context_->config, context_->texts,
                  context_->models.policy.max_position_embeddings, step,
                  learns_mended(context_->config, *objective_));
  std::set<PromptId> answered;
  for (;; ++number) {
    all.specimens = merged(std::move(all.specimens));
    Stopwatch making;
    DerivedRound round = pass.next(all.specimens, all_reports(all.reports, all.derived));
    all.scheduling_s += making.seconds();
    if (round.groups.empty()) break;
    StepPlan plan = plan_of(step, number, std::move(round.groups));
    plan.derived = std::move(round.prompts);
    play(all, std::move(plan), answered);
  }
  all.second_pass = pass.metrics(all.derived);
}

Round StepRounds::run(const scheduling::StepRequest& request) {
  Round all;
  heard_.begin(request.step, request.progress);
  Stopwatch deciding;
  scheduling::Decision decision = scheduler_->begin_step(request);
  std::set<PromptId> answered;
  PoolRounds pools(context_->config.second_pass.factor);
  for (std::uint32_t number = 0;; ++number) {
    const bool is_first = number == 0;
    for (auto& group : decision.groups) group.bin = scheduler_->bin(group.id.prompt);
    all.scheduling_s += deciding.seconds();
    if (context_->config.second_pass.kind == "pool")
      choose_samples(all, plan_of(request.step, number++, pools.pools(decision.groups)), pools,
                     decision.groups);
    StepPlan plan = plan_of(request.step, number, std::move(decision.groups));
    if (is_first) ask_next(plan);
    Round round = play(all, std::move(plan), answered);
    deciding.restart();
    if (decision.last_round) {
      ask_again(all, request.step, number + 1);
      deciding.restart();
      break;
    }
    std::vector<GroupReport> so_far = all.reports;
    // The lowest reward is taken over all rounds so far.
    for (auto* reports : {&round.reports, &so_far}) settle_rewards(*reports, lowest_of(all));
    decision = heard_.next_round(*scheduler_, request, std::move(round.reports), std::move(so_far),
                                 all.greedy);
  }
  const double lowest = lowest_of(all);
  for (auto* reports : {&all.reports, &all.derived, &all.greedy}) settle_rewards(*reports, lowest);
  // rewrite() gets a copy of the other reports, since metrics show these rewards unchanged.
  std::vector<GroupReport> derived = all.derived;
  heard_.rewrite({&all.reports, &derived}, all.greedy);
  all.training = scheduler_->settle(request, all.reports);
  settle_derived(all.training, all_reports(all.reports, derived),
                 context_->config.second_pass.keep);
  for (const auto* reports : {&all.reports, &all.derived}) {
    for (const auto& report : *reports) {
      state_->rollouts_per_level[report.level] += drawn(report);
      if (is_plain(report.from)) ++*state_->groups_drawn;
    }
  }
  all.scheduling_s += deciding.seconds();
  return all;
}

}  // namespace rollcall::run
