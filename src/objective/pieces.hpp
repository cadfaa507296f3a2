// The six families of pieces as tables: name, formula, and a maker that binds the piece's knobs.
#pragma once

#include "objective/columns.hpp"
#include "objective/knobs.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace rollcall::objective {

/// Per-token loss of a surrogate, still without weights and denominators.
struct SurrogateLoss {
  at::Tensor loss;     ///< [M], differentiable
  at::Tensor clipped;  ///< [M] bool, where a bound took the derivative away; undefined: nowhere
};

/// What a weight piece makes of tokens. Both may be undefined: no effect.
struct TokenWeight {
  at::Tensor factor;  ///< [N] multiplies the policy loss; the denominators stay
  at::Tensor keep;    ///< [N] float64 1 or 0; a dropped token leaves the loss, the regularizers and the denominators
};

/// Families with Step run once a step, before the current policy is known; families with Leaf run on every leaf, under autograd.
using AdvantageFunction = std::function<at::Tensor(const Step&)>;  ///< -> [N]
using WeightFunction = std::function<TokenWeight(const Step&)>;
using AggregateFunction = std::function<at::Tensor(const Step&)>;  ///< -> [N] coefficient of each token's loss
using RatioFunction = std::function<at::Tensor(const Leaf&)>;      ///< -> [M]
using SurrogateFunction = std::function<SurrogateLoss(const Leaf&, const at::Tensor& ratio)>;
using RegularizerFunction = std::function<at::Tensor(const Leaf&)>;  ///< -> [M] added to the loss under the same aggregate

template <class Function>
struct Piece {
  std::string_view name, formula;
  Function (*make)(Knobs& knobs);  ///< a fresh piece with the paper's defaults, its knobs bound
};

template <class Function>
using PieceTable = std::span<const Piece<Function>>;

PieceTable<AdvantageFunction> advantages();
PieceTable<RatioFunction> ratios();
PieceTable<SurrogateFunction> surrogates();
PieceTable<WeightFunction> weights();
PieceTable<AggregateFunction> aggregates();
PieceTable<RegularizerFunction> regularizers();

}  // namespace rollcall::objective
