// The seven families of pieces as tables: name, formula, and a maker that binds the piece's knobs.
#pragma once

#include "objective/columns.hpp"
#include "objective/knobs.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace rollcall::objective {

/// The result of a reward piece. Reward pieces run in sequence, and each sees the rewards that the
/// previous one returned.
struct ShapedReward {
  at::Tensor reward;        ///< [B] replaces Step::reward
  at::Tensor token_reward;  ///< [N] added to Step::token_reward; undefined: nothing
  std::map<std::string, double> statistics;
  at::Tensor turn_reward{};  ///< [K] added to PaidTurns::paid; undefined: nothing
  /// With a reward that replaces the earlier one: it is a sum over turns, so that what the
  /// environment paid for each of them still counts there.
  bool keeps_turns = false;
};

struct Advantage {
  // not explicit, because most pieces return nothing but the column
  Advantage(at::Tensor per_token) : advantage(std::move(per_token)) {}
  at::Tensor advantage;     ///< [N]
  at::Tensor value_target;  ///< [N] what the value head is to learn; undefined: there is none
  std::map<std::string, double> statistics;
};

/// Per-token loss of a surrogate, still without weights and denominators. A loss of a whole rollout
/// or group is returned on each of its tokens, to be averaged again by seq-mean-token-mean or
/// prompt-mean.
struct SurrogateLoss {
  at::Tensor loss;     ///< [M], differentiable
  at::Tensor clipped;  ///< [M] bool, where a bound set the derivative to 0; undefined: nowhere
  /// For metrics actor/NAME: columns [M]. The mean over the step's tokens is reported.
  std::vector<std::pair<std::string, at::Tensor>> means{};
};

/// The result of a weight piece. A column that is undefined has no effect.
struct TokenWeight {
  at::Tensor factor;  ///< [N] multiplies the policy loss; the denominators stay as they are
  at::Tensor keep;    ///< [N] float64 1 or 0; a dropped token leaves the loss, the regularizers and
                      ///< the denominators
  double lr_factor = 1.0;  ///< factor on this optimizer step's learning rate
  std::map<std::string, double> statistics{};
};

/// Functions of a Step run once per step (or update), before the current policy is evaluated.
/// Functions of MicroBatchTensors run on every micro-batch, under autograd.
using RewardFunction = std::function<ShapedReward(const Step&)>;
using AdvantageFunction = std::function<Advantage(const Step&)>;
using WeightFunction = std::function<TokenWeight(const Step&)>;
/// Returns [N], the coefficient of each token's loss.
using AggregateFunction = std::function<at::Tensor(const Step&)>;
using RatioFunction = std::function<at::Tensor(const MicroBatchTensors&)>;  ///< returns [M]
using SurrogateFunction =
    std::function<SurrogateLoss(const MicroBatchTensors&, const at::Tensor& ratio)>;
/// Returns [M], which is added to the loss under the same aggregate.
using RegularizerFunction = std::function<at::Tensor(const MicroBatchTensors&)>;

template <class Function>
struct Piece {
  std::string_view name, formula;
  Function (*make)(Knobs& knobs);  ///< a fresh piece with the paper's defaults, its knobs bound
};

template <class Function>
using PieceTable = std::span<const Piece<Function>>;

PieceTable<RewardFunction> rewards();
PieceTable<AdvantageFunction> advantages();
PieceTable<RatioFunction> ratios();
PieceTable<SurrogateFunction> surrogates();
PieceTable<WeightFunction> weights();
PieceTable<AggregateFunction> aggregates();
PieceTable<RegularizerFunction> regularizers();

}  // namespace rollcall::objective
