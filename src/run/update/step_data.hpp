// The data that a step trains on: its own rollouts or those of an archive, groups of earlier steps,
// and experts' texts.
#pragma once

#include "comm/communicator.hpp"
#include "method/method.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/messages/messages.hpp"
#include "run/step/archived_steps.hpp"
#include "run/step/shard_cache.hpp"
#include "run/step/step_batch.hpp"
#include "run/step/step_record.hpp"
#include "run/update/auxiliary_models.hpp"
#include "run/update/drift.hpp"
#include "run/update/prompt_columns.hpp"
#include "run/update/replay_buffer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Reads steps, and keeps what later steps need from them. gather() and measure_drift() are
/// collective over the update ranks.
class StepData {
 public:
  /// `cache`: the shards that this rank has scored. References must outlive this object.
  StepData(RunContext& context, const method::Objective& objective, const PromptColumns& columns,
           comm::Communicator& ranks, ShardCache& cache);

  /// Where a step's rollouts are: with the leader alone, or on every rank.
  StepResidency residency() const { return residency_; }

  /// The step's rollouts after the rule for undecided ones (undecided.hpp), then replayed groups,
  /// and the experts' rollouts in their groups. Throws Error where no rollout of the step came to a
  /// verdict.
  StepBatch gather(const UpdatePlan& plan);
  /// On the leader: rollout_metrics() of the step of the last gather(), of all rollouts that it has sampled: some
  /// leave the batch where derived groups take their places.
  const std::map<std::string, double>& as_sampled() const { return as_sampled_; }
  /// The record for the archive about the rollouts that gather() read. It is on the leader, and
  /// null in a run that trains from an archive.
  const StepRecord* record() const { return record_ ? &*record_ : nullptr; }

  /// [groups] how far the policy has moved on each prompt (drift.hpp).
  std::vector<double> measure_drift(const StepBatch& batch, AuxiliaryModels& models) {
    return drift_.measure(batch, models);
  }
  /// Keeps the step's own rollouts for drift and replay.
  void remember(StepBatch own);
  /// The files of a resumed run outside the archive, for drift and replay. They are read with the
  /// first step, before which nothing is packed.
  void restore_replay(std::vector<UnpackedFile> unpacked) { unread_ = std::move(unpacked); }

  /// Whether scheduler and metrics receive rewards of the recipe rather than those of the verifier.
  bool hears_recipe() const;
  /// [groups][rollouts] the recipe's rewards before normalisation.
  std::vector<std::vector<double>> recipe_rewards(const StepBatch& batch,
                                                  const UpdatePlan& plan) const;

 private:
  StepBatch placed(StepBatch step) const;  ///< the step with its derived groups where they train
  bool samples() const;                    ///< whether the run draws its own rollouts
  StepBatch archived_step(std::uint64_t step);
  StepBatch load_step(const UpdatePlan& plan);
  void refill_replay(const UpdatePlan& plan);  ///< after a resume, for replay and drift

  RunContext* context_;
  const method::Objective* objective_;
  const PromptColumns* columns_;
  comm::Communicator* ranks_;
  ShardCache* cache_;
  StepResidency residency_;
  Drift drift_;
  ReplayBuffer replay_;
  std::optional<ArchivedSteps> archived_;  ///< on the leader, where the run trains from an archive
  std::optional<std::vector<UnpackedFile>> unread_;  ///< files that a resumed run reads with its
                                                     ///< first step; nothing after that
  std::optional<StepRecord> record_;
  std::map<std::string, double> as_sampled_{};
};

}  // namespace rollcall::run
