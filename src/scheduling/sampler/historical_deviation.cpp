// Sums of accuracies for each prompt, and the ranking that is made from them once.
#include "scheduling/sampler/historical_deviation.hpp"

#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>

namespace rollcall::scheduling {

void HistoricalDeviationSampler::bind(ConfigSchema& s) {
  s.bind("prompts_kept", &kept_, "prompts that the rest of the run trains on", {1, 1e9});
  s.bind("rank_after", &rank_after_, "share of the run after which prompts are ranked", {0, 1});
}

std::vector<PromptId> HistoricalDeviationSampler::ranking() const {
  std::vector<std::pair<double, std::uint64_t>> order;
  for (const auto& [prompt, s] : series_)
    order.emplace_back(-(s.squares / s.count - s.sum * s.sum / (s.count * s.count)), prompt);
  std::sort(order.begin(), order.end());
  std::vector<PromptId> prompts;
  for (const auto& [_, prompt] : order) prompts.push_back({prompt});
  return prompts;
}

std::vector<PromptDraw> HistoricalDeviationSampler::choose(const StepRequest& request,
                                                           const std::vector<PromptId>& held) {
  if (ranked_.empty() && request.progress >= rank_after_) {
    for (const PromptId prompt : ranking()) {
      if (std::int64_t(ranked_.size()) < kept_) ranked_.push_back(prompt.value);
    }
  }
  // A refill asks for prompts beyond those that are kept.
  if (ranked_.empty() || !held.empty()) return order_.choose(request, held);
  std::vector<PromptDraw> draws;
  for (std::uint32_t i = 0; draws.size() < std::size_t(request.prompts); ++i) {
    draws.push_back({{ranked_[i % ranked_.size()]}, std::uint32_t(i / ranked_.size())});
  }
  return draws;
}

void HistoricalDeviationSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    if (!ranked_.empty() || report.correct.empty()) continue;
    const double accuracy = success(report);
    Series& s = series_[report.id.prompt.value];
    s = {s.count + 1, s.sum + accuracy, s.squares + accuracy * accuracy};
  }
}

nlohmann::json HistoricalDeviationSampler::save() const {
  auto rows = nlohmann::json::array();
  for (const auto& [prompt, s] : series_) rows.push_back({prompt, s.count, s.sum, s.squares});
  return {{"order", order_.save()}, {"series", std::move(rows)}, {"ranked", ranked_}};
}

void HistoricalDeviationSampler::load(const nlohmann::json& state) {
  order_.load(state.at("order"));
  ranked_ = state.at("ranked").get<std::vector<std::uint64_t>>();
  series_.clear();
  for (const auto& row : state.at("series"))
    series_[row.at(0).get<std::uint64_t>()] = {row.at(1).get<double>(), row.at(2).get<double>(),
                                               row.at(3).get<double>()};
}

}  // namespace rollcall::scheduling
