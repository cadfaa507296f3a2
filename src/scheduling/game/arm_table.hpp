// The table that the rollout games learn. It has one number for each rollout count that a
// difficulty bin may play.
#pragma once

#include "base/text/config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// The counts go from `least_arm` to `most_arm` and are the same for every bin. Each bin has a row
/// of numbers, which are zero before anything is learned.
class ArmTable {
 public:
  void bind(ConfigSchema& knobs);
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }
  std::size_t arms() const;  ///< throws ConfigError unless there are 2 to 256 arms
  bool empty() const { return rows_.empty(); }
  double at(std::size_t bin, std::int64_t count) const {
    return bin < rows_.size() ? rows_[bin][std::size_t(count - least_)] : 0.0;
  }
  /// [arms] The bin's numbers.
  std::vector<double> row(std::size_t bin) const {
    return bin < rows_.size() ? rows_[bin] : std::vector<double>(arms());
  }
  /// [bins][arms] The numbers of all bins, for a game that changes them.
  std::vector<std::vector<double>>& rows(std::size_t bins);
  /// Metrics of each bin: gdro/best_count/<bin>, the count with the largest number (the smallest
  /// count in a tie), and gdro/count_spread/<bin>, the largest number minus the smallest. There are
  /// none before anything is learned.
  std::vector<std::pair<std::string, double>> metrics() const;
  nlohmann::json save() const;
  /// Throws StorageError when the state has different bins or counts.
  void load(const nlohmann::json& state, std::size_t bins);

 private:
  std::int64_t least_ = 2, most_ = 12;     // bounds of the released launchers
  std::vector<std::vector<double>> rows_;  // saved state; empty before the first step
};

}  // namespace rollcall::scheduling
