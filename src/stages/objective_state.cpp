// Decayed Beta counts a prompt, and the state as JSON with exact numbers.
#include "stages/objective_state.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rollcall::stages {

PromptHistory ObjectiveState::of(PromptId prompt) const {
  const auto found = prompts.find(prompt.value);
  return found == prompts.end() ? PromptHistory{} : found->second;
}

void ObjectiveState::learn(const StepBatch& batch, double decay) {
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    if (batch.scores[g].empty()) continue;
    auto& history = prompts[batch.groups[g].id.prompt.value];
    double solved = 0.0;
    for (std::size_t i = 0; i < batch.scores[g].size(); ++i) {
      if (!batch.scores[g][i].correct) continue;
      solved += 1.0;
      const std::int64_t length = policy_tokens(batch.groups[g].rollouts[i]);
      history.best_length = history.best_length == 0 ? length : std::min(history.best_length, length);
    }
    const double rate = solved / double(batch.scores[g].size());
    history.successes = decay * history.successes + rate;
    history.failures = decay * history.failures + (1.0 - rate);
  }
}

std::string ObjectiveState::to_json() const {
  nlohmann::json histories = nlohmann::json::array();
  for (const auto& [prompt, h] : prompts) histories.push_back({prompt, h.successes, h.failures, h.best_length});
  return nlohmann::json{{"format_number", 1}, {"statistics", statistics}, {"prompts", histories}}.dump();
}

ObjectiveState ObjectiveState::parse(const std::string& text, const std::string& origin) {
  ObjectiveState state;
  try {
    const auto json = nlohmann::json::parse(text);
    require<StorageError>(json.at("format_number") == 1, fmt::format("{} has format number {}", origin, json.at("format_number").dump()), "this binary reads 1",
                          "resume with the version that wrote it");
    state.statistics = json.at("statistics").get<std::map<std::string, double>>();
    for (const auto& row : json.at("prompts")) {
      state.prompts[row.at(0).get<std::uint64_t>()] = {row.at(1).get<double>(), row.at(2).get<double>(), row.at(3).get<std::int64_t>()};
    }
  } catch (const nlohmann::json::exception& e) {
    throw StorageError(
        error_message(fmt::format("{} is not an objective's state: {}", origin, e.what()), "the run cannot go on from it", "use an older checkpoint"));
  }
  return state;
}

}  // namespace rollcall::stages
