// How the chosen pieces use the advantage and the ratio. A scheduler's weight, an advantage or a
// ratio that the loss does not read changes nothing. Neither does a piece that compares policies
// which are identical.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::objective {

/// Pieces state this while they are made; `when` is asked after all settings are made.
class LossUse {
 public:
  using Condition = std::function<bool()>;
  static bool always() { return true; }

  /// Statements after this call are about this piece.
  void enter(std::string_view family, std::string_view piece) { family_ = family, piece_ = piece; }

  /// For a surrogate that does not read MicroBatchTensors::advantage.
  void ignores_advantage(Condition when = always) { ignores_advantage_.push_back(std::move(when)); }
  bool reads_advantage() const {
    for (const auto& when : ignores_advantage_)
      if (when()) return false;
    return true;
  }
  bool reads_ratio = true;  ///< a surrogate that does not look at its ratio sets it to false
  /// If every ratio is 1, the surrogate's derivative equals the derivative of -A lp for every
  /// token. A surrogate with a different derivative sets this to false.
  bool is_policy_gradient = true;

  /// For a weight or a regularizer that changes no derivative where the current policy is the old
  /// one and the one that sampled.
  void idle_on_policy(Condition when = always) {
    idle_.push_back({family_, piece_, std::move(when)});
  }
  bool is_idle_on_policy(std::string_view family, std::string_view piece) const {
    for (const Idle& one : idle_)
      if (one.family == family && one.piece == piece && one.when()) return true;
    return false;
  }

  /// For a piece with a part that acts only on answers of a minimum length: this length in tokens,
  /// and the knob that sets it.
  void acts_from(std::function<double()> tokens, std::string setting) {
    acts_from_.push_back({family_, piece_, std::move(setting), std::move(tokens)});
  }
  struct ActsFrom {
    std::string family, piece, setting;
    std::function<double()> tokens;  ///< not finite: there is no such part
  };
  const std::vector<ActsFrom>& least_lengths() const { return acts_from_; }

 private:
  struct Idle {
    std::string family, piece;
    Condition when;
  };
  std::string family_, piece_;
  std::vector<Condition> ignores_advantage_;
  std::vector<Idle> idle_;
  std::vector<ActsFrom> acts_from_;
};

}  // namespace rollcall::objective
