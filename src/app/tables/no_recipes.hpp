// Published systems that users may look for among the recipes although they are not recipes: where
// they are found instead, or why they are missing.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace rollcall::app {

struct NoRecipe {
  std::string_view name, sentence;
};

inline constexpr std::array kNoRecipes{
    NoRecipe{
        "contextevolve",
        "not here: it searches for better contexts of a model whose weights stay, so there is no "
        "policy to train."},
    NoRecipe{"harmonyguard",
             "not here: it guards an agent while that answers, and trains nothing."},
    NoRecipe{"iot-rl-aco",
             "not here: it routes messages of sensors by ant colonies and has no language model."},
    NoRecipe{"irl-llm-survey",
             "a survey: the table 'Where rewards come from' of src/objective/METHODS.md maps its "
             "sources of reward to pieces."},
    NoRecipe{"llm-memory-survey",
             "a survey: of its advice on evaluation, paired tests with Holm's correction are in "
             "result.json (key tests)."},
    NoRecipe{
        "longcat-flash-thinking",
        "partly: experts of single domains are fused by `rollcall weights merge`; asynchronous "
        "rollouts with several live versions are not here."},
    NoRecipe{
        "prefix-grouper",
        "part of every recipe: what rollouts begin with alike is run once, forward and backward "
        "(src/objective/METHODS.md, 'Shared beginnings')."},
    NoRecipe{
        "psyche-r1",
        "a way to split data: scripts/split_by_evaluations sends what several models do not all "
        "solve to RL, the rest to supervised training."},
    NoRecipe{"rl-small-subnetworks",
             "for every recipe: `rollcall weights compare` reports how many weights moved, and "
             "gradient_mask trains those alone again."},
};

/// The sentence about a name that is not a recipe; empty if the name is unknown.
constexpr std::string_view sentence_of(std::string_view name) {
  const auto* const found = std::find_if(kNoRecipes.begin(), kNoRecipes.end(),
                                         [&](const NoRecipe& n) { return n.name == name; });
  return found == kNoRecipes.end() ? std::string_view() : found->sentence;
}

}  // namespace rollcall::app
