// How the chosen pieces use the rewards of rollouts. A reward that a verifier or a reward piece
// pays reaches the loss only if the advantage reads it. Combinations in which it cannot reach the
// loss are refused.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::objective {

class Step;  // columns.hpp

/// The quantity on which a piece trains instead of the reward.
struct TrainsOn {
  std::string family, piece;
  std::function<bool()> when;
  std::string what;                             ///< that quantity in words, such as "which answers
                                                ///< are correct"
  std::function<at::Tensor(const Step&)> paid;  ///< [B] that quantity as a number, from which a
                                                ///< scheduler learns; empty: it depends on no
                                                ///< verdict
};

/// Says which rollouts learn from the reward, if a quantity other than the reward decides that.
struct Gate {
  std::function<bool()> when;
  /// [B] from which a scheduler learns: Step::reward in groups that learn from it, and equal
  /// numbers in groups that learn nothing.
  std::function<at::Tensor(const Step&)> heard;
  bool by_verifier = false;  ///< if Step::reward is the verifier's reward, so is `heard`
};

/// Pieces state this while they are made; `when` is asked after all settings are made.
class RewardUse {
 public:
  /// Statements after this call are about this piece.
  void enter(std::string_view family, std::string_view piece);

  /// For an advantage that does not read Step::reward, and for a surrogate that reads neither the
  /// reward nor the advantage.
  void trains_on(std::string what, std::function<bool()> when,
                 std::function<at::Tensor(const Step&)> paid = {});
  /// The first chosen piece that trains on something else, or null where the loss reads the reward.
  /// A surrogate comes before an advantage, because it decides what the advantage is used for.
  const TrainsOn* in_place_of_reward() const;

  /// For a piece that decides which groups learn from the reward.
  void gates(Gate gate) { gates_.push_back(std::move(gate)); }
  /// The gates of the chosen pieces, in their order.
  std::vector<const Gate*> gates() const;

  /// For a piece that reads columns component/NAME without naming all of them in its needs: says
  /// which of them it reads, by NAME.
  void reads_components(std::function<bool(const std::string& name)> which);
  bool reads_component(const std::string& name) const;  ///< such a piece reads it
  /// Whether the piece has said which components it reads. Its needs may name others as well, which
  /// weigh 0.
  bool says_components(std::string_view family, std::string_view piece) const;

  bool reads_token_rewards = false;  ///< the advantage reads Step::token_reward
  /// For a reward piece that pays single tokens instead of rollouts.
  void pays_tokens(std::function<bool()> when);
  bool tokens_paid() const;

  bool reads_turn_rewards = false;  ///< the advantage reads Step::turn_reward()
  bool turns_paid = false;          ///< a reward piece pays single turns

  /// For an advantage that subtracts from the reward a column on the scale of the verifier's
  /// reward; `what` gives the column's name.
  void subtracts_verifiers(std::function<bool()> when, std::function<std::string()> what);
  /// Names of the columns that are subtracted.
  std::vector<std::string> subtracted() const;

  /// For a piece with a constant on the scale of the verifier's reward: the number that it takes
  /// for the largest reward, and the knob that sets it. There is no knob if that number is the
  /// share of right answers, which is at most 1.
  void takes_largest(std::function<bool()> when, std::function<double()> largest,
                     std::string setting = {});
  struct Largest {
    std::string family, piece, setting;
    double reward = 1.0;
  };
  /// The numbers that the chosen pieces take for the largest reward.
  std::vector<Largest> largest() const;

 private:
  struct TakenLargest {
    Largest said;
    std::function<bool()> when;
    std::function<double()> reward;
  };
  std::vector<TakenLargest> largest_;
  struct Subtracted {
    std::function<bool()> when;
    std::function<std::string()> what;
  };
  std::string family_, piece_;
  std::vector<TrainsOn> trains_on_;
  std::vector<Gate> gates_;
  std::vector<std::function<bool()>> pays_tokens_;
  struct ReadComponents {
    std::string family, piece;
    std::function<bool(const std::string&)> which;
  };
  std::vector<ReadComponents> reads_components_;
  std::vector<Subtracted> subtracts_;
};

}  // namespace rollcall::objective
