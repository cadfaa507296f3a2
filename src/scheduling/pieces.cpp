// The four tables of pieces: name, rule, maker.
#include "scheduling/allocator/bin_square_root.hpp"
#include "scheduling/allocator/equal.hpp"
#include "scheduling/allocator/failure_utility.hpp"
#include "scheduling/allocator/gdro.hpp"
#include "scheduling/allocator/gdro_paper.hpp"
#include "scheduling/allocator/gdro_released.hpp"
#include "scheduling/allocator/knapsack.hpp"
#include "scheduling/allocator/square_root.hpp"
#include "scheduling/rounds/hints.hpp"
#include "scheduling/rounds/make_up.hpp"
#include "scheduling/rounds/prior_test.hpp"
#include "scheduling/rounds/redraw.hpp"
#include "scheduling/rounds/refill.hpp"
#include "scheduling/rounds/single.hpp"
#include "scheduling/rounds/until_balanced.hpp"
#include "scheduling/rounds/widest_interval.hpp"
#include "scheduling/sampler/bandit.hpp"
#include "scheduling/sampler/domain_share.hpp"
#include "scheduling/sampler/gdro_resample.hpp"
#include "scheduling/sampler/historical_deviation.hpp"
#include "scheduling/sampler/pairs.hpp"
#include "scheduling/sampler/skipping.hpp"
#include "scheduling/sampler/stage_gate.hpp"
#include "scheduling/sampler/target_difficulty.hpp"
#include "scheduling/sampler/thompson_variance.hpp"
#include "scheduling/sampler/tier_schedule.hpp"
#include "scheduling/sampler/tracked_deviation.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/sampler/variance_mix.hpp"
#include "scheduling/schedulers.hpp"
#include "scheduling/selection/all.hpp"
#include "scheduling/selection/balanced_keep.hpp"
#include "scheduling/selection/clean_positives.hpp"
#include "scheduling/selection/extreme_advantages.hpp"
#include "scheduling/selection/gdro_reweight.hpp"
#include "scheduling/selection/informative.hpp"
#include "scheduling/selection/max_variance.hpp"
#include "scheduling/selection/survivors.hpp"

namespace rollcall::scheduling {
namespace {

template <class Family, class P>
std::unique_ptr<Family> make(Knowledge&) {
  return std::make_unique<P>();
}
template <class Family, class P>
std::unique_ptr<Family> knowing(Knowledge& knowledge) {
  return std::make_unique<P>(knowledge);
}

template <BanditSampler::Rule rule>
std::unique_ptr<Sampler> bandit(Knowledge& knowledge) {
  return std::make_unique<BanditSampler>(knowledge, rule);
}

// clang-format off
constexpr PieceRow<Sampler> kSamplers[] = {
  {"uniform", "every prompt once an epoch, in an addressed random order", [](Knowledge& k) -> std::unique_ptr<Sampler> { return std::make_unique<UniformSampler>(k.size(), k.seed); }},
  {"gdro_resample", "bin b by q_t(b) = (1 - gamma) w_t(b) / sum w_t + gamma / B, then a prompt of b", knowing<Sampler, GdroResample>},
  {"target_difficulty", "the nearest to a target success rate, or P(x) ~ exp(-|V(x) - target| / temperature)", knowing<Sampler, TargetDifficultySampler>},
  {"thompson_variance", "largest p (1 - p)^2, p drawn from the prompt's Beta posterior", knowing<Sampler, ThompsonVarianceSampler>},
  {"tracked_deviation", "P(x) ~ sqrt(p (1 - p)) + exploration, p a Beta tracker", knowing<Sampler, TrackedDeviationSampler>},
  {"variance_mix", "a share with P(x) ~ w p (1 - p) + w' diversity, the rest uniform", knowing<Sampler, VarianceMixSampler>},
  {"bandit_softmax", "arms with P(c) ~ exp(Q_c / temperature), Q_c the decayed mean absolute advantage", bandit<BanditSampler::Rule::softmax>},
  {"bandit_epsilon", "the difficulty bin of largest mean pay, any bin with chance epsilon", bandit<BanditSampler::Rule::epsilon>},
  {"bandit_ucb", "the difficulty bin of largest mean pay + width sqrt(log N / n)", bandit<BanditSampler::Rule::ucb>},
  {"bandit_thompson", "the difficulty bin of largest posterior draw of its pay", bandit<BanditSampler::Rule::thompson>},
  {"tier_schedule", "levels with P_t = (1 - u) start + u final, u following the run's progress", knowing<Sampler, TierScheduleSampler>},
  {"stage_gate", "one level at a time, the next once the pass rate of the one before reaches a threshold", knowing<Sampler, StageGateSampler>},
  {"domain_share", "domains with w_d <- w_d target_d / observed_d", knowing<Sampler, DomainShareSampler>},
  {"skip_uninformative", "uniform, skipping with 1 - p^z after z groups in a row without differing rewards", knowing<Sampler, SkipUninformativeSampler>},
  {"skip_solved", "uniform over the prompts with a pass rate below a threshold", knowing<Sampler, SkipSolvedSampler>},
  {"pairs", "pairs of a hard prompt that was solved and an easy one that was failed", knowing<Sampler, PairSampler>},
  {"historical_deviation", "uniform first, then copies of the prompts whose accuracy varied most", knowing<Sampler, HistoricalDeviationSampler>},
};

constexpr PieceRow<Allocator> kAllocators[] = {
  {"equal", "n_i = budget / prompts", make<Allocator, EqualAllocator>},
  {"bin_square_root", "n_b ~ sqrt(v_b), v_b the fading reward variance of difficulty bin b", knowing<Allocator, BinSquareRootAllocator>},
  {"gdro", "n_b drawn jointly from (1 - g) Q_w + g Q_u given sum_b q_b n_b = n_bar, Q_w ~ prod_b exp(x_b L_b(n_b)), x_b the share of b, L_b what further rollouts added", knowing<Allocator, GdroAllocator>},
  {"gdro_paper", "n_b by one EXP3.P a bin for the loss -J_b(n) + mu n, jointly most probable at sum_b q_b n_b = n_bar", knowing<Allocator, PaperGdroAllocator>},
  {"gdro_released", "n_b of largest joint p at sum_b q_b n_b = n_bar, p_b(n) = (1 - gamma) softmax(eta sum of the losses of n) + gamma / K", knowing<Allocator, ReleasedGdroAllocator>},
  {"failure_utility", "rollouts one by one to the largest gain in n (1 - p) (1 - (1 - p)^(n - 1))", knowing<Allocator, FailureUtilityAllocator>},
  {"knapsack", "argmax sum_i (1 - p^n - (1 - p)^n) p (1 - p)^2 under the exact budget", knowing<Allocator, KnapsackAllocator>},
  {"square_root", "n_i ~ sqrt(p_i (1 - p_i)), p_i the fading success estimate", knowing<Allocator, SquareRootAllocator>},
};

constexpr PieceRow<Rounds> kRounds[] = {
  {"single", "all rollouts at once", make<Rounds, SingleRound>},
  {"refill", "new prompts for groups whose rewards do not differ, until the step is full", knowing<Rounds, RefillRounds>},
  {"redraw", "one more draw of the prompts of largest p (1 - p) for each group whose rewards do not differ", make<Rounds, RedrawRounds>},
  {"until_balanced", "M more rollouts a round until a prompt has enough right and wrong ones", make<Rounds, UntilBalancedRounds>},
  {"make_up", "a second round that lifts prompts below 1/2 to equal advantage mass", make<Rounds, MakeUpRounds>},
  {"widest_interval", "a pilot, then the rest where the mean reward's interval narrows most", make<Rounds, WidestIntervalRounds>},
  {"prior_test", "one more rollout while the baseline's risk falls by more than its price", knowing<Rounds, PriorTestRounds>},
  {"hints", "prompts without a correct rollout again with more help each round, or all again by 1 - success from a part of the budget", knowing<Rounds, HintRounds>},
};

constexpr PieceRow<Selection> kSelections[] = {
  {"all", "every rollout trains", make<Selection, SelectAll>},
  {"gdro_reweight", "A_ij <- A_ij min(w_t(b_i), w_max), w_t(b) = exp(eta clip(S_t(b), -C, C)); or by q_t", knowing<Selection, GdroReweight>},
  {"informative", "groups whose rewards differ, at most as many as prompts were asked for", knowing<Selection, InformativeSelection>},
  {"balanced_keep", "n of each group, half right and half wrong, statistics of the whole group", make<Selection, BalancedKeepSelection>},
  {"clean_positives", "of each group a share, right and wrong in proportion, right ones by largest reward", make<Selection, CleanPositivesSelection>},
  {"max_variance", "of each group the m rollouts of largest reward variance", make<Selection, MaxVarianceSelection>},
  {"extreme_advantages", "of the step the N rollouts of largest advantage variance", make<Selection, ExtremeAdvantagesSelection>},
  {"survivors", "each rollout with chance share + delta + slope (target - q), q its predicted success", knowing<Selection, SurvivorsSelection>},
};
// clang-format on

}  // namespace

std::span<const PieceRow<Sampler>> samplers() { return kSamplers; }
std::span<const PieceRow<Allocator>> allocators() { return kAllocators; }
std::span<const PieceRow<Rounds>> rounds() { return kRounds; }
std::span<const PieceRow<Selection>> selections() { return kSelections; }

}  // namespace rollcall::scheduling
