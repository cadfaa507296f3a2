// Two ranked draws, one for each side, laid side by side.
#include "scheduling/sampler/pairs.hpp"

#include "scheduling/outcomes.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rollcall::scheduling {

void PairSampler::bind(ConfigSchema& s) {
  s.bind("hard_below", &hard_below_, "largest success rate of the hard side", {0, 1});
  s.bind("easy_above", &easy_above_, "least success rate of the easy side", {0, 1});
}

std::vector<double> PairSampler::preference(bool hard) const {
  std::vector<double> score(knowledge_->size(), 1.0);  // not known yet
  for (const auto& [prompt, p] : success_) {
    const bool fits = p > 0 && p < 1 && (hard ? p <= hard_below_ : p >= easy_above_);
    score[prompt] = fits ? 2.0 : 0.0;
  }
  return score;
}

std::vector<Draw> PairSampler::choose(const StepRequest& request, const std::vector<PromptId>& held) {
  const auto wanted = std::size_t(request.prompts);
  const auto hard = take(*knowledge_, request.step, (wanted + 1) / 2, held, preference(true), By::score);
  const auto easy = take(*knowledge_, request.step, wanted / 2, with(held, hard), preference(false), By::score);
  std::vector<Draw> draws;
  for (std::size_t i = 0; i < std::max(hard.size(), easy.size()); ++i) {
    if (i < hard.size()) draws.push_back(hard[i]);
    if (i < easy.size()) draws.push_back(easy[i]);
  }
  repeat(*knowledge_, request.step, wanted, draws);
  return draws;
}

void PairSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    if (!report.correct.empty()) success_[report.id.prompt.value] = success(report);
  }
}

nlohmann::json PairSampler::save() const {
  auto rows = nlohmann::json::array();
  for (const auto& [prompt, p] : success_) rows.push_back({prompt, p});
  return {{"success", std::move(rows)}};
}

void PairSampler::load(const nlohmann::json& state) {
  success_.clear();
  for (const auto& row : state.at("success")) success_[row.at(0).get<std::uint64_t>()] = row.at(1).get<double>();
}

}  // namespace rollcall::scheduling
