// A closed step as the update sees it: groups in canonical order, cut into micro-batches by content
// alone, with the columns the objective wants.
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
#include <vector>

namespace rollcall::run {

/// Rollouts of a step in ascending GroupId, samples ascending inside: the same however shards were
/// cut. Behind them, in the same order,
/// groups of earlier steps that are trained on again.
struct StepBatch {
  std::vector<Group> groups;
  std::vector<std::vector<Score>> scores;      ///< [groups][rollouts]
  std::vector<std::string> component_names{};  ///< of Score::components
  std::map<PromptId, double> greedy{};  ///< reward of the prompt's greedy answer, where there was
                                        ///< one; without a verdict see undecided.hpp
  std::vector<scheduling::GroupTraining> training{};  ///< [groups] as the scheduler decided; empty:
                                                      ///< all train, with weight 1
  // What the update knows beside the files:
  std::size_t replayed = 0;   ///< the last so many groups come from earlier steps
  std::size_t undecided = 0;  ///< rollouts that were sampled and have left the step
                              ///< (settle_undecided)
  PolicyVersion policy{};     ///< from which the step starts
  /// Columns computed by models, by name: [groups] policy tokens of the group's rollouts one after
  /// the other, or their pairs (gradient_cosine). Not shared: every rank computes or receives them.
  std::map<std::string, std::vector<std::vector<float>>> columns{};
};

/// A step's files shared out among those that read them for all (world ranks, ascending):
/// [readers].
/// Each file goes to its cached_on_rank, which must be one of them, and those without a
/// cached_on_rank in turn.
std::vector<std::vector<ScoredFile>> shared_out(std::vector<ScoredFile> files,
                                                const std::vector<int>& readers);

/// The whole step where it is wanted (rank 0 leads; the others have an empty one), fragments of
/// groups merged. `files`: those that this rank opens, or keeps, and sends the content of: with R
/// ranks that each opened the files of all R producers, a step would cost R^2 reads. Without the
/// rollouts' texts. `kept`: this rank's; it is empty afterwards. Collective. Throws StorageError
/// (damaged file) or ProtocolError (a sample twice).
StepBatch read_step(const std::filesystem::path& run_dir, const std::vector<ScoredFile>& files,
                    comm::Communicator& ranks, StepResidency at = StepResidency::every_rank,
                    ShardCache* kept = nullptr);

/// Sample number of a rollout that no policy sampled: the task's worked solution.
inline constexpr std::uint32_t kExpertSample = 0xFFFF'FFFF;
inline bool is_expert(const Rollout& rollout) { return rollout.sample == kExpertSample; }
std::size_t fresh_groups(const StepBatch& batch);  ///< those of the step itself; they come first
StepBatch own_rollouts(StepBatch batch);  ///< what the step sampled itself: neither replayed groups
                                          ///< nor experts
/// Of what the step sampled itself, judge tasks aside (verl's and TRL's names): train/pass_rate,
/// train/frac_reward_zero_std (groups of two or more whose rewards are all equal),
/// train/distinct_prompts_share (prompts over groups), response_length/mean [tokens],
/// response_length/clip_ratio (cut off at the token limit). Where draws left tokens out also
/// rollout/kept_mass_mean and _min, over policy tokens, and where
/// these come with lists rollout/kept_tokens_mean.
std::map<std::string, double> rollout_metrics(const StepBatch& own);
std::int64_t policy_tokens(const Rollout& rollout);
std::vector<std::int32_t> policy_ids(const Rollout& rollout);  ///< the tokens of its policy turns
std::size_t guide_tokens(const Group& group);                  ///< that its rollouts begin with
/// Oldest version that sampled a token of the group; nothing for a group without policy tokens.
std::optional<std::uint64_t> sampled_by(const Group& group);

/// Column of StepBatch that stands in for the stored log-prob as the old one, where a group has it.
inline constexpr const char* kProximalLogprob = "proximal_logprob";

double greedy_reward(const Score& score);                   ///< for StepBatch::greedy
std::size_t settle_undecided(StepBatch& batch, bool drop);  ///< both as undecided.hpp says

/// Parts of a step as one, in canonical order. Throws ProtocolError (a sample twice).
StepBatch joined(std::vector<StepBatch> parts);

/// Control experiment: permutes verdicts over all rollouts of the step, each as a whole: reward,
/// components, answer, and whether it is correct (Fisher-Yates on an addressed stream). Rewards of
/// greedy answers are permuted over their prompts.
void shuffle_rewards(StepBatch& batch, std::uint64_t seed, std::uint64_t step);

/// Rollouts of the group that train. Those beyond its `keep` do, since the scheduler has not heard
/// of them (an expert's).
std::size_t trained_rollouts(const StepBatch& batch, std::size_t group);
/// Group indices of mini-batch `index` of `count`: of the groups that have a rollout to train,
/// dealt round robin, never cut. Empty where there are too few.
std::vector<std::size_t> mini_batch(const StepBatch& batch, std::int64_t index, std::int64_t count);

/// Some groups of a step with everything the objective needs, and the micro-batches to run the
/// model on.
struct TrainBatch {
  method::StepColumns columns;
  struct MicroBatchRange {
    model::MicroBatch micro_batch;
    std::vector<std::int64_t> rollouts{};     ///< indices into the columns' rollouts
    std::vector<float> logprob{}, entropy{};  ///< of its policy tokens, as stored
    std::vector<float> miss_logprob{};        ///< likewise, 0 beside no draw; empty where the
                                              ///< micro-batch's texts were missed by none
  };
  std::vector<MicroBatchRange> micro_batches;
};

/// Micro-batches hold whole groups, in order, up to `micro_batch_tokens` (one larger group makes a
/// micro-batch of its own); a group's prompt stands in them once.
std::vector<std::vector<std::size_t>> micro_batch_groups(const StepBatch& batch,
                                                         const std::vector<std::size_t>& groups,
                                                         std::int64_t micro_batch_tokens);
TrainBatch make_train_batch(const StepBatch& batch, const std::vector<std::size_t>& groups,
                            std::int64_t micro_batch_tokens, std::int64_t max_new_tokens);

}  // namespace rollcall::run
