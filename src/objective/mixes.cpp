// The tables of pieces that exclude or need each other, and the check that a reward which is paid
// can reach the loss.
#include "objective/mixes.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "method/columns.hpp"
#include "objective/reward_sight.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rollcall::objective {
namespace {

/// A piece that does nothing, or not what its name says, unless another piece is chosen as well.
struct Half {
  Family family;
  std::string_view piece;
  Family other_family;
  std::string_view other, why;
};
constexpr Half kHalves[] = {
    {Family::regularizer, "adaptive_entropy", Family::reward, "entropy_controller",
     "nothing would move its coefficient, which starts at 0"},
    {Family::reward, "entropy_controller", Family::regularizer, "adaptive_entropy",
     "nothing would read the coefficient that it moves"},
    {Family::regularizer, "entropy_band", Family::reward, "entropy_history",
     "without a history no token is ever outside the band"},
    {Family::reward, "entropy_history", Family::regularizer, "entropy_band",
     "nothing would read what it remembers"},
    {Family::reward, "kl_controller", Family::regularizer, "kl",
     "nothing would read the coefficient that it moves"},
    {Family::advantage, "gae", Family::regularizer, "value",
     "nothing would train the value head that it subtracts"},
    {Family::advantage, "macro_gae", Family::regularizer, "value",
     "nothing would train the value head that it subtracts"},
};

/// A knob that a different piece sets in every step, so that a run file must not set it.
struct Moved {
  Family family;
  std::string_view piece, knob;
  Family by_family;
  std::string_view by, why, suggestion;
};
constexpr std::string_view kMovesCoefficient = "the controller sets the coefficient in every step";
constexpr Moved kMoved[] = {
    {Family::regularizer, "kl", "kl_coef", Family::reward, "kl_controller", kMovesCoefficient,
     "set objective.knobs.kl_start, its first value"},
    {Family::regularizer, "kl", "kl_coef_end", Family::reward, "kl_controller", kMovesCoefficient,
     "leave it out, or leave the controller out"},
    {Family::regularizer, "kl", "kl_coef_turn", Family::reward, "kl_controller", kMovesCoefficient,
     "leave it out, or leave the controller out"},
};

std::string_view name_of(Family family) { return family_names[static_cast<std::size_t>(family)]; }

bool has(const Choice& choice, Family family, std::string_view piece) {
  const auto names = names_of(choice, family);
  return std::find(names.begin(), names.end(), piece) != names.end();
}

constexpr std::string_view kKeys[] = {"objective.pieces.reward",     "objective.pieces.advantage",
                                      "objective.pieces.ratio",      "objective.pieces.surrogate",
                                      "objective.pieces.weight",     "objective.pieces.aggregate",
                                      "objective.pieces.regularizer"};
static_assert(std::size(kKeys) == family_names.size());
std::string_view key_of(Family family) { return kKeys[std::size_t(family)]; }

/// The reward pieces of the list that have this effect on the reward.
std::vector<std::string> with_effect(const std::vector<std::string>& rewards, Effect effect) {
  std::vector<std::string> found;
  for (const auto& reward : rewards)
    if (effect_of(reward) == effect) found.push_back(reward);
  return found;
}

void check_pairs(const Choice& choice, const Settings& given, Faults& faults) {
  for (const Half& half : kHalves)
    faults.need({key_of(half.family), key_of(half.other_family)},
                !has(choice, half.family, half.piece) || has(choice, half.other_family, half.other),
                fmt::format("objective.pieces: {} {} is chosen without {} {}", name_of(half.family),
                            half.piece, name_of(half.other_family), half.other),
                half.why,
                fmt::format("add {} to {}, or leave {} out", half.other, key_of(half.other_family),
                            half.piece));
  for (const Moved& moved : kMoved) {
    if (!has(choice, moved.family, moved.piece) || !has(choice, moved.by_family, moved.by))
      continue;
    const auto is_it = [&](const auto& setting) {
      return setting.first == moved.knob ||
             setting.first == fmt::format("{}.{}", name_of(moved.family), moved.knob);
    };
    const std::string key = fmt::format("objective.knobs.{}", moved.knob);
    faults.need(
        {key}, std::none_of(given.begin(), given.end(), is_it),
        fmt::format("{} is set, and {} {} is chosen", key, name_of(moved.by_family), moved.by),
        moved.why, moved.suggestion);
  }
}

/// Refuses ratios, advantages and a value head that the loss does not read, where the run file
/// chooses them.
void check_read(const Choice& choice, const Recipe& recipe, const Knobs& knobs, Faults& faults) {
  const std::string &ratio = choice[std::size_t(Family::ratio)],
                    &advantage = choice[std::size_t(Family::advantage)],
                    &surrogate = choice[std::size_t(Family::surrogate)];
  const auto is_chosen = [&](Family family) {
    return choice[std::size_t(family)] != recipe.piece(family);
  };
  faults.need(
      {key_of(Family::ratio), key_of(Family::surrogate)},
      knobs.loss_use.reads_ratio || ratio == "token",
      fmt::format("objective.pieces: ratio {} does not go with surrogate {}", ratio, surrogate),
      fmt::format("{} does not look at the ratio", surrogate),
      "use surrogate clip, or ratio token");
  // A weight may read an advantage that the surrogate does not.
  faults.need({key_of(Family::advantage), key_of(Family::surrogate)},
              !is_chosen(Family::advantage) || knobs.loss_use.reads_advantage() ||
                  choice[std::size_t(Family::weight)] != "none",
              fmt::format("objective.pieces: advantage {} does not go with surrogate {}", advantage,
                          surrogate),
              fmt::format("{} reads no advantage, so another one would change nothing", surrogate),
              "leave objective.pieces.advantage out, or choose another recipe");
  const auto columns = knobs.needs.column_names(name_of(Family::advantage), advantage);
  faults.need(
      {key_of(Family::regularizer), key_of(Family::advantage)},
      !has(choice, Family::regularizer, "value") || !is_chosen(Family::regularizer) ||
          std::find(columns.begin(), columns.end(), method::column::value) != columns.end(),
      fmt::format("objective.pieces: regularizer value is chosen, and advantage {} reads no "
                  "value",
                  advantage),
      "it would train a value head that nothing reads",
      "set objective.pieces.advantage=gae, or leave value out");
}

/// Refuses reward pieces if a different piece replaces, ignores or misreads their payment.
void check_pay(const Choice& choice, const Knobs& knobs, Faults& faults) {
  const auto rewards = names_of(choice, Family::reward);
  std::vector<std::string> paying;
  for (const Effect effect : {Effect::changes, Effect::pays_turns, Effect::replaces})
    for (const auto& reward : with_effect(rewards, effect)) paying.push_back(reward);
  const Faults::Keys keys{key_of(Family::reward), key_of(Family::advantage),
                          key_of(Family::surrogate), "objective.knobs."};
  for (std::size_t i = 1; i < rewards.size(); ++i) {
    if (effect_of(rewards[i]) != Effect::replaces) continue;
    std::vector<std::string> erased(rewards.begin(), rewards.begin() + std::ptrdiff_t(i));
    std::erase_if(erased, [](const auto& reward) { return effect_of(reward) == Effect::leaves; });
    faults.need(keys, erased.empty(),
                fmt::format("objective.pieces.reward = {}: {} replaces the reward",
                            fmt::join(rewards, "+"), rewards[i]),
                fmt::format("what {} makes of it would be lost", fmt::join(erased, " and ")),
                fmt::format("name {} first", rewards[i]));
  }
  if (paying.empty()) return;
  const std::string named =
      fmt::format("objective.pieces.reward holds {}", fmt::join(paying, ", "));
  const TrainsOn* const other = knobs.reward_use.in_place_of_reward();
  if (other != nullptr) {
    faults.need(
        keys, false,
        fmt::format("{}, and {} {} does not read the reward", named, other->family, other->piece),
        fmt::format("it trains on {}, so that what is paid would change nothing", other->what),
        "set objective.pieces.reward=none, or choose another recipe");
    return;
  }
  faults.need(
      keys, !knobs.reward_use.tokens_paid() || knobs.reward_use.reads_token_rewards,
      fmt::format(
          "objective.knobs.kl_reward_to is token, and advantage {} reads no rewards of tokens",
          choice[std::size_t(Family::advantage)]),
      "the divergence would cost nothing",
      "set objective.knobs.kl_reward_to=rollout, or an advantage that reads them: gae, macro_gae or batch_whiten");
  faults.need(
      keys, !knobs.reward_use.turns_paid || knobs.reward_use.reads_turn_rewards,
      fmt::format("{}, and advantage {} reads no rewards of turns", named,
                  choice[std::size_t(Family::advantage)]),
      "what single turns are paid would change nothing",
      "set objective.pieces.advantage=turn_center, or another that reads them: gae, macro_gae or batch_whiten");
  for (const auto& column : knobs.reward_use.subtracted())
    faults.need(
        keys, false,
        fmt::format("{}, and advantage {} subtracts {}", named,
                    choice[std::size_t(Family::advantage)], column),
        "that is on the scale of the verifier's reward, which the pieces have left",
        "set objective.pieces.reward=none, or compare with the group: objective.knobs.baseline=group or another advantage");
}

}  // namespace

std::vector<std::string> names_of(const Choice& choice, Family family) {
  const std::string& text = choice[std::size_t(family)];
  std::vector<std::string> names;
  if (text == "none") return names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('+', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

void check_mixes(const Choice& choice, const Recipe& recipe, const Knobs& knobs,
                 const Settings& given) {
  Faults faults;
  check_pairs(choice, given, faults);
  check_read(choice, recipe, knobs, faults);
  check_pay(choice, knobs, faults);
  faults.require_none();
}

}  // namespace rollcall::objective
