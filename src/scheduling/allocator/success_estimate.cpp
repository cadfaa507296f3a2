// Fading Beta counts and their JSON form.
#include "scheduling/allocator/success_estimate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

SuccessEstimate::Counts SuccessEstimate::faded(const Counts& counts, double decay, std::uint64_t step) {
  const double keep = step > counts.step ? std::pow(decay, double(step - counts.step)) : 1.0;
  return {keep * counts.right, keep * counts.wrong, std::max(step, counts.step)};
}

double SuccessEstimate::success(std::uint64_t step, PromptId prompt, std::int32_t level) const {
  double rate = knobs_->prior_success;
  if (const auto l = level_.find(level); l != level_.end()) {
    const Counts c = faded(l->second, knobs_->level_decay, step);
    rate = (knobs_->prior_strength * rate + c.right) / (knobs_->prior_strength + c.right + c.wrong);
  }
  if (const auto p = prompt_.find(prompt.value); p != prompt_.end()) {
    const Counts c = faded(p->second, knobs_->prompt_decay, step);
    rate = (knobs_->level_strength * rate + c.right) / (knobs_->level_strength + c.right + c.wrong);
  }
  return rate;
}

void SuccessEstimate::learn(const std::vector<GroupReport>& reports) {
  for (const auto& report : reports) {
    const auto right = double(std::count_if(report.correct.begin(), report.correct.end(), [](std::uint8_t c) { return c != 0; }));
    const double wrong = double(report.correct.size()) - right;
    const auto add = [&](Counts& counts, double decay) {
      counts = faded(counts, decay, report.id.step);
      counts.right += right;
      counts.wrong += wrong;
    };
    add(level_[report.level], knobs_->level_decay);
    add(prompt_[report.id.prompt.value], knobs_->prompt_decay);
  }
}

namespace {

template <class Map>
nlohmann::json rows_of(const Map& counts) {
  auto rows = nlohmann::json::array();
  for (const auto& [key, c] : counts) rows.push_back({key, c.right, c.wrong, c.step});  // doubles print shortest and read back exactly
  return rows;
}

template <class Map>
Map counts_of(const nlohmann::json& rows) {
  Map counts;
  for (const auto& row : rows) {
    counts[row.at(0).get<typename Map::key_type>()] = {row.at(1).get<double>(), row.at(2).get<double>(), row.at(3).get<std::uint64_t>()};
  }
  return counts;
}

}  // namespace

nlohmann::json SuccessEstimate::save() const { return {{"levels", rows_of(level_)}, {"prompts", rows_of(prompt_)}}; }

void SuccessEstimate::load(const nlohmann::json& state) {
  auto levels = counts_of<decltype(level_)>(state.at("levels"));
  prompt_ = counts_of<decltype(prompt_)>(state.at("prompts"));
  level_ = std::move(levels);
}

void SuccessEstimate::renumber(const PromptMap& map) {
  decltype(prompt_) renumbered;
  for (const auto& [prompt, counts] : prompt_) {
    if (const auto now = map.now(prompt)) renumbered[now->value] = counts;
  }
  prompt_ = std::move(renumbered);
}

}  // namespace rollcall::scheduling
