// Fading Beta counts and their JSON form.
#include "scheduling/prompts/success_estimate.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

SuccessEstimate::Counts SuccessEstimate::faded(const Counts& counts, double decay,
                                               std::uint64_t step) {
  const double keep = step > counts.step ? std::pow(decay, double(step - counts.step)) : 1.0;
  return {keep * counts.right, keep * counts.wrong, std::max(step, counts.step)};
}

double SuccessEstimate::success(std::uint64_t step, PromptId prompt, std::int32_t level,
                                std::optional<double> predicted) const {
  double rate = predicted.value_or(knobs_->prior_success);
  if (const auto l = level_.find(level); l != level_.end() && !predicted) {
    const Counts c = faded(l->second, knobs_->level_decay, step);
    rate = (knobs_->prior_strength * rate + c.right) / (knobs_->prior_strength + c.right + c.wrong);
  }
  if (Counts own; prompt_.find(prompt.value, own)) {
    const Counts c = faded(own, knobs_->prompt_decay, step);
    rate = (knobs_->level_strength * rate + c.right) / (knobs_->level_strength + c.right + c.wrong);
  }
  return rate;
}

void SuccessEstimate::learn(const std::vector<GroupReport>& reports) {
  for (const auto& report : reports) {
    const auto right = double(std::count_if(report.correct.begin(), report.correct.end(),
                                            [](std::uint8_t c) { return c != 0; }));
    const double wrong = double(report.correct.size()) - right;
    const auto add = [&](Counts& counts, double decay) {
      counts = faded(counts, decay, report.id.step);
      counts.right += right;
      counts.wrong += wrong;
    };
    add(level_[report.level], knobs_->level_decay);
    Counts own;
    prompt_.find(report.id.prompt.value, own);
    add(own, knobs_->prompt_decay);
    prompt_.set(report.id.prompt.value, own);
  }
}

void SuccessEstimate::PromptCounts::expect(std::uint64_t prompts) {
  if (prompts <= step_.size()) return;
  counts_.resize(prompts);
  step_.resize(prompts, kNever);
}

bool SuccessEstimate::PromptCounts::find(std::uint64_t prompt, Counts& counts) const {
  if (prompt >= step_.size() || step_[prompt] == kNever) return false;
  counts = {counts_[prompt][0], counts_[prompt][1], step_[prompt]};
  return true;
}

void SuccessEstimate::PromptCounts::set(std::uint64_t prompt, const Counts& counts) {
  require<StorageError>(
      prompt < (std::uint64_t{1} << 32), fmt::format("counts of prompt {}", prompt),
      "prompts are numbered with 32 bits", "resume with the task section the run was started with");
  require<ConfigError>(counts.step < kNever, fmt::format("step {}", counts.step),
                       "the scheduler counts steps with 32 bits",
                       "start a new run from this one (--init-from)");
  expect(prompt + 1);
  counts_[prompt] = {counts.right, counts.wrong};
  step_[prompt] = std::uint32_t(counts.step);
}

void SuccessEstimate::PromptCounts::clear() { std::fill(step_.begin(), step_.end(), kNever); }

template <class Act>
void SuccessEstimate::PromptCounts::each(Act act) const {
  for (std::uint64_t prompt = 0; prompt < step_.size(); ++prompt) {
    if (Counts counts; find(prompt, counts)) act(prompt, counts);
  }
}

nlohmann::json SuccessEstimate::save_levels() const {
  auto levels = nlohmann::json::array();
  // doubles print shortest and read back exactly
  for (const auto& [level, c] : level_) levels.push_back({level, c.right, c.wrong, c.step});
  return levels;
}

std::vector<SuccessRow> SuccessEstimate::rows() const {
  std::vector<SuccessRow> rows;
  prompt_.each([&](std::uint64_t prompt, const Counts& c) {
    rows.push_back({c.right, c.wrong, std::uint32_t(prompt), std::uint32_t(c.step)});
  });
  return rows;
}

std::vector<SuccessRow> SuccessEstimate::rows(const std::vector<std::uint32_t>& prompts) const {
  std::vector<SuccessRow> rows;
  for (const std::uint32_t prompt : prompts) {
    if (Counts c; prompt_.find(prompt, c))
      rows.push_back({c.right, c.wrong, prompt, std::uint32_t(c.step)});
  }
  return rows;
}

nlohmann::json SuccessEstimate::save() const {
  return {{"levels", save_levels()}, {"prompts", to_json(rows())}};
}

void SuccessEstimate::load(const nlohmann::json& levels, const std::vector<SuccessRow>& prompts) {
  level_.clear(), prompt_.clear();
  for (const auto& row : levels)
    level_[row.at(0).get<std::int32_t>()] = {row.at(1).get<double>(), row.at(2).get<double>(),
                                             row.at(3).get<std::uint64_t>()};
  for (const SuccessRow& row : prompts) prompt_.set(row.prompt, {row.right, row.wrong, row.step});
}

void SuccessEstimate::renumber(const PromptMap& map) {
  PromptCounts renumbered;
  prompt_.each([&](std::uint64_t prompt, const Counts& counts) {
    if (const auto now = map.now(prompt)) renumbered.set(now->value, counts);
  });
  prompt_ = std::move(renumbered);
}

}  // namespace rollcall::scheduling
