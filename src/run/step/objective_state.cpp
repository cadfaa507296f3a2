// Outcomes of a step by prompt, and the state as JSON with numbers that are read back exactly.
#include "run/step/objective_state.hpp"

#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "method/columns.hpp"
#include "run/checkpoint/part.hpp"
#include "scheduling/schedulers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rollcall::run {

std::int64_t ObjectiveState::best(PromptId prompt) const {
  const auto found = best_length.find(prompt.value);
  return found == best_length.end() ? 0 : found->second;
}

void ObjectiveState::learn(const StepBatch& batch, const std::vector<double>& drift) {
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    const auto& scores = batch.scores[g];
    const auto& rollouts = batch.groups[g].rollouts;
    // Nothing is learnt from answers that had help, or that saw other answers.
    if (!is_plain(batch.groups[g].from)) continue;
    const auto own = std::count_if(rollouts.begin(), rollouts.end(),
                                   [](const Rollout& rollout) { return !rollout.placed; });
    if (own == 0) continue;
    const PromptId prompt = batch.groups[g].id.prompt;
    double solved = 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!scores[i].correct || rollouts[i].placed) continue;
      solved += 1.0;
      const std::int64_t length = policy_tokens(rollouts[i]);
      const auto [known, first] = best_length.try_emplace(prompt.value, length);
      if (!first) known->second = std::min(known->second, length);
    }
    success.learn(prompt, solved, double(own),
                  drift.empty() ? std::numeric_limits<double>::quiet_NaN() : drift.at(g));
  }
}

std::string ObjectiveState::to_json() const {
  return nlohmann::json{{"format_number", row_of(Part::objective).format},
                        {"statistics", statistics},
                        {"success", success.save()},
                        {"best_length", best_length}}
      .dump();
}

void ObjectiveState::restore(const std::string& text, const std::string& origin) {
  try {
    const auto json = nlohmann::json::parse(text);
    const int format = row_of(Part::objective).format;
    require<StorageError>(
        json.at("format_number") == format,
        fmt::format("{} has format number {}", origin, json.at("format_number").dump()),
        fmt::format("this binary reads {}", format), "resume with the version that wrote it");
    statistics = json.at("statistics").get<std::map<std::string, double>>();
    success.load(json.at("success"));
    best_length = json.at("best_length").get<std::map<std::uint64_t, std::int64_t>>();
  } catch (const nlohmann::json::exception& e) {
    throw StorageError(
        error_message(fmt::format("{} is not an objective's state: {}", origin, fault_of(e)),
                      "the run cannot continue from it", "use an older checkpoint"));
  }
}

}  // namespace rollcall::run
