// The tables of pieces: the only file that includes them all.
#include "objective/pieces.hpp"

#include "objective/advantage/baseline_scale.hpp"
#include "objective/advantage/batch_whiten.hpp"
#include "objective/advantage/best_minus_second.hpp"
#include "objective/advantage/best_of_group.hpp"
#include "objective/advantage/beta_norm.hpp"
#include "objective/advantage/bundle_risk.hpp"
#include "objective/advantage/consistency_blend.hpp"
#include "objective/advantage/decoupled_norm.hpp"
#include "objective/advantage/entropy_charged.hpp"
#include "objective/advantage/gpg_scale.hpp"
#include "objective/advantage/group_center.hpp"
#include "objective/advantage/group_median.hpp"
#include "objective/advantage/group_norm.hpp"
#include "objective/advantage/group_quantile.hpp"
#include "objective/advantage/hybrid_modes.hpp"
#include "objective/advantage/leave_one_out.hpp"
#include "objective/advantage/length_baseline.hpp"
#include "objective/advantage/mean_norm.hpp"
#include "objective/advantage/optimal_token_baseline.hpp"
#include "objective/advantage/outcome_weights.hpp"
#include "objective/advantage/pass_at_k.hpp"
#include "objective/advantage/prior_shrinkage.hpp"
#include "objective/advantage/running_baseline.hpp"
#include "objective/advantage/virtual_best.hpp"
#include "objective/aggregate/balanced.hpp"
#include "objective/aggregate/control_token.hpp"
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
#include "objective/reward/constrained.hpp"
#include "objective/reward/decaying_exit.hpp"
#include "objective/reward/history_length.hpp"
#include "objective/reward/kl_in_reward.hpp"
#include "objective/reward/mode_reward.hpp"
#include "objective/reward/overlong.hpp"
#include "objective/reward/pass_rate_length.hpp"
#include "objective/reward/triangular_length.hpp"
#include "objective/reward/unlikely.hpp"
#include "objective/reward/zero_truncated.hpp"
#include "objective/surrogate/clip.hpp"
#include "objective/surrogate/reinforce.hpp"
#include "objective/weight/confidence_penalty.hpp"
#include "objective/weight/conflict_tokens.hpp"
#include "objective/weight/down_sample.hpp"
#include "objective/weight/drop_equal_reward.hpp"
#include "objective/weight/drop_pivot.hpp"
#include "objective/weight/drop_truncated.hpp"
#include "objective/weight/drop_uncertain.hpp"
#include "objective/weight/entropy_shaping.hpp"
#include "objective/weight/keep_advantage.hpp"
#include "objective/weight/novelty.hpp"
#include "objective/weight/reference_ratio.hpp"
#include "objective/weight/resample.hpp"
#include "objective/weight/tis.hpp"
#include "objective/weight/top_entropy.hpp"

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
constexpr Piece<RewardFunction> reward_table[] = {
  row<RewardFunction, Overlong>(),
  row<RewardFunction, KlInReward>(),
  row<RewardFunction, ZeroTruncated>(),
  row<RewardFunction, PassRateLength>(),
  row<RewardFunction, HistoryLength>(),
  row<RewardFunction, DecayingExit>(),
  row<RewardFunction, Constrained>(),
  row<RewardFunction, ModeReward>(),
  row<RewardFunction, Unlikely>(),
  row<RewardFunction, TriangularLength>(),
};
constexpr Piece<AdvantageFunction> advantage_table[] = {
  row<AdvantageFunction, GroupNorm>(),
  row<AdvantageFunction, GroupCenter>(),
  row<AdvantageFunction, LeaveOneOut>(),
  row<AdvantageFunction, BatchWhiten>(),
  row<AdvantageFunction, RunningBaseline>(),
  row<AdvantageFunction, BaselineScale>(),
  row<AdvantageFunction, GroupMedian>(),
  row<AdvantageFunction, BetaNorm>(),
  row<AdvantageFunction, VirtualBest>(),
  row<AdvantageFunction, OutcomeWeights>(),
  row<AdvantageFunction, PriorShrinkage>(),
  row<AdvantageFunction, BundleRisk>(),
  row<AdvantageFunction, DecoupledNorm>(),
  row<AdvantageFunction, ConsistencyBlend>(),
  row<AdvantageFunction, LengthBaseline>(),
  row<AdvantageFunction, GpgScale>(),
  row<AdvantageFunction, MeanNorm>(),
  row<AdvantageFunction, BestMinusSecond>(),
  row<AdvantageFunction, PassAtK>(),
  row<AdvantageFunction, GroupQuantile>(),
  row<AdvantageFunction, BestOfGroup>(),
  row<AdvantageFunction, OptimalTokenBaseline>(),
  row<AdvantageFunction, EntropyCharged>(),
  row<AdvantageFunction, HybridModes>(),
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
  row<WeightFunction, DropEqualReward>(),
  row<WeightFunction, DropPivot>(),
  row<WeightFunction, KeepAdvantage>(),
  row<WeightFunction, ConfidencePenalty>(),
  row<WeightFunction, Novelty>(),
  row<WeightFunction, TopEntropy>(),
  row<WeightFunction, ConflictTokens>(),
  row<WeightFunction, DropUncertain>(),
  row<WeightFunction, EntropyShaping>(),
  row<WeightFunction, DownSample>(),
  row<WeightFunction, Resample>(),
  row<WeightFunction, ReferenceRatio>(),
};
constexpr Piece<AggregateFunction> aggregate_table[] = {
  row<AggregateFunction, TokenMean>(),
  row<AggregateFunction, SeqMeanTokenMean>(),
  row<AggregateFunction, SeqMeanTokenSum>(),
  row<AggregateFunction, SeqMeanTokenSumNorm>(),
  row<AggregateFunction, TokenSum>(),
  row<AggregateFunction, PromptMean>(),
  row<AggregateFunction, Balanced>(),
  row<AggregateFunction, ControlToken>(),
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
