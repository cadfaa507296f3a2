// The tables of pieces: the only file that includes them all.
#include "objective/pieces.hpp"

#include "objective/advantage/batch_whiten.hpp"
#include "objective/advantage/group_center.hpp"
#include "objective/advantage/group_norm.hpp"
#include "objective/advantage/leave_one_out.hpp"
#include "objective/aggregate/prompt_mean.hpp"
#include "objective/aggregate/seq_mean_token_mean.hpp"
#include "objective/aggregate/seq_mean_token_sum.hpp"
#include "objective/aggregate/seq_mean_token_sum_norm.hpp"
#include "objective/aggregate/token_mean.hpp"
#include "objective/aggregate/token_sum.hpp"
#include "objective/ratio/sequence.hpp"
#include "objective/ratio/token.hpp"
#include "objective/regularizer/entropy.hpp"
#include "objective/regularizer/kl.hpp"
#include "objective/surrogate/clip.hpp"
#include "objective/surrogate/reinforce.hpp"
#include "objective/weight/drop_truncated.hpp"
#include "objective/weight/tis.hpp"

#include <memory>

namespace rollcall::objective {
namespace {

/// The row of a piece. The piece lives behind a pointer because its knobs point into it.
template <class Function, class Functor>
constexpr Piece<Function> row() {
  return {Functor::name, Functor::formula, [](Knobs& knobs) -> Function {
            auto piece = std::make_shared<Functor>();
            if constexpr (requires { piece->bind(knobs); }) piece->bind(knobs);
            return [piece](const auto&... arguments) { return (*piece)(arguments...); };
          }};
}

template <class Function, class... Functors>
constexpr std::array<Piece<Function>, sizeof...(Functors)> table = {row<Function, Functors>()...};

}  // namespace

PieceTable<AdvantageFunction> advantages() { return table<AdvantageFunction, GroupNorm, GroupCenter, LeaveOneOut, BatchWhiten>; }
PieceTable<RatioFunction> ratios() { return table<RatioFunction, TokenRatio, SequenceRatio>; }
PieceTable<SurrogateFunction> surrogates() { return table<SurrogateFunction, Clip, Reinforce>; }
PieceTable<WeightFunction> weights() { return table<WeightFunction, TruncatedImportance, DropTruncated>; }
PieceTable<AggregateFunction> aggregates() {
  return table<AggregateFunction, TokenMean, SeqMeanTokenMean, SeqMeanTokenSum, SeqMeanTokenSumNorm, TokenSum, PromptMean>;
}
PieceTable<RegularizerFunction> regularizers() { return table<RegularizerFunction, Kl, Entropy>; }

}  // namespace rollcall::objective
