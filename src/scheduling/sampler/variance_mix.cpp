// A weighted part and a shuffled part that have no prompt in common.
#include "scheduling/sampler/variance_mix.hpp"

#include "base/text/json.hpp"
#include "scheduling/diversity.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void VarianceMixSampler::bind(ConfigSchema& s) {
  s.bind("variance_share", &share_, "share of the step's prompts drawn by their score", {0, 1});
  s.bind("outcome_weight", &outcome_weight_, "weight of p (1 - p) in the score", {0, 1e6});
  s.bind("diversity_weight", &diversity_weight_, "weight of the rollouts' diversity in the score",
         {0, 1e6});
  s.bind(
      "diversity", &measure_,
      "how diversity is measured: 1 - self-BLEU of 1- to 3-grams of tokens, or the share of different 3-grams",
      {}, diversity_measures());
}

double VarianceMixSampler::score(std::uint64_t step, PromptId prompt) const {
  const double p = knowledge_->success(step, prompt);
  const auto diversity = diversity_.find(prompt.value);
  return outcome_weight_ * p * (1.0 - p) +
         diversity_weight_ * (diversity == diversity_.end() ? 0.0 : diversity->second);
}

std::vector<PromptDraw> VarianceMixSampler::choose(const StepRequest& request,
                                                   const std::vector<PromptId>& held) {
  std::vector<double> weight(knowledge_->size());
  // A weight of 0 has the score -infinity: such a prompt is taken only when no others are left.
  for (std::uint64_t p = 0; p < weight.size(); ++p) weight[p] = std::log(score(request.step, {p}));
  const auto wanted = std::size_t(request.prompts);
  auto draws = take(*knowledge_, request.step, std::size_t(share_ * double(wanted)), held, weight,
                    By::chance);
  StepRequest rest = request;
  const auto taken = with(held, draws);
  rest.prompts =
      std::int64_t(std::min(wanted, knowledge_->size() -
                                        std::min<std::size_t>(knowledge_->size(), held.size())) -
                   draws.size());
  for (PromptDraw& draw : draws) draw.probability = -1.0;  // the shuffled part states none
  if (rest.prompts > 0) {
    for (const PromptDraw& draw : shuffle_.choose(rest, taken)) draws.push_back(draw);
  }
  repeat(*knowledge_, request.step, wanted, draws);
  return draws;
}

void VarianceMixSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    if (!std::isnan(report.diversity)) diversity_[report.id.prompt.value] = report.diversity;
  }
}

nlohmann::json VarianceMixSampler::save() const {
  auto rows = nlohmann::json::array();
  for (const auto& [prompt, diversity] : diversity_) rows.push_back({prompt, diversity});
  return {{"shuffle", shuffle_.save()}, {"diversity", std::move(rows)}};
}

void VarianceMixSampler::load(const nlohmann::json& state) {
  shuffle_.load(state.at("shuffle"));
  diversity_.clear();
  for (const auto& row : state.at("diversity"))
    diversity_[row.at(0).get<std::uint64_t>()] = row.at(1).get<double>();
}

}  // namespace rollcall::scheduling
