// What the chosen loss makes of the advantage and of the ratio. A weight of a scheduler, an
// advantage or a ratio that the loss does not read changes nothing, so it is refused.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace rollcall::objective {

/// A surrogate states this while it is made; `when` is asked after all settings are made.
class LossUse {
 public:
  /// For a surrogate that does not read MicroBatchTensors::advantage.
  void ignores_advantage(std::function<bool()> when = [] { return true; }) {
    ignores_advantage_.push_back(std::move(when));
  }
  bool reads_advantage() const {
    for (const auto& when : ignores_advantage_)
      if (when()) return false;
    return true;
  }
  bool reads_ratio = true;  ///< a surrogate that does not look at its ratio sets it to false

 private:
  std::vector<std::function<bool()>> ignores_advantage_;
};

}  // namespace rollcall::objective
