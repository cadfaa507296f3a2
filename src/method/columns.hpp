// The columns that stages hand to an objective and get back, as plain numbers. Letters: B rollouts
// of the step, P prompts (groups), N policy tokens; L rollouts and M tokens of a micro-batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rollcall::method {

/// Names of the optional columns (StepColumns::named) that pieces may ask for. Who computes them is
/// in METHODS.md.
namespace column {
/// [N] under the reference policy
inline constexpr const char* reference_logprob = "reference_logprob";
/// [N] and an exponent: under the reference's probabilities to that power, normalised
inline constexpr const char* flat_reference = "reference_logprob/";
inline constexpr const char* teacher_logprob = "teacher_logprob";  ///< [N] under the teacher
inline constexpr const char* teacher_kl = "teacher_kl";  ///< [N] exact KL(old policy || teacher) at
                                                         ///< the token's place
/// [N] under the policy that this optimizer step starts from
inline constexpr const char* current_logprob = "current_logprob";
/// [N] entropy of that policy
inline constexpr const char* current_entropy = "current_entropy";
/// [N] entropy of the policy that sampled the token
inline constexpr const char* old_entropy = "old_entropy";
/// [N] sum over the vocabulary of that policy's squared probabilities
inline constexpr const char* sum_squares = "sum_squares";
inline constexpr const char* value = "value";  ///< [N] value head before the update
inline constexpr const char* prior = "prior";  ///< [B] tracked success of the prompt before this
                                               ///< step, [0, 1]: old results fade
inline constexpr const char* posterior = "posterior";  ///< [B] mean of Beta(1 + solved, 1 + failed)
                                                       ///< over all results before this step
inline constexpr const char* predicted = "predicted";  ///< [B] success that a value model predicted
                                                       ///< of the prompt, [0, 1]
/// [B] shortest correct answer to the prompt so far, tokens; 0: none yet
inline constexpr const char* prompt_best_length = "prompt_best_length";
inline constexpr const char* answer = "answer";  ///< [B] number of the distinct final answer within
                                                 ///< the group, from 0; -1: none
inline constexpr const char* correct = "correct";  ///< [B] 1 where the verifier accepted the
                                                   ///< answer, else 0
/// [B] reward of the prompt's greedy answer
inline constexpr const char* greedy_reward = "greedy_reward";
inline constexpr const char* expert = "expert";  ///< [B] 1 for a rollout that no policy of this run
                                                 ///< sampled, else 0
/// [N] share of so many draws in the place of an expert's token that are this token; 0 of the
/// policy's own. Behind it the number of draws and their temperature, as a multiple of the policy's
/// own, "draw_hits/256/1.5". With it LeafColumns::miss_logprob.
inline constexpr const char* draw_hits = "draw_hits/";
/// [B] optimizer steps since the rollout was sampled
inline constexpr const char* version_lag = "version_lag";
/// [sum of n^2 over groups of n rollouts] for each group, row by row, the cosines between its
/// rollouts' gradients by the states that the head reads: of the sums of their tokens' log-probs,
/// under the policy before the update. 0 beside a rollout without policy tokens.
inline constexpr const char* gradient_cosine = "gradient_cosine";
/// [N] number of the token's reasoning step in its rollout, from 0; -1: behind the last
inline constexpr const char* reasoning_step = "reasoning_step";
/// [N] behind that step, mean probability of the reference answer's tokens; -1 step: 0
inline constexpr const char* probe_accuracy = "probe_accuracy";
inline constexpr const char* probe_confidence =
    "probe_confidence";  ///< [N] behind that step, how sure the policy is of the answer that it
                         ///< would give; -1 step: 0
}  // namespace column

/// Everything the whole step (or mini-batch) knows before the current policy is evaluated. Rollouts
/// are in canonical order: ascending GroupId, then sample.
struct StepColumns {
  std::vector<double> reward{};              ///< [B]
  std::vector<std::int64_t> group{};         ///< [B] index 0..P-1 of the rollout's group, ascending
  std::vector<std::int64_t> prompt_level{};  ///< [B]
  std::vector<std::int64_t> offsets{};       ///< [B+1] tokens of rollout i are offsets[i] ..
                                             ///< offsets[i+1]
  std::vector<double> old_logprob{};  ///< [N] log-prob under the policy at the start of the update
                                      ///< (the proximal policy)
  std::vector<double> rollout_logprob{};  ///< [N] log-prob stored by generation; equals old_logprob
                                          ///< on-policy
  std::vector<std::int64_t> truncated{};  ///< [B] 1: ended by the token limit
  double max_new_tokens = 0;              ///< horizon H
  std::vector<std::int64_t> replayed{};   ///< [B] 1: of an earlier step, trained on again. Only
                                          ///< metrics look at it
  std::vector<std::int64_t> token{};      ///< [N] token ids
  std::vector<std::int64_t> key{};  ///< [B] the same for the same rollout in any order: addresses
                                    ///< random choices
  std::vector<double> group_weight{};  ///< [P] >= 0, what the scheduler multiplies the group's
                                       ///< advantages with; empty: all 1
  std::vector<double> trains{};  ///< [B] 0 for rollouts that count in their group's statistics
                                 ///< only; empty: all train
  std::uint64_t seed = 0;        ///< of the run, for random choices
  std::uint64_t step = 0;        ///< training step, from 0
  double progress = 0.0;         ///< share of the training steps already done, [0, 1]
  /// Optional columns by name, read by single pieces (Objective::columns() says which): per token
  /// [N] ("reference_logprob"), per rollout [B] ("prior") or per pair ("gradient_cosine").
  std::map<std::string, std::vector<double>> named{};
  /// Moving statistics that pieces left behind in the step before (Prepared::statistics), by name;
  /// empty at the start of a run.
  std::map<std::string, double> statistics{};
};

/// Least limit of a micro-batch whose columns are known before any forward pass: they take little
/// room, and an objective takes as long for a few tokens as for thousands.
inline constexpr std::int64_t kKnownMicroBatchTokens = 1 << 16;

/// Columns of some rollouts of the step under the current policy, borrowed.
struct MicroBatchColumns {
  std::span<const std::int64_t> rollouts{};     ///< [L] indices into StepColumns, ascending
  std::span<const float> logprob{}, entropy{};  ///< [M] tokens of those rollouts one after the
                                                ///< other
  const std::vector<float>* value = nullptr;    ///< [M] of the value head; only where
                                                ///< Objective::needs_value()
  /// [M] of draws in an expert token's place that are other tokens, the sum of share * log-prob;
  /// only beside a column draw_hits.
  const std::vector<float>* miss_logprob = nullptr;
};

struct MicroBatchLoss {
  double loss = 0.0;  ///< this micro-batch's share; shares of all micro-batches sum to the step's
                      ///< loss
  std::vector<float> dlogprob{}, dentropy{};  ///< [M]
  std::vector<float> dvalue{};                ///< [M] where the micro-batch brought values
  std::vector<float> dmiss_logprob{};         ///< [M] where the micro-batch brought them
  std::vector<double> rollout_loss{};  ///< [L] mean surrogate loss of each rollout's tokens, before
                                       ///< weights and denominators; NaN for one without tokens
  /// metrics over this micro-batch's tokens, by name; see Prepared::merge
  std::map<std::string, double> sums{}, minima{}, maxima{};
};

}  // namespace rollcall::method
