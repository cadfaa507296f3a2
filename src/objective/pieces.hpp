// The seven families of pieces as tables: name, formula, and a maker that binds the piece's knobs.
#pragma once

#include "objective/columns.hpp"
#include "objective/knobs.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace rollcall::objective {

/// What a reward piece makes of the step's rewards. Reward pieces run one after the other; each
/// sees what the one before left.
struct ShapedReward {
  at::Tensor reward;        ///< [B] replaces Step::reward
  at::Tensor token_reward;  ///< [N] added to Step::token_reward; undefined: nothing
  std::map<std::string, double> statistics;
};

struct Advantage {
  // most pieces return the column alone
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
  at::Tensor clipped;  ///< [M] bool, where a bound took the derivative away; undefined: nowhere
  /// metrics actor/NAME: mean over the step's tokens of [M]
  std::vector<std::pair<std::string, at::Tensor>> means{};
};

/// What a weight piece makes of tokens. All may be undefined: no effect.
struct TokenWeight {
  at::Tensor factor;  ///< [N] multiplies the policy loss; the denominators stay
  at::Tensor keep;    ///< [N] float64 1 or 0; a dropped token leaves the loss, the regularizers and
                      ///< the denominators
  double lr_factor = 1.0;  ///< on this optimizer step's learning rate
  std::map<std::string, double> statistics{};
};

/// Families with Step run once a step, before the current policy is known; families with MicroBatch
/// run on every micro-batch, under autograd.
using RewardFunction = std::function<ShapedReward(const Step&)>;
using AdvantageFunction = std::function<Advantage(const Step&)>;
using WeightFunction = std::function<TokenWeight(const Step&)>;
/// -> [N] coefficient of each token's loss
using AggregateFunction = std::function<at::Tensor(const Step&)>;
using RatioFunction = std::function<at::Tensor(const MicroBatchTensors&)>;  ///< -> [M]
using SurrogateFunction =
    std::function<SurrogateLoss(const MicroBatchTensors&, const at::Tensor& ratio)>;
/// -> [M] added to the loss under the same aggregate
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
