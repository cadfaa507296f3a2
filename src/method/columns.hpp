// The columns that stages exchange with an objective, as plain numbers. Letters: B rollouts of the
// step, P prompts (groups), N policy tokens; L rollouts and M tokens of a micro-batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rollcall::method {

/// Names of the optional columns (StepColumns::named) that pieces may ask for. METHODS.md of
/// src/objective says what computes each.
namespace column {
/// [N] log-prob under the reference policy
inline constexpr const char* reference_logprob = "reference_logprob";
/// [N] log-prob under the reference's probabilities raised to a power and normalised; the exponent
/// follows in the name
inline constexpr const char* flat_reference = "reference_logprob/";
inline constexpr const char* teacher_logprob =
    "teacher_logprob";                                   ///< [N] log-prob under the teacher
inline constexpr const char* teacher_kl = "teacher_kl";  ///< [N] exact KL(old policy || teacher) at
                                                         ///< the token's position, in nats
/// [N] log-prob under the policy at the start of this optimizer step
inline constexpr const char* current_logprob = "current_logprob";
/// [N] entropy of the policy at the start of this optimizer step, in nats
inline constexpr const char* current_entropy = "current_entropy";
/// [N] entropy of the policy that sampled the token, in nats
inline constexpr const char* old_entropy = "old_entropy";
/// [N] sum of squared probabilities over the whole vocabulary, under the policy that sampled the
/// token
inline constexpr const char* sum_squares = "sum_squares";
inline constexpr const char* value = "value";  ///< [N] output of the value head before the update
inline constexpr const char* prior = "prior";  ///< [B] tracked success rate of the prompt before
                                               ///< this step, [0, 1]; old results fade
inline constexpr const char* posterior = "posterior";  ///< [B] mean of Beta(1 + solved, 1 + failed)
                                                       ///< over all results before this step
inline constexpr const char* predicted = "predicted";  ///< [B] success rate that a value model
                                                       ///< predicted for the prompt, [0, 1]
/// [B] length of the shortest correct answer to the prompt so far, in tokens; 0: none yet
inline constexpr const char* prompt_best_length = "prompt_best_length";
inline constexpr const char* answer = "answer";  ///< [B] number of the final answer among the
                                                 ///< distinct answers of the group, from 0; -1: no
                                                 ///< answer was found
inline constexpr const char* correct = "correct";  ///< [B] 1 if the verifier accepted the answer,
                                                   ///< else 0
/// [B] reward of the prompt's greedy answer
inline constexpr const char* greedy_reward = "greedy_reward";
inline constexpr const char* expert = "expert";  ///< [B] 1 for a rollout that no policy of this run
                                                 ///< sampled, else 0
/// [N] for expert tokens: at the token's position, tokens are drawn from the policy, and this
/// column is the fraction of draws that equal the expert's token. It is 0 for the policy's own
/// tokens. The number of draws and their temperature, as a multiple of the policy's, follow in the
/// name: "draw_hits/256/1.5". Micro-batches then bring MicroBatchColumns::miss_logprob.
inline constexpr const char* draw_hits = "draw_hits/";
/// [B] optimizer steps since the rollout was sampled
inline constexpr const char* version_lag = "version_lag";
/// [sum of n^2 over groups of n rollouts] for each group a matrix [n,n], row by row: the cosines
/// between its rollouts' gradients under the policy before the update. A rollout's gradient is that
/// of the sum of its tokens' log-probs with respect to the states that the head reads. The cosine
/// with a rollout without policy tokens is 0.
inline constexpr const char* gradient_cosine = "gradient_cosine";
/// [N] number of the token's reasoning step in its rollout, from 0; -1: after the last step
inline constexpr const char* reasoning_step = "reasoning_step";
/// [N] mean probability of the reference answer's tokens after the token's reasoning step; 0 after
/// the last step
inline constexpr const char* probe_accuracy = "probe_accuracy";
inline constexpr const char* probe_confidence =
    /// [N] how sure the policy is, after the token's reasoning step, of the answer that it would
    /// give; 0 after the last step
    "probe_confidence";

// For conversations. K: policy turns of the step, in the order of the rollouts. A step of single
// answers has one turn per rollout, which gets the rollout's reward; its other columns are 0.
/// [K] the turn's reward. These sum to the rollout's reward: what the verifier pays on top of the
/// environment counts at the last turn
inline constexpr const char* turn_reward = "turn/reward";
/// [K] the state in which the turn was taken, numbered from 1 within the step: equal numbers mean
/// equal states; 0: there is no environment
inline constexpr const char* turn_state = "turn/state";
inline constexpr const char* turn_next_state = "turn/next_state";  ///< [K] the state after it
inline constexpr const char* turn_action = "turn/action";  ///< [K] its action, numbered the same
                                                           ///< way
/// [K] bits (turn_flag of core/rollout.hpp), without the verdict's bits, decided and correct
inline constexpr const char* turn_flags = "turn/flags";
inline constexpr const char* turn_kind = "turn/kind";  ///< [K] as the environment numbers kinds
inline constexpr const char* turn_seat = "turn/seat";  ///< [K] who speaks
/// [K] a component of the environment, whose name follows
inline constexpr const char* turn_component = "turn/component/";
/// [K] mean log-prob of the reference answer after the turn, under the policy before the update
inline constexpr const char* gold_logprob = "gold_logprob";
/// [B] mean log-prob of the reference answer before the first turn, under the policy before the
/// update
inline constexpr const char* gold_logprob_before = "gold_logprob_before";
/// [N] log-prob with the environment's words before the token's turn masked
inline constexpr const char* masked_logprob = "masked_logprob";
/// [N] log-prob given the prompt without help; for a rollout without help, its old log-prob
inline constexpr const char* unhinted_logprob = "unhinted_logprob";

// For derived groups.
inline constexpr const char* derived = "derived";  ///< [B] number of the rollout's DerivedKind
inline constexpr const char* tier = "tier";        ///< [B] tier of help that its prompt gave; 0:
                                                   ///< none
inline constexpr const char* opening = "opening";  ///< [B] number of its opening; 0: none
inline constexpr const char* given = "given";      ///< [N] 1 for a token that was not sampled
inline constexpr const char* parent = "parent";    ///< [B] index in the step of the rollout that it
                                                   ///< was forked from; -1: none
inline constexpr const char* fork_token = "fork_token";  ///< [B] number of policy tokens shared
                                                         ///< with the parent
}  // namespace column

/// Everything that is known about the whole step (or mini-batch) before the current policy is
/// evaluated. Rollouts are in canonical order: ascending GroupId, then sample.
struct StepColumns {
  std::vector<double> reward{};              ///< [B]
  std::vector<std::int64_t> group{};         ///< [B] index 0..P-1 of the rollout's group, ascending
  std::vector<std::int64_t> prompt_level{};  ///< [B]
  std::vector<std::int64_t> offsets{};       ///< [B+1] rollout i has the tokens offsets[i] ..
                                             ///< offsets[i+1]
  /// [B+1] rollout i has the policy turns turn_offsets[i] .. turn_offsets[i+1], at least one;
  /// empty: one turn per rollout.
  std::vector<std::int64_t> turn_offsets{};
  std::vector<std::int64_t> turn_begin{};  ///< [K+1] first token of each turn, then N; empty if
                                           ///< turn_offsets is
  std::vector<double> old_logprob{};  ///< [N] log-prob under the policy at the start of the update
                                      ///< (the proximal policy)
  std::vector<double> rollout_logprob{};  ///< [N] log-prob stored by generation; equals old_logprob
                                          ///< on-policy
  std::vector<std::int64_t> truncated{};  ///< [B] 1: ended by the limit on tokens or turns
  double max_new_tokens = 0;              ///< horizon H, in tokens
  std::vector<std::int64_t> replayed{};   ///< [B] 1: sampled in an earlier step and trained on
                                          ///< again; only metrics read this column
  std::vector<std::int64_t> token{};      ///< [N] token ids
  std::vector<std::int64_t> key{};     ///< [B] addresses random choices; a rollout's key does not
                                       ///< depend on the order of rollouts
  std::vector<double> group_weight{};  ///< [P] >= 0, the scheduler's factor on the group's
                                       ///< advantages; empty: all 1
  std::vector<double> trains{};        ///< [B] 0 for rollouts that count only in their group's
                                       ///< statistics; empty: all train
  std::uint64_t seed = 0;              ///< of the run, for random choices
  std::uint64_t step = 0;              ///< training step, from 0
  double progress = 0.0;               ///< share of the training steps already done, [0, 1]
  /// Optional columns by name, which single pieces read (Objective::columns() lists them): per
  /// token [N] ("reference_logprob"), per rollout [B] ("prior"), per turn [K] ("turn/reward") or
  /// per pair ("gradient_cosine").
  std::map<std::string, std::vector<double>> named{};
  /// Moving statistics as the previous step left them (Prepared::statistics), by name; empty at the
  /// start of a run.
  std::map<std::string, double> statistics{};
};

/// Smallest token limit for a micro-batch whose columns are known before any forward pass. Such
/// columns take little memory, and an objective takes as long for a few tokens as for thousands.
inline constexpr std::int64_t kKnownMicroBatchTokens = 1 << 16;

/// Columns of some rollouts of the step under the current policy, borrowed.
struct MicroBatchColumns {
  std::span<const std::int64_t> rollouts{};     ///< [L] indices into StepColumns, ascending
  std::span<const float> logprob{}, entropy{};  ///< [M] the tokens of those rollouts in their
                                                ///< order
  const std::vector<float>* value = nullptr;    ///< [M] output of the value head; only if
                                                ///< Objective::needs_value()
  /// [M] for expert tokens: sum of share * log-prob over the other tokens that were drawn at their
  /// position; only if the step has a column draw_hits.
  const std::vector<float>* miss_logprob = nullptr;
};

/// What one micro-batch adds to the step's loss.
struct MicroBatchLoss {
  double loss = 0.0;  ///< this micro-batch's share; the shares of all micro-batches sum to the
                      ///< step's loss
  std::vector<float> dlogprob{}, dentropy{};  ///< [M] derivatives of the loss
  std::vector<float> dvalue{};                ///< [M] if the micro-batch brought values
  std::vector<float> dmiss_logprob{};         ///< [M] if the micro-batch brought miss_logprob
  std::vector<double> rollout_loss{};  ///< [L] mean surrogate loss of each rollout's tokens, before
                                       ///< weights and denominators; NaN for a rollout without
                                       ///< tokens
  /// Metric sums and extremes over this micro-batch's tokens, by name; see Prepared::merge.
  std::map<std::string, double> sums{}, minima{}, maxima{};
};

}  // namespace rollcall::method
