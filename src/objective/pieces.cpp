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

// clang-format off
constexpr std::array<Piece<RewardFunction>, 0> reward_table = {};
constexpr Piece<AdvantageFunction> advantage_table[] = {
  row<AdvantageFunction, GroupNorm>(),
  row<AdvantageFunction, GroupCenter>(),
  row<AdvantageFunction, LeaveOneOut>(),
  row<AdvantageFunction, BatchWhiten>(),
};
constexpr Piece<RatioFunction> ratio_table[] = {
  row<RatioFunction, TokenRatio>(),
  row<RatioFunction, SequenceRatio>(),
};
constexpr Piece<SurrogateFunction> surrogate_table[] = {
  row<SurrogateFunction, Clip>(),
  row<SurrogateFunction, Reinforce>(),
};
constexpr Piece<WeightFunction> weight_table[] = {
  row<WeightFunction, TruncatedImportance>(),
  row<WeightFunction, DropTruncated>(),
};
constexpr Piece<AggregateFunction> aggregate_table[] = {
  row<AggregateFunction, TokenMean>(),
  row<AggregateFunction, SeqMeanTokenMean>(),
  row<AggregateFunction, SeqMeanTokenSum>(),
  row<AggregateFunction, SeqMeanTokenSumNorm>(),
  row<AggregateFunction, TokenSum>(),
  row<AggregateFunction, PromptMean>(),
};
constexpr Piece<RegularizerFunction> regularizer_table[] = {
  row<RegularizerFunction, Kl>(),
  row<RegularizerFunction, Entropy>(),
};
// clang-format on

}  // namespace

PieceTable<RewardFunction> rewards() { return reward_table; }
PieceTable<AdvantageFunction> advantages() { return advantage_table; }
PieceTable<RatioFunction> ratios() { return ratio_table; }
PieceTable<SurrogateFunction> surrogates() { return surrogate_table; }
PieceTable<WeightFunction> weights() { return weight_table; }
PieceTable<AggregateFunction> aggregates() { return aggregate_table; }
PieceTable<RegularizerFunction> regularizers() { return regularizer_table; }

}  // namespace rollcall::objective
