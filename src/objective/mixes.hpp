// Refuses combinations of pieces that make no sense: each piece is right by itself, but in the
// combination one of them would silently have no effect.
#pragma once

#include "objective/knobs.hpp"
#include "objective/objective.hpp"
#include "objective/recipes.hpp"

#include <array>
#include <string>

namespace rollcall::objective {

/// Names of pieces by Family; several pieces of a family are joined by +.
using Choice = std::array<std::string, family_names.size()>;

/// The pieces of one family as a list; the word `none` gives an empty one.
std::vector<std::string> names_of(const Choice& choice, Family family);

/// Throws one ConfigError that names everything that is wrong. `knobs`: the knobs of the chosen
/// pieces, with the values of row and run file; `given`: only the settings of the run file. A piece
/// of `recipe` itself does not count as chosen by the run file.
void check_mixes(const Choice& choice, const Recipe& recipe, const Knobs& knobs,
                 const Settings& given);

}  // namespace rollcall::objective
