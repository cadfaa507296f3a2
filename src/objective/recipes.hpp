// The table of recipes and of pieces, as values that a listing can print.
#pragma once

#include "method/method.hpp"

#include <string>
#include <vector>

namespace rollcall::objective {

using method::Family, method::family_names, method::Recipe;

const std::vector<Recipe>& recipes();

/// A piece in the form that a listing shows.
struct PieceCard {
  struct KnobCard {
    std::string name, value, valid, meaning;  ///< value: the paper's default
  };
  std::string family, name, formula;
  std::vector<KnobCard> knobs;
};

std::vector<PieceCard> piece_cards();

}  // namespace rollcall::objective
