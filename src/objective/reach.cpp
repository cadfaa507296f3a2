// Finds the kinds of run in which a recipe acts: the part of it that acts if every ratio is 1,
// compared with the rows above it, the rewards that it assumes, and the answers on which it acts.
#include "objective/reach.hpp"

#include "objective/recipes.hpp"
#include "objective/regularizer/kl.hpp"
#include "objective/resolve.hpp"
#include "objective/reward/kl_controller.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace rollcall::objective {
namespace {

std::string_view name_of(Family family) { return family_names[static_cast<std::size_t>(family)]; }

/// Whether the piece changes no derivative where every ratio is 1.
bool is_idle(const Objective::Resolved& resolved, std::string_view family, std::string_view piece) {
  const LossUse& use = resolved.knobs.loss_use;
  if (family == name_of(Family::ratio)) return true;
  if (family == name_of(Family::surrogate)) return use.is_policy_gradient;
  if (family == name_of(Family::reward) && piece == KlController::name)
    return use.is_idle_on_policy(name_of(Family::regularizer), Kl::name);
  return use.is_idle_on_policy(family, piece);
}

enum class Which { all, acting };

/// The pieces with their settings: all of them, or those that are not idle.
std::vector<std::string> parts(const Objective::Resolved& resolved, Which which) {
  const auto counts = [&](std::string_view family, std::string_view piece) {
    return which == Which::all || !is_idle(resolved, family, piece);
  };
  std::vector<std::string> found;
  for (std::size_t f = 0; f < family_names.size(); ++f)
    for (const auto& piece : names_of(resolved.choice, Family(f)))
      if (counts(family_names[f], piece))
        found.push_back(fmt::format("{} {}", family_names[f], piece));
  for (const Knob& knob : resolved.knobs.all())
    if (counts(knob.family, knob.piece))
      found.push_back(fmt::format("{} {} = {}", knob.piece, knob.key(), knob.value()));
  return found;
}

}  // namespace

std::vector<LargestReward> largest_rewards(const Objective& objective) {
  std::vector<LargestReward> all;
  for (const auto& one : objective.resolved().knobs.reward_use.largest())
    all.push_back({fmt::format("{} {}", one.family, one.piece), one.setting, one.reward});
  return all;
}

std::vector<LeastLength> least_lengths(const Objective& objective) {
  std::vector<LeastLength> all;
  for (const auto& one : objective.resolved().knobs.loss_use.least_lengths())
    if (const double tokens = one.tokens(); std::isfinite(tokens))
      all.push_back({fmt::format("{} {}", one.family, one.piece), one.setting, tokens});
  return all;
}

bool reads_advantage(const Objective& objective) {
  return objective.resolved().knobs.loss_use.reads_advantage();
}

OnPolicy on_policy(const Objective& objective) {
  const Objective::Resolved& resolved = objective.resolved();
  OnPolicy found;
  for (const Family family : {Family::ratio, Family::weight, Family::regularizer})
    for (const auto& piece : names_of(resolved.choice, family))
      if (piece != "token" && is_idle(resolved, name_of(family), piece))
        found.idle.push_back(fmt::format("{} {}", name_of(family), piece));
  const auto acting = parts(resolved, Which::acting), all = parts(resolved, Which::all);
  for (const Recipe& row : recipes()) {
    if (row.name == resolved.recipe->name) break;
    const Objective::Resolved other(std::string(row.name), {}, {});
    // Rows that are equal throughout differ by what they train on.
    if (parts(other, Which::acting) != acting || parts(other, Which::all) == all) continue;
    found.acts_as = row.name;
    break;
  }
  return found;
}

}  // namespace rollcall::objective
