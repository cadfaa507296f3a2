// Looks names up in the tables, refuses unknown ones and mixes that cannot be meant, and lists what there is.
#include "objective/resolve.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::objective {
namespace {

using Choice = std::array<std::string, family_names.size()>;  // piece names by Family

constexpr std::string_view none = "none";

/// Two pieces of which one would silently do nothing.
struct Mix {
  Family family;
  std::string_view piece;
  Family with_family;
  std::string_view with_piece, why, suggestion;
};
constexpr Mix impossible[] = {
    {Family::ratio, "sequence", Family::surrogate, "reinforce", "reinforce does not look at the ratio", "use surrogate clip, or ratio token"},
};

std::string& of(Choice& choice, Family family) { return choice[static_cast<std::size_t>(family)]; }
std::string_view name_of(Family family) { return family_names[static_cast<std::size_t>(family)]; }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('+', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

const Recipe& find_recipe(const std::string& name) {
  const auto& table = recipes();
  const auto found = std::find_if(table.begin(), table.end(), [&](const Recipe& r) { return r.name == name; });
  require<ConfigError>(found != table.end(), fmt::format("objective.recipe = {} is not a recipe", name), "a recipe is a row of objective/recipes.cpp",
                       suggest_name(name, recipe_names()));
  return *found;
}

Choice choose(const Recipe& recipe, const Settings& overrides) {
  Choice choice;
  std::copy(recipe.pieces.begin(), recipe.pieces.end(), choice.begin());
  for (const auto& [family, piece] : overrides) {
    const auto found = std::find(family_names.begin(), family_names.end(), family);
    require<ConfigError>(found != family_names.end(), fmt::format("objective.pieces: {} is not a family of pieces", family),
                         "an objective is one choice of each family", suggest_name(family, {family_names.begin(), family_names.end()}));
    choice[std::size_t(found - family_names.begin())] = piece;
  }
  for (const Mix& mix : impossible) {
    require<ConfigError>(
        of(choice, mix.family) != mix.piece || of(choice, mix.with_family) != mix.with_piece,
        fmt::format("objective.pieces: {} {} does not go with {} {}", name_of(mix.family), mix.piece, name_of(mix.with_family), mix.with_piece), mix.why,
        mix.suggestion);
  }
  return choice;
}

template <class Function>
const Piece<Function>& find_piece(Family family, PieceTable<Function> table, const std::string& name, bool may_be_none) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& p) { return p.name == name; });
  if (found == table.end()) {
    std::vector<std::string> valid;
    if (may_be_none) valid.emplace_back(none);
    for (const auto& p : table) valid.emplace_back(p.name);
    throw ConfigError(error_message(fmt::format("objective.pieces: {} = {} is not a piece", name_of(family), name),
                                    may_be_none ? "none, one piece, or several joined by +" : "exactly one piece", suggest_name(name, valid)));
  }
  return *found;
}

template <class Function>
Function make(Family family, PieceTable<Function> table, const std::string& name, Objective::Resolved& into, bool may_be_none = false) {
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

/// The pieces of a family that composes, in the order given; none makes no piece.
template <class Function>
std::vector<std::pair<std::string, Function>> make_all(Family family, PieceTable<Function> table, const std::string& names, Objective::Resolved& into) {
  std::vector<std::pair<std::string, Function>> pieces;
  if (names == none) return pieces;
  for (const auto& name : split(names)) {
    const bool twice = std::any_of(pieces.begin(), pieces.end(), [&](const auto& p) { return p.first == name; });
    require<ConfigError>(!twice, fmt::format("objective.pieces: {} = {} names {} twice", name_of(family), names, name), "it would be applied twice",
                         "name it once");
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
    PieceCard card{std::string(name_of(family)), std::string(piece.name), std::string(piece.formula), {}};
    for (const auto& knob : knobs.all()) card.knobs.push_back({knob.name, knob.value(), knob.valid, knob.meaning});
    cards.push_back(std::move(card));
  }
}

}  // namespace

Objective::Resolved::Resolved(const std::string& recipe_name, const Settings& overrides, const Settings& settings) : recipe(&find_recipe(recipe_name)) {
  Choice choice = choose(*recipe, overrides);
  rewards = chosen(make_all(Family::reward, objective::rewards(), of(choice, Family::reward), *this));
  advantage = {of(choice, Family::advantage), make(Family::advantage, advantages(), of(choice, Family::advantage), *this)};
  ratio = make(Family::ratio, ratios(), of(choice, Family::ratio), *this);
  surrogate = make(Family::surrogate, surrogates(), of(choice, Family::surrogate), *this);
  weights = chosen(make_all(Family::weight, objective::weights(), of(choice, Family::weight), *this));
  aggregate = make(Family::aggregate, aggregates(), of(choice, Family::aggregate), *this);
  regularizers = make_all(Family::regularizer, objective::regularizers(), of(choice, Family::regularizer), *this);
  for (const auto& [key, value] : recipe->settings) {
    // A row's setting belongs to the row's own piece; it goes when a run file replaces that piece.
    const bool bound = std::any_of(knobs.all().begin(), knobs.all().end(), [&, k = key](const Knob& knob) { return knob.name == k; });
    if (bound) knobs.set(std::string(key), std::string(value));
  }
  for (const auto& [key, value] : settings) knobs.set(key, value);
  knobs.check();
  tell_updates_apart();
  find_decomposed();
}

void Objective::Resolved::find_decomposed() {
  const auto value_of = [&](const char* name) {
    const auto& all = knobs.all();
    const auto knob = std::find_if(all.begin(), all.end(), [&](const Knob& k) { return k.family == name_of(Family::advantage) && k.name == name; });
    return knob == all.end() || !knob->given ? std::string() : knob->value();
  };
  const bool means = value_of("components") == "mean";
  if (advantage.name != "decoupled_norm" && !(advantage.name == "beta_norm" && means)) return;
  Knobs own;
  own.enter(name_of(Family::reward), "components");
  decomposed = find_piece(Family::reward, objective::rewards(), "components", false).make(own);
  if (means) own.set("combine", "mean");
  for (const char* name : {"component_weights", "omit_components"})
    if (const auto value = value_of(name); !value.empty()) own.set(name, value);
}

void Objective::Resolved::tell_updates_apart() {
  const auto reads_current = [&](Family family, const std::string& piece) {
    const auto columns = knobs.columns(name_of(family), piece);
    return std::any_of(columns.begin(), columns.end(), [](const auto& name) { return name == column::current_logprob || name == column::current_entropy; });
  };
  for (auto& reward : rewards) reward.each_update = reads_current(Family::reward, reward.name);
  advantage.each_update = reads_current(Family::advantage, advantage.name);
  for (auto& weight : weights) weight.each_update = advantage.each_update || reads_current(Family::weight, weight.name);
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
