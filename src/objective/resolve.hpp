// From names to pieces: a recipe with overrides becomes functions with their knobs set.
#pragma once

#include "objective/mixes.hpp"
#include "objective/pieces.hpp"
#include "objective/recipes.hpp"

#include <string>
#include <vector>

namespace rollcall::objective {

/// A chosen piece of a family with functions that take a Step.
template <class Function>
struct Chosen {
  std::string name;
  Function function;
  bool each_update = false;  ///< it reads the policy that an update starts from, or the result of
      ///< a piece that does, so it runs at every update, on the update's rollouts
};

struct Objective::Resolved {
  /// Throws ConfigError, see Objective.
  Resolved(const std::string& recipe, const Settings& overrides, const Settings& settings);

  const Recipe* recipe = nullptr;
  Choice choice;  ///< the names of the pieces
  /// ("family  name", formula) of each chosen piece, in the order of families
  std::vector<std::pair<std::string, std::string>> cards;
  Knobs knobs;
  std::vector<Chosen<RewardFunction>> rewards;
  Chosen<AdvantageFunction> advantage;
  RatioFunction ratio;
  SurrogateFunction surrogate;
  std::vector<Chosen<WeightFunction>> weights;
  AggregateFunction aggregate;
  std::vector<std::pair<std::string, RegularizerFunction>> regularizers;  ///< each with the name of
                                                                          ///< its piece

 private:
  void tell_updates_apart();  ///< sets each_update
  void start_controllers();   ///< gives regularizer kl the first value of its controller
};

}  // namespace rollcall::objective
