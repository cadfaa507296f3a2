// From names to pieces: a recipe with overrides becomes functions with their knobs set.
#pragma once

#include "objective/pieces.hpp"
#include "objective/recipes.hpp"

#include <string>
#include <vector>

namespace rollcall::objective {

struct Objective::Resolved {
  /// Throws ConfigError, see Objective.
  Resolved(const std::string& recipe, const Settings& overrides, const Settings& settings);

  const Recipe* recipe = nullptr;
  std::vector<std::pair<std::string, std::string>> cards;  ///< (family  name, formula) of each chosen piece
  Knobs knobs;
  std::vector<std::pair<std::string, RewardFunction>> rewards;  ///< with the piece's name
  AdvantageFunction advantage;
  RatioFunction ratio;
  SurrogateFunction surrogate;
  std::vector<WeightFunction> weights;
  AggregateFunction aggregate;
  std::vector<std::pair<std::string, RegularizerFunction>> regularizers;  ///< with the piece's name
};

}  // namespace rollcall::objective
