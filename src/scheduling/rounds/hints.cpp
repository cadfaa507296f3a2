// Finds the groups that need help, and gives each further draw its tier and its numbers.
#include "scheduling/rounds/hints.hpp"

#include "base/errors/error.hpp"
#include "core/derived_prompt.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rollcall::scheduling {
namespace {

constexpr std::uint32_t kMostDraws = 1U << 11;   // of a prompt in a step, with and without help
constexpr std::int64_t kMostWithHelp = 1 << 14;  // samples that follow first_derived_sample()

Placement placement_named(const std::string& name) {
  if (name == "joins_parent") return Placement::joins_parent;
  return name == "replaces_one" ? Placement::replaces_one : Placement::replaces_parent;
}

/// Groups of the task in which some rollout with help was correct.
std::set<GroupId> helped(const std::vector<GroupReport>& pool) {
  std::set<GroupId> parents;
  for (const GroupReport& report : pool) {
    if (!is_plain(report.from) && right(report) > 0) parents.insert(report.from.parent);
  }
  return parents;
}

/// Adds up to `rest` rollouts to the groups of the task, one each in their order, then again from
/// the first while any are left and a group has room.
void continue_groups(const StepRequest& request, std::int64_t rest,
                     const std::vector<GroupReport>& pool, std::vector<GroupPlan>& groups) {
  std::vector<const GroupReport*> plain;
  for (const GroupReport& report : pool) {
    if (is_plain(report.from)) plain.push_back(&report);
  }
  std::vector<std::int64_t> more(plain.size(), 0);
  for (bool given = true; rest > 0 && given;) {
    given = false;
    for (std::size_t i = 0; i < plain.size() && rest > 0; ++i) {
      if (drawn(*plain[i]) + more[i] < request.max_rollouts) ++more[i], --rest, given = true;
    }
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (more[i] > 0)
      groups.push_back({.id = plain[i]->id,
                        .level = plain[i]->level,
                        .first_sample = std::uint32_t(drawn(*plain[i])),
                        .count = std::uint32_t(more[i])});
  }
}

}  // namespace

/// Numbers the further draws of each prompt.
class HintRounds::Draws {
 public:
  explicit Draws(const std::vector<GroupReport>& pool) {
    for (const GroupReport& report : pool) {
      std::uint32_t& next = next_[report.id.prompt];
      next = std::max(next, report.id.draw + 1);
    }
  }
  std::uint32_t take(const GroupId& parent) {
    const std::uint32_t draw = next_[parent.prompt]++;
    require<ConfigError>(
        draw < kMostDraws,
        fmt::format("prompt {} would be drawn more than {} times in step {}", parent.prompt.value,
                    kMostDraws, parent.step),
        "the rollouts with help could not be told apart",
        "set fewer scheduler.knobs.hint_tiers, or a sampler that repeats prompts less");
    return draw;
  }

 private:
  std::map<PromptId, std::uint32_t> next_;
};

void HintRounds::bind(ConfigSchema& s) {
  s.bind("hint_tiers", &tiers_, "tiers of help, as many as the section hints has", {1, 64});
  s.bind("hint_by", &by_,
         "which prompts get help: those without a correct rollout, tier by tier, or all in "
         "proportion to their failures, from the step's own budget",
         {}, {"dead", "difficulty"});
  s.bind("hint_rollouts", &rollouts_,
         "rollouts of a prompt with one tier of help, where hint_by is dead; 0: as many as without",
         {0, double(kMostWithHelp)});
  s.bind("hint_placement", &placement_, "where rollouts with help train", {},
         {"replaces_parent", "replaces_one", "joins_parent"});
  s.bind("hint_from_step", &from_step_, "last step without help; 0: help from the first step on",
         {0, 1e12});
  s.bind("hint_share", &share_,
         "share of the budget that is kept back for help, where hint_by is difficulty", {0, 1});
}

bool HintRounds::gives_help(std::uint64_t step) const {
  return from_step_ == 0 || step > std::uint64_t(from_step_);
}

std::int64_t HintRounds::kept_back(const StepRequest& request) const {
  // 0.29 * 100 is below 29 in doubles
  const auto wanted = std::int64_t(std::floor(share_ * double(request.budget) + 1e-9));
  return std::min(wanted, request.budget - request.prompts * request.min_rollouts);
}

std::int64_t HintRounds::tiers_of(PromptId prompt) const {
  const auto& tiers = knowledge_->prompts.tiers;
  return tiers.empty() ? tiers_ : std::min<std::int64_t>(tiers_, tiers.at(prompt.value));
}

StepRequest HintRounds::first(const StepRequest& request) const {
  StepRequest without = request;
  if (by_ == "difficulty" && gives_help(request.step)) without.budget -= kept_back(request);
  return without;
}

std::int64_t HintRounds::hard_cap(const StepRequest& request) const {
  if (by_ == "difficulty") return request.budget;
  return request.budget + tiers_ * (rollouts_ > 0 ? rollouts_ * request.prompts : request.budget);
}

std::optional<Shortage> HintRounds::shortage(const StepRequest& request) const {
  if (by_ != "difficulty" || kept_back(request) > 0) return std::nullopt;
  const std::int64_t mean = request.budget / request.prompts;
  if (request.budget > request.prompts * request.min_rollouts)
    return Shortage{
        fmt::format("asks again with help, but scheduler.knobs.hint_share {} of {} rollouts is "
                    "less than one",
                    share_, request.budget),
        fmt::format("set scheduler.knobs.hint_share={:.2g} or more", 1.0 / double(mean))};
  return Shortage{
      fmt::format("keeps rollouts back to ask again with help, but scheduler.min_rollouts is {} "
                  "and train.rollouts_per_prompt {}",
                  request.min_rollouts, mean),
      mean > 1 ? fmt::format("set scheduler.min_rollouts={}", mean / 2)
               : std::string("raise train.rollouts_per_prompt and scheduler.max_rollouts")};
}

GroupPlan HintRounds::with_help(const GroupReport& parent, std::int64_t tier, std::int64_t rollouts,
                                Draws& draws) const {
  const std::uint32_t draw = draws.take(parent.id);
  return {.id = {parent.id.step, parent.id.prompt, draw},
          .level = parent.level,
          .first_sample = first_derived_sample(draw),
          .count = std::uint32_t(std::min(rollouts, kMostWithHelp)),
          .from = {.kind = DerivedKind::hint,
                   .parent = parent.id,
                   .tier = std::int32_t(tier),
                   .placement = placement_named(placement_)}};
}

std::vector<GroupPlan> HintRounds::ask_dead(std::int64_t tier,
                                            const std::vector<GroupReport>& pool) const {
  const std::set<GroupId> solved = helped(pool);
  Draws draws(pool);
  std::vector<GroupPlan> groups;
  for (const GroupReport& report : pool) {
    const bool judged = !report.correct.empty();
    const bool dead = is_plain(report.from) && judged && right(report) == 0;
    if (!dead || solved.contains(report.id) || tier > tiers_of(report.id.prompt)) continue;
    groups.push_back(with_help(report, tier, rollouts_ > 0 ? rollouts_ : drawn(report), draws));
  }
  return groups;
}

std::vector<GroupPlan> HintRounds::ask_difficult(const StepRequest& request,
                                                 const std::vector<GroupReport>& pool) const {
  std::vector<const GroupReport*> failed;
  std::vector<double> difficulty;
  std::vector<std::int64_t> tier;
  std::int64_t left = request.budget;
  for (const GroupReport& report : pool) {
    left -= drawn(report);
    const auto n = std::int64_t(report.correct.size()), wrong = n - std::int64_t(right(report));
    const std::int64_t tiers = tiers_of(report.id.prompt);
    if (!is_plain(report.from) || wrong == 0 || tiers == 0) continue;
    failed.push_back(&report);
    difficulty.push_back(double(wrong) / double(n));
    tier.push_back(std::min(tiers, (wrong * tiers_ + n - 1) / n));
  }
  const std::int64_t most = std::min(request.max_rollouts, kMostWithHelp),
                     with = std::min(left, most * std::int64_t(failed.size()));
  const auto counts =
      with > 0 ? apportion(difficulty, with, 0, most) : std::vector<std::int64_t>(failed.size());
  Draws draws(pool);
  std::vector<GroupPlan> groups;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    if (counts[i] > 0) groups.push_back(with_help(*failed[i], tier[i], counts[i], draws));
  }
  continue_groups(request, left - with, pool, groups);
  return groups;
}

Decision HintRounds::next(const StepRequest& request, std::uint32_t round,
                          const std::vector<GroupReport>& pool, Sampler&) {
  if (!gives_help(request.step)) return {};
  if (by_ == "difficulty") return {.groups = ask_difficult(request, pool)};
  Decision asked{.groups = ask_dead(std::int64_t(round), pool)};
  asked.last_round = asked.groups.empty() || std::int64_t(round) >= tiers_;
  return asked;
}

}  // namespace rollcall::scheduling
