// What the rollout games learn: one number for each count that a difficulty bin may play.
#pragma once

#include "base/config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Counts from `least_arm` to `most_arm`, the same for every bin; a row of numbers a bin, zero
/// before anything is learned.
class ArmTable {
 public:
  void bind(ConfigSchema& knobs);
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }
  std::size_t arms() const;  ///< throws ConfigError where there are not 2 to 256 of them
  bool empty() const { return rows_.empty(); }
  double at(std::size_t bin, std::int64_t count) const {
    return bin < rows_.size() ? rows_[bin][std::size_t(count - least_)] : 0.0;
  }
  /// [arms]
  std::vector<double> row(std::size_t bin) const {
    return bin < rows_.size() ? rows_[bin] : std::vector<double>(arms());
  }
  /// [bins][arms], to learn into
  std::vector<std::vector<double>>& rows(std::size_t bins);
  /// What is learned of a bin: gdro/best_count/<bin>, the count of its largest number (the smallest
  /// of equals), and gdro/count_spread/<bin>, how far that lies above the least. None before
  /// anything is learned.
  std::vector<std::pair<std::string, double>> metrics() const;
  nlohmann::json save() const;
  /// throws StorageError when the state is of other bins or counts
  void load(const nlohmann::json& state, std::size_t bins);

 private:
  std::int64_t least_ = 2, most_ = 12;     // the released launchers'
  std::vector<std::vector<double>> rows_;  // state; empty before the first step
};

}  // namespace rollcall::scheduling
