// The tables of pieces: the only file that includes them all.
#include "objective/pieces.hpp"

#include "objective/advantage/action_reward.hpp"
#include "objective/advantage/balanced_center.hpp"
#include "objective/advantage/baseline_scale.hpp"
#include "objective/advantage/batch_whiten.hpp"
#include "objective/advantage/best_minus_second.hpp"
#include "objective/advantage/best_of_group.hpp"
#include "objective/advantage/beta_norm.hpp"
#include "objective/advantage/bundle_risk.hpp"
#include "objective/advantage/consistency_blend.hpp"
#include "objective/advantage/decoupled_norm.hpp"
#include "objective/advantage/entropy_charged.hpp"
#include "objective/advantage/first_answers.hpp"
#include "objective/advantage/fixed_baseline.hpp"
#include "objective/advantage/gae.hpp"
#include "objective/advantage/gated_gain.hpp"
#include "objective/advantage/gpg_scale.hpp"
#include "objective/advantage/group_center.hpp"
#include "objective/advantage/group_median.hpp"
#include "objective/advantage/group_norm.hpp"
#include "objective/advantage/group_quantile.hpp"
#include "objective/advantage/group_whiten.hpp"
#include "objective/advantage/hinted_groups.hpp"
#include "objective/advantage/hybrid_modes.hpp"
#include "objective/advantage/leave_one_out.hpp"
#include "objective/advantage/length_baseline.hpp"
#include "objective/advantage/macro_gae.hpp"
#include "objective/advantage/mean_norm.hpp"
#include "objective/advantage/min_variance.hpp"
#include "objective/advantage/optimal_token_baseline.hpp"
#include "objective/advantage/outcome_weights.hpp"
#include "objective/advantage/own_group_norm.hpp"
#include "objective/advantage/paired_outcomes.hpp"
#include "objective/advantage/pass_at_k.hpp"
#include "objective/advantage/prior_shrinkage.hpp"
#include "objective/advantage/random_sign.hpp"
#include "objective/advantage/running_baseline.hpp"
#include "objective/advantage/shared_steps.hpp"
#include "objective/advantage/step_potential.hpp"
#include "objective/advantage/teacher_gap.hpp"
#include "objective/advantage/tree_center.hpp"
#include "objective/advantage/turn_center.hpp"
#include "objective/advantage/virtual_best.hpp"
#include "objective/advantage/win_rate.hpp"
#include "objective/aggregate/balanced.hpp"
#include "objective/aggregate/control_token.hpp"
#include "objective/aggregate/kind_mean.hpp"
#include "objective/aggregate/prompt_mean.hpp"
#include "objective/aggregate/routed_mean.hpp"
#include "objective/aggregate/seq_mean_token_mean.hpp"
#include "objective/aggregate/seq_mean_token_sum.hpp"
#include "objective/aggregate/seq_mean_token_sum_norm.hpp"
#include "objective/aggregate/token_mean.hpp"
#include "objective/aggregate/token_sum.hpp"
#include "objective/ratio/behaviour.hpp"
#include "objective/ratio/prefix_min.hpp"
#include "objective/ratio/sequence.hpp"
#include "objective/ratio/sequence_token.hpp"
#include "objective/ratio/token.hpp"
#include "objective/regularizer/adaptive_entropy.hpp"
#include "objective/regularizer/entropy.hpp"
#include "objective/regularizer/entropy_band.hpp"
#include "objective/regularizer/forward_kl.hpp"
#include "objective/regularizer/given_nll.hpp"
#include "objective/regularizer/kl.hpp"
#include "objective/regularizer/kl_convex.hpp"
#include "objective/regularizer/kl_cov.hpp"
#include "objective/regularizer/kl_hinge.hpp"
#include "objective/regularizer/lazy_likelihood.hpp"
#include "objective/regularizer/policy_drift.hpp"
#include "objective/regularizer/positive_nll.hpp"
#include "objective/regularizer/reweighted_kl.hpp"
#include "objective/regularizer/turn_kl.hpp"
#include "objective/regularizer/unbiased_kl.hpp"
#include "objective/regularizer/value.hpp"
#include "objective/reward/answer_share.hpp"
#include "objective/reward/calibrated.hpp"
#include "objective/reward/components.hpp"
#include "objective/reward/confidence.hpp"
#include "objective/reward/constrained.hpp"
#include "objective/reward/contrast.hpp"
#include "objective/reward/cosine_length.hpp"
#include "objective/reward/coverage.hpp"
#include "objective/reward/decaying_exit.hpp"
#include "objective/reward/degenerate.hpp"
#include "objective/reward/difficulty_scale.hpp"
#include "objective/reward/diversity.hpp"
#include "objective/reward/entropy_controller.hpp"
#include "objective/reward/entropy_history.hpp"
#include "objective/reward/few_calls.hpp"
#include "objective/reward/flawed.hpp"
#include "objective/reward/gold_gain.hpp"
#include "objective/reward/gradient_novelty.hpp"
#include "objective/reward/group_length.hpp"
#include "objective/reward/history_length.hpp"
#include "objective/reward/kl_controller.hpp"
#include "objective/reward/kl_in_reward.hpp"
#include "objective/reward/kl_limit.hpp"
#include "objective/reward/length_target.hpp"
#include "objective/reward/majority_vote.hpp"
#include "objective/reward/mode_reward.hpp"
#include "objective/reward/moving_norm.hpp"
#include "objective/reward/overlong.hpp"
#include "objective/reward/pass_rate_length.hpp"
#include "objective/reward/progress.hpp"
#include "objective/reward/repetition.hpp"
#include "objective/reward/retries.hpp"
#include "objective/reward/routed_cost.hpp"
#include "objective/reward/rule_or_votes.hpp"
#include "objective/reward/triangular_length.hpp"
#include "objective/reward/unlikely.hpp"
#include "objective/reward/zero_truncated.hpp"
#include "objective/surrogate/cispo.hpp"
#include "objective/surrogate/cispo_upper.hpp"
#include "objective/surrogate/clip.hpp"
#include "objective/surrogate/dispo.hpp"
#include "objective/surrogate/divergence_mask.hpp"
#include "objective/surrogate/dynamic_clip.hpp"
#include "objective/surrogate/expert_mix.hpp"
#include "objective/surrogate/flipped.hpp"
#include "objective/surrogate/gamma_weight.hpp"
#include "objective/surrogate/geo_mean.hpp"
#include "objective/surrogate/gradient_preserving.hpp"
#include "objective/surrogate/group_alignment.hpp"
#include "objective/surrogate/group_classifier.hpp"
#include "objective/surrogate/group_contrast.hpp"
#include "objective/surrogate/group_labels.hpp"
#include "objective/surrogate/group_regression.hpp"
#include "objective/surrogate/hybrid.hpp"
#include "objective/surrogate/log_clip.hpp"
#include "objective/surrogate/minirl.hpp"
#include "objective/surrogate/negative_aware.hpp"
#include "objective/surrogate/next_token.hpp"
#include "objective/surrogate/pair_preference.hpp"
#include "objective/surrogate/rec.hpp"
#include "objective/surrogate/reinforce.hpp"
#include "objective/surrogate/shaped_off_policy.hpp"
#include "objective/surrogate/soft_gate.hpp"
#include "objective/surrogate/turn_scaled.hpp"
#include "objective/surrogate/unclipped.hpp"
#include "objective/weight/agreement.hpp"
#include "objective/weight/clip_cov.hpp"
#include "objective/weight/confidence_penalty.hpp"
#include "objective/weight/conflict_tokens.hpp"
#include "objective/weight/curate.hpp"
#include "objective/weight/dependency.hpp"
#include "objective/weight/down_sample.hpp"
#include "objective/weight/drop_after_given.hpp"
#include "objective/weight/drop_equal_reward.hpp"
#include "objective/weight/drop_flagged.hpp"
#include "objective/weight/drop_outliers.hpp"
#include "objective/weight/drop_pivot.hpp"
#include "objective/weight/drop_truncated.hpp"
#include "objective/weight/drop_uncertain.hpp"
#include "objective/weight/entropy_balance.hpp"
#include "objective/weight/entropy_lift.hpp"
#include "objective/weight/entropy_shaping.hpp"
#include "objective/weight/ess_lr.hpp"
#include "objective/weight/hint_consistency.hpp"
#include "objective/weight/importance.hpp"
#include "objective/weight/keep_advantage.hpp"
#include "objective/weight/middle_weight.hpp"
#include "objective/weight/novelty.hpp"
#include "objective/weight/opsm.hpp"
#include "objective/weight/reference_ratio.hpp"
#include "objective/weight/reject.hpp"
#include "objective/weight/resample.hpp"
#include "objective/weight/tis.hpp"
#include "objective/weight/top_entropy.hpp"

#include <memory>

namespace rollcall::objective {
namespace {

/// The row of a piece. The piece is allocated by itself, because its knobs point into it.
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
  row<RewardFunction, KlController>(),
  row<RewardFunction, EntropyController>(),
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
  row<RewardFunction, AnswerShare>(),
  row<RewardFunction, EntropyHistory>(),
  row<RewardFunction, Components>(),
  row<RewardFunction, Repetition>(),
  row<RewardFunction, Diversity>(),
  row<RewardFunction, Degenerate>(),
  row<RewardFunction, MajorityVote>(),
  row<RewardFunction, Confidence>(),
  row<RewardFunction, Flawed>(),
  row<RewardFunction, RuleOrVotes>(),
  row<RewardFunction, Contrast>(),
  row<RewardFunction, Calibrated>(),
  row<RewardFunction, KlLimit>(),
  row<RewardFunction, GroupLength>(),
  row<RewardFunction, GradientNovelty>(),
  row<RewardFunction, LengthTarget>(),
  row<RewardFunction, CosineLength>(),
  row<RewardFunction, MovingNorm>(),
  row<RewardFunction, DifficultyScale>(),
  row<RewardFunction, GoldGain>(),
  row<RewardFunction, FewCalls>(),
  row<RewardFunction, Retries>(),
  row<RewardFunction, Progress>(),
  row<RewardFunction, Coverage>(),
  row<RewardFunction, RoutedCost>(),
};
constexpr Piece<AdvantageFunction> advantage_table[] = {
  row<AdvantageFunction, GroupNorm>(),
  row<AdvantageFunction, GroupCenter>(),
  row<AdvantageFunction, GroupWhiten>(),
  row<AdvantageFunction, LeaveOneOut>(),
  row<AdvantageFunction, BatchWhiten>(),
  row<AdvantageFunction, FixedBaseline>(),
  row<AdvantageFunction, MinVariance>(),
  row<AdvantageFunction, Gae>(),
  row<AdvantageFunction, MacroGae>(),
  row<AdvantageFunction, TeacherGap>(),
  row<AdvantageFunction, WinRate>(),
  row<AdvantageFunction, OwnGroupNorm>(),
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
  row<AdvantageFunction, PairedOutcomes>(),
  row<AdvantageFunction, StepPotential>(),
  row<AdvantageFunction, RandomSign>(),
  row<AdvantageFunction, BalancedCenter>(),
  row<AdvantageFunction, SharedSteps>(),
  row<AdvantageFunction, FirstAnswers>(),
  row<AdvantageFunction, ActionReward>(),
  row<AdvantageFunction, GatedGain>(),
  row<AdvantageFunction, HintedGroups>(),
  row<AdvantageFunction, TurnCenter>(),
  row<AdvantageFunction, TreeCenter>(),
};
constexpr Piece<RatioFunction> ratio_table[] = {
  row<RatioFunction, TokenRatio>(),
  row<RatioFunction, SequenceRatio>(),
  row<RatioFunction, BehaviourRatio>(),
  row<RatioFunction, SequenceTokenRatio>(),
  row<RatioFunction, PrefixMinRatio>(),
};
constexpr Piece<SurrogateFunction> surrogate_table[] = {
  row<SurrogateFunction, Clip>(),
  row<SurrogateFunction, Reinforce>(),
  row<SurrogateFunction, Cispo>(),
  row<SurrogateFunction, CispoUpper>(),
  row<SurrogateFunction, Dispo>(),
  row<SurrogateFunction, GeoMean>(),
  row<SurrogateFunction, Hybrid>(),
  row<SurrogateFunction, SoftGate>(),
  row<SurrogateFunction, GradientPreserving>(),
  row<SurrogateFunction, Flipped>(),
  row<SurrogateFunction, DynamicClip>(),
  row<SurrogateFunction, LogClip>(),
  row<SurrogateFunction, DivergenceMask>(),
  row<SurrogateFunction, Unclipped>(),
  row<SurrogateFunction, GammaWeight>(),
  row<SurrogateFunction, Rec>(),
  row<SurrogateFunction, MiniRl>(),
  row<SurrogateFunction, GroupContrast>(),
  row<SurrogateFunction, GroupLabels>(),
  row<SurrogateFunction, GroupClassifier>(),
  row<SurrogateFunction, GroupRegression>(),
  row<SurrogateFunction, PairPreference>(),
  row<SurrogateFunction, GroupAlignment>(),
  row<SurrogateFunction, ExpertMix>(),
  row<SurrogateFunction, NextToken>(),
  row<SurrogateFunction, NegativeAware>(),
  row<SurrogateFunction, ShapedOffPolicy>(),
  row<SurrogateFunction, TurnScaled>(),
};
constexpr Piece<WeightFunction> weight_table[] = {
  row<WeightFunction, TruncatedImportance>(),
  row<WeightFunction, DropTruncated>(),
  row<WeightFunction, Importance>(),
  row<WeightFunction, Reject>(),
  row<WeightFunction, OffPolicySequenceMask>(),
  row<WeightFunction, EssLearningRate>(),
  row<WeightFunction, ClipCov>(),
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
  row<WeightFunction, DropOutliers>(),
  row<WeightFunction, Agreement>(),
  row<WeightFunction, EntropyBalance>(),
  row<WeightFunction, MiddleWeight>(),
  row<WeightFunction, Curate>(),
  row<WeightFunction, HintConsistency>(),
  row<WeightFunction, DropAfterGiven>(),
  row<WeightFunction, DropFlagged>(),
  row<WeightFunction, EntropyLift>(),
  row<WeightFunction, Dependency>(),
};
constexpr Piece<AggregateFunction> aggregate_table[] = {
  row<AggregateFunction, TokenMean>(),
  row<AggregateFunction, SeqMeanTokenMean>(),
  row<AggregateFunction, SeqMeanTokenSum>(),
  row<AggregateFunction, SeqMeanTokenSumNorm>(),
  row<AggregateFunction, TokenSum>(),
  row<AggregateFunction, PromptMean>(),
  row<AggregateFunction, KindMean>(),
  row<AggregateFunction, RoutedMean>(),
  row<AggregateFunction, Balanced>(),
  row<AggregateFunction, ControlToken>(),
};
constexpr Piece<RegularizerFunction> regularizer_table[] = {
  row<RegularizerFunction, Kl>(),
  row<RegularizerFunction, Entropy>(),
  row<RegularizerFunction, ForwardKl>(),
  row<RegularizerFunction, PositiveNll>(),
  row<RegularizerFunction, KlCov>(),
  row<RegularizerFunction, UnbiasedKl>(),
  row<RegularizerFunction, KlConvex>(),
  row<RegularizerFunction, KlHinge>(),
  row<RegularizerFunction, PolicyDrift>(),
  row<RegularizerFunction, LazyLikelihood>(),
  row<RegularizerFunction, ReweightedKl>(),
  row<RegularizerFunction, AdaptiveEntropy>(),
  row<RegularizerFunction, Value>(),
  row<RegularizerFunction, EntropyBand>(),
  row<RegularizerFunction, GivenNll>(),
  row<RegularizerFunction, TurnKl>(),
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
