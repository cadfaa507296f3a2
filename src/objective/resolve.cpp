// Looks names up in the tables, refuses unknown ones, and lists what there is.
#include "objective/resolve.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/nearest.hpp"
#include "objective/mixes.hpp"
#include "objective/regularizer/kl.hpp"
#include "objective/reward/kl_controller.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace rollcall::objective {
namespace {

constexpr std::string_view none = "none";

std::string& of(Choice& choice, Family family) { return choice[static_cast<std::size_t>(family)]; }
std::string_view name_of(Family family) { return family_names[static_cast<std::size_t>(family)]; }

const Recipe& find_recipe(const std::string& name) {
  const auto& table = recipes();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Recipe& r) { return r.name == name; });
  require<ConfigError>(
      found != table.end(), fmt::format("objective.recipe = {} is not a recipe", name),
      "rollcall recipes lists all of them", suggest_name(name, recipe_names(), "rollcall recipes"));
  return *found;
}

Choice choose(const Recipe& recipe, const Settings& overrides, Faults& faults) {
  Choice choice;
  std::copy(recipe.pieces.begin(), recipe.pieces.end(), choice.begin());
  for (const auto& [family, piece] : overrides) {
    const std::string key = "objective.pieces." + family;
    const auto found = std::find(family_names.begin(), family_names.end(), family);
    const bool known =
        faults.need({key}, found != family_names.end(),
                    fmt::format("objective.pieces: {} is not a family of pieces", family),
                    "an objective is one choice of each family",
                    suggest_name(family, {family_names.begin(), family_names.end()}));
    if (known) choice[std::size_t(found - family_names.begin())] = piece;
  }
  return choice;
}

template <class Function>
const Piece<Function>& find_piece(Family family, PieceTable<Function> table,
                                  const std::string& name, bool may_be_none) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& p) { return p.name == name; });
  if (found == table.end()) {
    std::vector<std::string> valid;
    if (may_be_none) valid.emplace_back(none);
    for (const auto& p : table) valid.emplace_back(p.name);
    throw ConfigError(error_message(
        fmt::format("objective.pieces: {} = {} is not a piece", name_of(family), name),
        may_be_none ? "none, one piece, or several joined by +" : "exactly one piece",
        suggest_name(name, valid, "src/objective/METHODS.md")));
  }
  return *found;
}

template <class Function>
Function make(Family family, PieceTable<Function> table, const std::string& name,
              Objective::Resolved& into, bool may_be_none = false) {
  const Piece<Function>& piece = find_piece(family, table, name, may_be_none);
  into.cards.emplace_back(fmt::format("{:<12} {}", name_of(family), piece.name), piece.formula);
  into.knobs.enter(name_of(family), piece.name);
  return piece.make(into.knobs);
}

template <class Function>
std::vector<Chosen<Function>> chosen(std::vector<std::pair<std::string, Function>> pieces) {
  std::vector<Chosen<Function>> all;
  for (auto& [name, function] : pieces) all.push_back({std::move(name), std::move(function)});
  return all;
}

/// The pieces of a family that may have several, in the order given; `none` makes no piece.
template <class Function>
std::vector<std::pair<std::string, Function>> make_all(Family family, PieceTable<Function> table,
                                                       const Choice& choice,
                                                       Objective::Resolved& into) {
  std::vector<std::pair<std::string, Function>> pieces;
  const auto names = names_of(choice, family);
  for (const auto& name : names) {
    const bool twice =
        std::any_of(pieces.begin(), pieces.end(), [&](const auto& p) { return p.first == name; });
    require<ConfigError>(!twice,
                         fmt::format("objective.pieces: {} = {} names {} twice", name_of(family),
                                     fmt::join(names, "+"), name),
                         "it would be applied twice", "name it once");
    pieces.emplace_back(name, make(family, table, name, into, true));
  }
  return pieces;
}

template <class Function>
void append_cards(Family family, PieceTable<Function> table, std::vector<PieceCard>& cards) {
  for (const auto& piece : table) {
    Knobs knobs;
    knobs.enter(name_of(family), piece.name);
    const Function keeps_the_piece_alive = piece.make(knobs);
    PieceCard card{
        std::string(name_of(family)), std::string(piece.name), std::string(piece.formula), {}};
    for (const auto& knob : knobs.all())
      card.knobs.push_back({knob.name, knob.value(), knob.valid, knob.meaning});
    cards.push_back(std::move(card));
  }
}

/// While the pieces are not known, refuses knobs that no piece has.
void check_knob_names(const Settings& settings, Faults& faults) {
  std::vector<std::string> names;
  for (const PieceCard& card : piece_cards())
    for (const auto& knob : card.knobs)
      names.insert(names.end(), {knob.name, card.family + "." + knob.name});
  for (const auto& setting : settings)
    faults.need({"objective.knobs." + setting.first},
                std::find(names.begin(), names.end(), setting.first) != names.end(),
                fmt::format("objective.knobs: no piece has a knob {}", setting.first),
                "a setting that nothing reads would silently change nothing",
                suggest_name(setting.first, names, "src/objective/METHODS.md"));
}

}  // namespace

Objective::Resolved::Resolved(const std::string& recipe_name, const Settings& overrides,
                              const Settings& settings)
    : recipe(&recipes().front()) {
  Faults faults;
  faults.check({"objective.recipe"}, [&] { recipe = &find_recipe(recipe_name); });
  choice = choose(*recipe, overrides, faults);
  const auto take = [&](Family family,
                        const std::function<void(const std::string& name)>& make_it) {
    const std::string key = fmt::format("objective.pieces.{}", name_of(family));
    faults.check({key}, [&] { make_it(of(choice, family)); });
  };
  take(Family::reward, [&](const auto& /*name*/) {
    rewards = chosen(make_all(Family::reward, objective::rewards(), choice, *this));
  });
  take(Family::advantage, [&](const auto& name) {
    advantage = {name, make(Family::advantage, advantages(), name, *this)};
  });
  take(Family::ratio,
       [&](const auto& name) { ratio = make(Family::ratio, ratios(), name, *this); });
  take(Family::surrogate,
       [&](const auto& name) { surrogate = make(Family::surrogate, surrogates(), name, *this); });
  take(Family::weight, [&](const auto& /*name*/) {
    weights = chosen(make_all(Family::weight, objective::weights(), choice, *this));
  });
  take(Family::aggregate,
       [&](const auto& name) { aggregate = make(Family::aggregate, aggregates(), name, *this); });
  take(Family::regularizer, [&](const auto& /*name*/) {
    regularizers = make_all(Family::regularizer, objective::regularizers(), choice, *this);
  });
  if (!faults.empty()) check_knob_names(settings, faults);
  faults.require_none();  // the pieces must be known before their knobs
  for (const auto& [key, value] : recipe->settings) {
    // A row's setting belongs to the piece that the row names. It is dropped when a run file
    // replaces that piece.
    const bool bound = std::any_of(knobs.all().begin(), knobs.all().end(),
                                   [&, k = key](const Knob& knob) { return knob.name == k; });
    if (bound) knobs.set(std::string(key), std::string(value));
  }
  for (const auto& setting : settings) {
    const std::string key = "objective.knobs." + setting.first;
    faults.check({key}, [&] { knobs.set(setting.first, setting.second); });
  }
  faults.check({"objective.knobs"}, [&] { knobs.check(); });
  faults.require_none();
  check_mixes(choice, *recipe, knobs, settings);
  start_controllers();
  tell_updates_apart();
}

void Objective::Resolved::start_controllers() {
  const bool controls = std::any_of(rewards.begin(), rewards.end(), [](const auto& reward) {
    return reward.name == KlController::name;
  });
  if (!controls) return;
  const auto assign = [&](std::string_view name, const std::string& value) {
    knobs.knob(name_of(Family::regularizer), Kl::name, name).assign(value);
  };
  assign("kl_coef", knobs.knob(name_of(Family::reward), KlController::name, "kl_start").value());
  assign("kl_coef_end", "-1"), assign("kl_coef_turn", "0");
}

void Objective::Resolved::tell_updates_apart() {
  const auto reads_current = [&](Family family, const std::string& piece) {
    const auto columns = knobs.needs.column_names(name_of(family), piece);
    return std::any_of(columns.begin(), columns.end(), [](const auto& name) {
      return name == column::current_logprob || name == column::current_entropy;
    });
  };
  for (auto& reward : rewards) reward.each_update = reads_current(Family::reward, reward.name);
  advantage.each_update = reads_current(Family::advantage, advantage.name);
  for (auto& weight : weights)
    weight.each_update = advantage.each_update || reads_current(Family::weight, weight.name);
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& recipe : recipes()) names.emplace_back(recipe.name);
  return names;
}

std::vector<PieceCard> piece_cards() {
  std::vector<PieceCard> cards;
  append_cards(Family::reward, rewards(), cards);
  append_cards(Family::advantage, advantages(), cards);
  append_cards(Family::ratio, ratios(), cards);
  append_cards(Family::surrogate, surrogates(), cards);
  append_cards(Family::weight, weights(), cards);
  append_cards(Family::aggregate, aggregates(), cards);
  append_cards(Family::regularizer, regularizers(), cards);
  return cards;
}

}  // namespace rollcall::objective
