// The verifier's reward components by name, and their weights: for pieces that look at several
// kinds of reward.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::objective {

/// The step's columns component/NAME, [B] each, by NAME, without the omitted names.
inline std::map<std::string, at::Tensor> components(const Step& step,
                                                    const std::vector<std::string>& omitted = {}) {
  constexpr std::string_view prefix = "component/";
  std::map<std::string, at::Tensor> all;
  for (const auto& [key, values] : step.columns.named) {
    if (!key.starts_with(prefix)) continue;
    std::string name = key.substr(prefix.size());
    if (std::find(omitted.begin(), omitted.end(), name) == omitted.end())
      all.emplace(std::move(name), values);
  }
  return all;
}

/// The weights that a run file gives to components, as in "correct=1, distance=-0.5". A component
/// that it does not name has weight 1. A name that the step does not have is refused. Every
/// verifier fills `correct`, and those of this project fill `format` as well. A row omits both if
/// its source pays for neither.
struct ComponentWeights {
  std::map<std::string, double> given;
  std::vector<std::string> omitted;

  void bind(Knobs& knobs) {
    knobs.numbers("component_weights", given, {-1e6, 1e6},
                  "weights of reward components by name; 1 for those not named");
    knobs.words("omit_components", omitted,
                "reward components that do not count, whether or not the verifier fills them");
    knobs.refuse_if(
        [this] {
          return std::any_of(omitted.begin(), omitted.end(),
                             [this](const std::string& name) { return given.contains(name); });
        },
        "component_weights weighs a component that omit_components leaves out",
        "it would not count", "set omit_components to those that are not to count, or to none");
    knobs.needs.columns([this] {
      std::vector<std::string> columns;
      for (const auto& [name, unused] : given) columns.push_back("component/" + name);
      return columns;
    });
    knobs.reward_use.reads_components([this](const std::string& name) { return counts(name); });
  }

  double of(const std::string& name) const {
    const auto found = given.find(name);
    return found == given.end() ? 1.0 : found->second;
  }

  /// Whether a component of this name would change the sum.
  bool counts(const std::string& name) const {
    return of(name) != 0.0 && std::find(omitted.begin(), omitted.end(), name) == omitted.end();
  }

  /// [B] weighted sum of the components that count, or the reward if the step has none.
  at::Tensor sum(const Step& step) const {
    at::Tensor all;
    for (const auto& [name, values] : counted(step).first)
      all = all.defined() ? all + of(name) * values : of(name) * values;
    return all.defined() ? all : step.reward;
  }

  /// The components that count, and the sum of the absolute values of their weights, which is above
  /// 0 where there are any. Throws ConfigError where the step has components and none of them
  /// counts.
  std::pair<std::map<std::string, at::Tensor>, double> counted(const Step& step) const {
    auto all = components(step, omitted);
    double total = 0.0;
    for (const auto& [name, unused] : all) total += std::abs(of(name));
    const bool any = !all.empty() || components(step).empty();
    require<ConfigError>(
        any && (all.empty() || total > 0.0),
        "no reward component counts: all are omitted, or weigh 0",
        "every rollout would be paid the same",
        "change objective.knobs.component_weights or objective.knobs.omit_components");
    return {std::move(all), total};
  }
};

}  // namespace rollcall::objective
