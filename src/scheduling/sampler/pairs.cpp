// Two ranked draws, one for each side, with alternating prompts.
#include "scheduling/sampler/pairs.hpp"

#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>

namespace rollcall::scheduling {
namespace {

constexpr double kFits = 2.0, kUnknown = 1.0;  // scores of prompts that fit (this or more), and of
                                               // prompts without results

/// Draws the given prompts again and again, each time with the next draw number, until there are
/// `wanted` draws.
void fill(std::vector<PromptDraw>& draws, std::size_t wanted) {
  for (std::size_t i = 0; !draws.empty() && draws.size() < wanted; ++i)
    draws.push_back({draws[i].prompt, draws[i].draw + 1, draws[i].probability});
}

}  // namespace

void PairSampler::bind(ConfigSchema& s) {
  s.bind("hard_below", &hard_below_, "largest success rate of the hard side", {0, 1});
  s.bind("easy_above", &easy_above_, "least success rate of the easy side", {0, 1});
  s.bind(
      "pairs_only", &pairs_only_,
      "a side that has run out repeats its prompts, instead of drawing prompts that always or never succeed");
  s.bind(
      "measured_before", &measured_before_,
      "success rates are those of task.fields.prior, measured before training, and the pairs stay the same");
}

std::vector<double> PairSampler::preference(bool hard) const {
  std::vector<double> score(knowledge_->size(), kUnknown);
  const auto fits = [&](double p) {
    return p > 0 && p < 1 && (hard ? p <= hard_below_ : p >= easy_above_);
  };
  for (const auto& [prompt, p] : success_) score[prompt] = fits(p) ? kFits : 0.0;
  for (std::size_t i = 0; measured_before_ && i < knowledge_->prompts.prior.size(); ++i) {
    const auto p = double(knowledge_->prompts.prior[i]);
    score[i] = fits(p) ? kFits + (hard ? 1.0 - p : p) : 0.0;
  }
  return score;
}

std::vector<PromptDraw> PairSampler::side(const StepRequest& request, std::size_t wanted,
                                          const std::vector<PromptId>& held, bool hard) const {
  const auto score = preference(hard);
  auto draws =
      take(*knowledge_, measured_before_ ? 0 : request.step, wanted, held, score, By::score);
  if (!pairs_only_ || draws.empty()) return draws;
  // draws descend by score
  const double least = score[draws.front().prompt.value] >= kFits ? kFits : kUnknown;
  std::erase_if(draws, [&](const PromptDraw& draw) { return score[draw.prompt.value] < least; });
  return draws;
}

std::vector<Need> PairSampler::needs() const {
  if (!measured_before_) return {};
  return {{"prior", "its pairs are chosen by success rates that were measured before training"}};
}

std::vector<PromptDraw> PairSampler::choose(const StepRequest& request,
                                            const std::vector<PromptId>& held) {
  const auto wanted = std::size_t(request.prompts);
  auto hard = side(request, (wanted + 1) / 2, held, true),
       easy = side(request, wanted / 2, with(held, hard), false);
  if (pairs_only_) {
    fill(hard, easy.empty() ? wanted : (wanted + 1) / 2);
    fill(easy, hard.empty() ? wanted : wanted / 2);
  }
  std::vector<PromptDraw> draws;
  for (std::size_t i = 0; i < std::max(hard.size(), easy.size()); ++i) {
    if (i < hard.size()) draws.push_back(hard[i]);
    if (i < easy.size()) draws.push_back(easy[i]);
  }
  // The only prompts left are those with rollouts that were all right or all wrong.
  if (draws.empty())
    draws = take(*knowledge_, request.step, wanted, held,
                 std::vector<double>(knowledge_->size(), 0.0), By::score);
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
  for (const auto& row : state.at("success"))
    success_[row.at(0).get<std::uint64_t>()] = row.at(1).get<double>();
}

}  // namespace rollcall::scheduling
