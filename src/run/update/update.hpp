// The update stage runs supervised and reinforcement steps on the current policy. The bits are the
// same for any number of update ranks and threads.
#pragma once

#include "comm/communicator.hpp"
#include "io/checkpoint.hpp"
#include "io/shard_file.hpp"
#include "method/method.hpp"
#include "run/checkpoint/restore.hpp"
#include "run/messages/mailbox.hpp"
#include "run/step/group_training.hpp"
#include "run/step/objective_state.hpp"
#include "run/step/shard_cache.hpp"
#include "run/update/auxiliary_models.hpp"
#include "run/update/objective_pass.hpp"
#include "run/update/prompt_columns.hpp"
#include "run/update/step_data.hpp"
#include "run/update/step_figures.hpp"
#include "run/update/train_state.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Receives the coordinator's messages to the update ranks, and answers from the leader, which is
/// rank 0 of them. A step is gathered (step_data.hpp), evaluated (objective_pass.hpp) and applied
/// (train_state.hpp).
class UpdateStage {
 public:
  /// `ranks`: the group of all update ranks. `kept`: the shards that this rank has scored.
  UpdateStage(RunContext& context, Mailbox& mail, comm::Communicator& ranks, ShardCache& kept);
  void on_supervise(const SupervisePlan& plan);
  void on_update(const UpdatePlan& plan);
  /// Starts a thread that writes this rank's share of the checkpoint. The thread reads weights and
  /// moments where they are, so the next optimizer step waits for it.
  void on_save(const SaveRequest& request);
  /// The share, once it is durable, for the coordinator. Rethrows an error of the writing.
  std::optional<SaveReport> saved() { return state_.saved(); }
  bool is_saving() const { return state_.is_saving(); }
  void on_rollback(const std::string& checkpoint);
  /// How this stage reads the optimizer, the objective's state and the auxiliary models back from
  /// a checkpoint.
  PartReaders part_readers();
  /// The resumed run's files outside the archive, for replay and drift.
  void restore_replay(std::vector<UnpackedFile> unpacked) {
    data_.restore_replay(std::move(unpacked));
  }

 private:
  /// The outcome of the updates of a step.
  struct Course {
    StepFigures figures{};
    std::int64_t applied = 0;
    std::vector<double> norms{};  ///< gradient norms of the applied updates that have a gradient
  };
  /// What the leader knows about a step before its first update.
  struct Opened {
    std::optional<ObjectivePass::MiniBatch> ready{};  ///< the step's mini-batch, prepared, where it
                                                      ///< has only one
    std::map<std::string, double> figures{};  ///< figures of all rollouts, where not all groups
                                              ///< train
    double columns_s = 0.0;                   ///< time to add to the metric timing_s/columns
  };
  /// One update of a step.
  struct Turn {
    std::int64_t index = 0;                           ///< number of the mini-batch
    bool first = false;                               ///< the first update of the step
    std::optional<ObjectivePass::MiniBatch> ready{};  ///< the mini-batch if it is prepared already
  };

  void restore_objective(const io::StoredCheckpoint& checkpoint, Restoring why);
  /// Whether the stored columns of all rollouts are those of the policy that the step starts from.
  bool is_on_policy(const StepBatch& batch) const;
  /// Prepares the objective on all groups. Writes down for the archive which rollouts train, and
  /// for the scheduler the signals of groups that are in no mini-batch.
  Opened open_step(const UpdatePlan& plan, const StepBatch& batch);
  UpdateOutcome train_mini_batch(const UpdatePlan& plan, StepBatch& batch, Turn turn,
                                 Course& course, std::map<std::string, double>& metrics);
  /// Runs all updates of the step, up to one that is not applied.
  void train(const UpdatePlan& plan, StepBatch& batch, UpdateReport& report);
  /// The leader's report gets the mean and the longest of all ranks' own_s, and the files that they
  /// have stored. Collective.
  void end_step(UpdateReport& report, double own_s, std::vector<io::PublishedFile> own_files) const;
  void finish(UpdateReport report);
  bool leader() const { return ranks_->rank() == 0; }

  RunContext* context_;
  Mailbox* mail_;
  comm::Communicator* ranks_;
  ShardCache* kept_;
  std::unique_ptr<const method::Objective> objective_;
  AuxiliaryModels models_;
  ObjectiveState objective_state_;
  PromptColumns columns_;  ///< reads objective_state_
  StepData data_;
  ObjectivePass pass_;
  TrainState state_;
  GroupSignals signals_;  ///< signals of the step under way
};

}  // namespace rollcall::run
