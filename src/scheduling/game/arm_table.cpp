// Knobs, size, metrics and saved form of the numbers that the rollout games learn.
#include "scheduling/game/arm_table.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::scheduling {

void ArmTable::bind(ConfigSchema& knobs) {
  knobs.bind("least_arm", &least_, "fewest rollouts a bin plays", {1, 1e6});
  knobs.bind("most_arm", &most_, "most rollouts a bin plays", {1, 1e6});
}

std::size_t ArmTable::arms() const {
  require<ConfigError>(most_ > least_ && most_ - least_ < 256,
                       fmt::format("counts from {} to {} rollouts", least_, most_),
                       "a bin chooses among 2 to 256 counts",
                       "set scheduler.knobs.least_arm below scheduler.knobs.most_arm");
  return std::size_t(most_ - least_ + 1);
}

std::vector<std::vector<double>>& ArmTable::rows(std::size_t bins) {
  rows_.resize(bins, std::vector<double>(arms()));
  return rows_;
}

std::vector<std::pair<std::string, double>> ArmTable::metrics() const {
  std::vector<std::pair<std::string, double>> all;
  for (std::size_t b = 0; b < rows_.size(); ++b) {
    const auto best = std::max_element(rows_[b].begin(), rows_[b].end()),
               least = std::min_element(rows_[b].begin(), rows_[b].end());
    all.emplace_back(fmt::format("gdro/best_count/{}", b),
                     double(least_ + (best - rows_[b].begin())));
    all.emplace_back(fmt::format("gdro/count_spread/{}", b), *best - *least);
  }
  return all;
}

nlohmann::json ArmTable::save() const { return rows_; }

void ArmTable::load(const nlohmann::json& state, std::size_t bins) {
  auto rows = state.get<std::vector<std::vector<double>>>();
  const bool fits =
      (rows.empty() || rows.size() == bins) &&
      std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == arms(); });
  require<StorageError>(fits, "what was learned of rollout counts is of other bins or counts",
                        "the run would not continue where it stopped",
                        "resume with the knobs it was started with");
  rows_ = std::move(rows);
}

}  // namespace rollcall::scheduling
