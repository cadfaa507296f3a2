// Mixes of pieces that are each right and together cannot be meant: of one of them the run would
// silently be without.
#pragma once

#include "objective/knobs.hpp"
#include "objective/objective.hpp"
#include "objective/recipes.hpp"

#include <array>
#include <string>

namespace rollcall::objective {

/// piece names by Family, several joined by +
using Choice = std::array<std::string, family_names.size()>;

/// The names of a family that composes; none is no name.
std::vector<std::string> names_of(const Choice& choice, Family family);

/// Throws ConfigError, all that is wrong in one. `knobs`: those of the pieces of `choice`, as row
/// and run file set them; `given`: the run file's.
void check_mixes(const Choice& choice, const Knobs& knobs, const Settings& given);

}  // namespace rollcall::objective
