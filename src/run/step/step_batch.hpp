// A closed step as the update sees it: groups in canonical order, with the columns that the
// objective reads. How it is cut into micro-batches depends only on its content.
#pragma once

#include "comm/communicator.hpp"
#include "core/run_config.hpp"
#include "io/shard_file.hpp"
#include "method/method.hpp"
#include "model/engine/policy.hpp"
#include "run/context/column_sources.hpp"
#include "run/messages/messages.hpp"
#include "run/step/shard_cache.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

/// Rollouts of a step by ascending GroupId, and by ascending sample within a group, no matter how
/// they were divided into shards. Groups of earlier steps that are trained on again follow in the
/// same order.
struct StepBatch {
  std::vector<Group> groups;
  std::vector<std::vector<Score>> scores;      ///< [groups][rollouts]
  std::vector<std::string> component_names{};  ///< names of Score::components, in their order
  std::map<PromptId, double> greedy{};  ///< reward of the prompt's greedy answer, where it has one;
                                        ///< undecided.hpp says what it is without a verdict
  std::vector<scheduling::GroupTraining> training{};  ///< [groups] as the scheduler decided; empty:
                                                      ///< all train, with weight 1
  // The update adds the members below. The files do not have them.
  std::size_t replayed = 0;   ///< number of groups that come from earlier steps: the last ones
  std::size_t undecided = 0;  ///< rollouts that were sampled and have left the step
                              ///< (settle_undecided)
  /// Groups and sample numbers of rollouts that have left because derived groups moved in
  /// (placed_groups.hpp).
  std::vector<std::pair<GroupId, std::uint32_t>> left{};
  PolicyVersion policy{};  ///< the policy that the step starts from
  /// Columns computed by models, by name: [groups][N] a number for each policy token of the group,
  /// rollout by rollout, or for each of its turns (gold_logprob), rollouts (gold_logprob_before) or
  /// pairs of rollouts (gradient_cosine). to_wire() leaves them out: every rank computes or
  /// receives them.
  std::map<std::string, std::vector<std::vector<float>>> columns{};
};

/// [readers] the files of a step that each reader (a world rank, ascending) reads for all. A file
/// goes to its cached_on_rank, which must be a reader; files without one are dealt in turn.
std::vector<std::vector<ScoredFile>> shared_out(std::vector<ScoredFile> files,
                                                const std::vector<int>& readers);

/// The whole step, without the texts of rollouts and with fragments of groups merged. It is
/// returned on all ranks, or only on rank 0, and the others then return an empty step. `files`: the
/// files that this rank opens, or has in memory, to send their content. If each of R ranks opened
/// the files of all R producers, a step would cost R^2 reads. `kept`: the cache of this rank, which
/// is emptied. Collective. Throws StorageError (damaged file) or ProtocolError (a sample twice).
StepBatch read_step(const std::filesystem::path& run_dir, const std::vector<ScoredFile>& files,
                    comm::Communicator& ranks, StepResidency at = StepResidency::every_rank,
                    ShardCache* kept = nullptr);

/// Sample number of a rollout that no policy sampled: the task's worked solution.
inline constexpr std::uint32_t kExpertSample = 0xFFFF'FFFF;
inline bool is_expert(const Rollout& rollout) { return rollout.sample == kExpertSample; }
std::size_t fresh_groups(const StepBatch& batch);  ///< number of groups of the step itself, which
                                                   ///< come before the replayed ones
StepBatch own_rollouts(StepBatch batch);  ///< the rollouts that the step sampled itself: neither
                                          ///< replayed groups nor experts
/// The group in which a rollout of `group` was sampled. It is a different one if a derived group
/// trains in its parent's (Rollout::placed).
inline const GroupId& sampled_in(const Group& group, const Rollout& rollout) {
  return rollout.placed ? *rollout.placed : group.id;
}
/// The reason why that group was asked.
inline const Derivation& asked_for(const Group& group, const Rollout& rollout) {
  return rollout.placed ? rollout.placed_from : group.from;
}
/// Metrics of the rollouts that the step sampled itself to prompts of the task without help, under
/// the names of verl and TRL: train/pass_rate,
/// train/frac_reward_zero_std (groups of two or more whose rewards are all equal),
/// train/distinct_prompts_share (prompts over groups), response_length/mean [tokens],
/// response_length/clip_ratio (cut off at the token limit). Where sampling left tokens out, also
/// rollout/kept_mass_mean and _min over policy tokens, and rollout/kept_tokens_mean where the files
/// list the tokens that were kept. Of conversations also those of turn_figures.hpp.
std::map<std::string, double> rollout_metrics(const StepBatch& own);
std::int64_t policy_tokens(const Rollout& rollout);
std::vector<std::int32_t> policy_ids(const Rollout& rollout);  ///< the tokens of its policy turns
/// The length of the guide's prefix. It is 0 in a group with rollouts that begin with texts
/// ([openings]).
std::size_t guide_tokens(const Group& group);
/// The oldest policy version that sampled a token of the group; nothing for a group without policy
/// tokens.
std::optional<std::uint64_t> sampled_by(const Group& group);

/// The column of StepBatch that replaces the stored log-probs as old_logprob, in groups that have
/// it.
inline constexpr const char* kProximalLogprob = "proximal_logprob";

/// undecided.hpp describes greedy_reward() and settle_undecided().
double greedy_reward(const Score& score);  ///< a value of StepBatch::greedy
std::size_t settle_undecided(StepBatch& batch, bool drop);

/// Joins parts of a step, in canonical order. Throws ProtocolError (a sample twice).
StepBatch joined(std::vector<StepBatch> parts);

/// Permutes verdicts over all rollouts of the step, as a control experiment (Fisher-Yates on an
/// addressed stream). A verdict moves as a whole: the reward, its parts that belong to single
/// turns, the components, the answer, and whether it is correct. Rewards of greedy answers are
/// permuted over their prompts (shuffle_rewards.cpp).
void shuffle_rewards(StepBatch& batch, std::uint64_t seed, std::uint64_t step);

/// The number of rollouts of the group that train. Rollouts beyond its `keep` do, because they come
/// from an expert and the scheduler does not know about them.
std::size_t trained_rollouts(const StepBatch& batch, std::size_t group);
/// Indices of the groups of mini-batch `index` out of `count`. Groups that have a rollout to train
/// are dealt round robin and never cut. Empty if there are too few groups.
std::vector<std::size_t> mini_batch(const StepBatch& batch, std::int64_t index, std::int64_t count);

/// Some groups of a step: the columns that the objective needs, and micro-batches for the model.
struct TrainBatch {
  method::StepColumns columns;
  struct MicroBatchRange {
    model::MicroBatch micro_batch;
    std::vector<std::int64_t> rollouts{};  ///< indices into the columns' rollouts
    /// [policy tokens] with the meaning that they have in turns. miss_logprob is empty where no
    /// draw missed the micro-batch's texts.
    TokenColumns stored{};
  };
  std::vector<MicroBatchRange> micro_batches;
};

/// [micro-batches] the groups of each: whole groups, in order, up to `micro_batch_tokens`. A larger
/// group has its own micro-batch. A micro-batch has the prompt of a group once.
std::vector<std::vector<std::size_t>> micro_batch_groups(const StepBatch& batch,
                                                         const std::vector<std::size_t>& groups,
                                                         std::int64_t micro_batch_tokens);
TrainBatch make_train_batch(const StepBatch& batch, const std::vector<std::size_t>& groups,
                            std::int64_t micro_batch_tokens, std::int64_t max_new_tokens);

}  // namespace rollcall::run
