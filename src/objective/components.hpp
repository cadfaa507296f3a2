// The verifier's reward components by name, and their weights: for pieces that look at several kinds of reward.
#pragma once

#include "objective/pieces.hpp"

#include <map>
#include <string>
#include <vector>

namespace rollcall::objective {

/// Columns component/NAME of the step, [B] each, by NAME.
inline std::map<std::string, at::Tensor> components(const Step& step) {
  constexpr std::string_view prefix = "component/";
  std::map<std::string, at::Tensor> all;
  for (const auto& [key, values] : step.columns.named) {
    if (key.starts_with(prefix)) all.emplace(key.substr(prefix.size()), values);
  }
  return all;
}

/// Weights that a run file gives components, "correct=1, format=0.5"; a component that it does not name weighs 1, one that the step does not carry is refused.
struct ComponentWeights {
  std::map<std::string, double> given;

  void bind(Knobs& knobs) {
    knobs.numbers("component_weights", given, {0.0, 1e6}, "weights of reward components by name; 1 for those not named");
    knobs.needs_columns([this] {
      std::vector<std::string> columns;
      for (const auto& [name, unused] : given) columns.push_back("component/" + name);
      return columns;
    });
  }

  double of(const std::string& name) const {
    const auto found = given.find(name);
    return found == given.end() ? 1.0 : found->second;
  }
};

}  // namespace rollcall::objective
