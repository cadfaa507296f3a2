// The update stage: supervised and reinforcement steps on the current policy, the same bits for any
// number of update ranks and threads.
#pragma once

#include "comm/node_groups.hpp"
#include "io/checkpoint.hpp"
#include "method/method.hpp"
#include "model/train/policy_optimizer.hpp"
#include "run/checkpoint/background_task.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/mailbox.hpp"
#include "run/step/archived_steps.hpp"
#include "run/step/group_training.hpp"
#include "run/step/micro_batch_packing.hpp"
#include "run/step/objective_state.hpp"
#include "run/step/shard_cache.hpp"
#include "run/step/step_record.hpp"
#include "run/update/auxiliary_models.hpp"
#include "run/update/drift.hpp"
#include "run/update/replay_buffer.hpp"
#include "run/update/step_figures.hpp"

#include <map>
#include <memory>
#include <optional>

namespace rollcall::run {

class UpdateStage {
 public:
  /// `ranks`: the update ranks among themselves; rank 0 of it speaks for all. `kept`: what this
  /// rank has judged.
  UpdateStage(RunContext& context, Mailbox& mail, comm::Communicator& ranks, ShardCache& kept);
  void on_supervise(const SupervisePlan& plan);
  void on_update(const UpdatePlan& plan);
  /// Leaves the writing of this rank's part of the checkpoint to a thread of its own, which reads
  /// weights and moments where they are: the next optimizer step waits for it.
  void on_save(const SaveRequest& request);
  /// The share, once it is durable: for the coordinator. Rethrows what the writing met.
  std::optional<SaveReport> saved() { return saving_.poll(); }
  bool is_saving() const { return saving_.running(); }
  void on_rollback(const std::string& checkpoint);
  /// Takes the optimizer, the gradient's exponents, the objective's state and its companions from a
  /// checkpoint.
  void restore(const io::StoredCheckpoint& checkpoint);
  /// The resumed run's files outside the archive, for the replay buffer. They are read with the
  /// first step: until then nothing is packed.
  void restore_replay(std::vector<UnpackedFile> unpacked) { earlier_ = std::move(unpacked); }

 private:
  using Statistics = std::map<std::string, double>;
  method::StepColumns with_step(method::StepColumns columns, const UpdatePlan& plan,
                                const StepBatch& batch, const std::vector<std::size_t>& groups,
                                const Statistics& statistics) const;
  void restore_optimizer(const io::StoredCheckpoint& checkpoint);
  void add_moments(io::CheckpointShare& share) const;  ///< those that this rank holds
  void add_reference(io::CheckpointShare& share, const SaveRequest& request);
  /// What the objective asks of the whole step beside a loss.
  struct StepTerms {
    double lr_factor = 1.0;
    Statistics statistics{}, after_step{};  ///< for the next update, and for the next step if this
                                            ///< is the last
  };
  /// The step at hand, from its first update to its last.
  struct Course {
    std::shared_ptr<const method::Prepared> whole{};  ///< what its rollouts say, where several
                                                      ///< updates take it from there: on ranks that
                                                      ///< prepare one
    Statistics given{}, now{}, after{};  ///< as the step found them; for the next update; for the
                                         ///< next step
    StepFigures figures{};
    std::int64_t applied = 0;
    std::vector<double> norms{};  ///< of the applied updates that have a gradient
  };
  /// A micro-batch's loss, with the columns it was taken at and its derivative by them, as it
  /// travels to the leader.
  struct LossShare {
    std::int64_t micro_batch = 0;
    method::MicroBatchLoss loss{};
    std::vector<float> logprob{};
    model::ColumnGradient derivative{};

    template <class A>
    void serialize(A& ar, unsigned) {
      ar& micro_batch& loss.loss& loss.sums& loss.minima& loss.maxima& loss
          .rollout_loss& logprob& derivative.logprob& derivative.entropy& derivative.miss_logprob;
    }
  };
  /// All micro-batches' losses in order, and the columns of all rollouts one after the other: with
  /// the leader.
  struct Evaluated {
    std::vector<method::MicroBatchLoss> losses{};
    std::vector<float> logprob{};
    model::ColumnGradient derivative{};
  };
  /// A mini-batch as the objective is evaluated on it.
  struct MiniBatch {
    bool known = false;  ///< the columns in memory are the current policy's: no forward pass
    std::vector<std::int64_t> own{};  ///< leaves that this rank evaluates: the leader all that are
                                      ///< known, where no pass is to be shared out
    TrainBatch train{};               ///< this and what follows: on ranks that have a micro-batch
    std::shared_ptr<const method::Prepared> prepared{};
  };
  /// that a step makes
  std::int64_t updates() const {
    return context_->config.train.epochs * context_->config.train.mini_batches;
  }
  const method::Prepared& whole(const UpdatePlan& plan, const StepBatch& batch);
  std::shared_ptr<const method::Prepared> prepare_update(method::StepColumns columns,
                                                         const UpdatePlan& plan,
                                                         const StepBatch& batch,
                                                         const std::vector<std::size_t>& groups);
  StepTerms terms_of(const method::Prepared& update) const;  ///< on the leader
  Statistics after_step(Statistics now) const;  ///< those of its updates so far, with what the
                                                ///< whole step has moved
  MiniBatch prepare(const UpdatePlan& plan, const StepBatch& batch,
                    const std::vector<std::size_t>& groups, bool stored);
  /// The objective on the columns of all micro-batches: those that are known, else those of a
  /// forward pass, which a critic needs in any case. Empty when the critic's gradient was not
  /// finite.
  std::optional<Evaluated> evaluate(const MiniBatch& mini);
  /// A rank's part of the backward pass, as the leader deals it.
  struct Dealt {
    std::vector<BackwardMicroBatch> micro_batches{};  ///< own_leaves
    std::int64_t count = 0;                           ///< of all ranks
    StepTerms terms{};
    bool trains = true;  ///< false: the leader has found nothing in the mini-batch that trains

    template <class A>
    void serialize(A& ar, unsigned) {
      ar& micro_batches& count& terms.lr_factor& terms.statistics& terms.after_step& trains;
    }
  };
  /// `leaves`: all of them, on the leader. Collective.
  Dealt deal(std::vector<BackwardMicroBatch> micro_batches, const StepTerms& terms,
             bool trains) const;
  /// `runner`: for a forward pass; without one the stored columns are taken.
  LossShare evaluate_micro_batch(const MiniBatch& mini, std::int64_t index,
                                 model::MicroBatchRunner* runner);
  bool is_on_policy(const StepBatch& batch) const;  ///< what is stored of all its rollouts are
                                                    ///< columns of the policy that the step starts
                                                    ///< from
  /// Sums the gradients of `count` leaves, of which `own` are this rank's, over threads and ranks;
  /// how often each had to run, or nothing when one was not finite.
  /// `see`: the columns of the forward of own[i].
  using SeeColumns = std::function<void(std::int64_t i, const model::Columns& columns)>;
  std::optional<int> sum_gradient(const std::vector<BackwardMicroBatch>& own, std::int64_t count,
                                  double temperature, const SeeColumns& see);
  /// The leader's report gets the mean and the longest of all ranks' own_s, and the files that they
  /// have stored. Collective.
  void end_step(UpdateReport& report, double own_s, std::vector<io::PublishedFile> own_files) const;
  /// of what each micro-batch's owner knows; the same on every rank
  double whole_sum(const std::vector<double>& by_micro_batch) const;
  UpdateOutcome apply(const OptimizerSection& settings, double lr, double norm_limit,
                      std::map<std::string, double>& metrics);
  /// The leader's, on all update ranks. Collective.
  template <class T>
  T of_leader(const T& value) const {
    return from_bytes<T>(comm::spread(*ranks_, leader() ? to_bytes(value) : std::string(), 0));
  }
  StepBatch archived_step(std::uint64_t step);
  StepBatch load_step(const UpdatePlan& plan);  ///< the step's own rollouts: from its files, or
                                                ///< from an archive
  /// [groups][rollouts] the recipe's rewards before normalisation.
  std::vector<std::vector<double>> heard(const StepBatch& batch, const UpdatePlan& plan) const;
  StepBatch gather(const UpdatePlan& plan);  ///< the step's rollouts with what is replayed and the
                                             ///< experts'
  /// as it is trained on: with rewards permuted, if asked
  StepBatch apply_undecided_rule(StepBatch step, std::uint64_t number) const;
  void refill_replay(const UpdatePlan& plan);  ///< after a resume: fills the replay buffer, and
                                               ///< what drift is measured on
  /// What the leader knows of a step before its first update.
  struct Opened {
    std::optional<MiniBatch> ready{};         ///< the only mini-batch
    std::map<std::string, double> figures{};  ///< of all rollouts, where the first mini-batch holds
                                              ///< others
    double columns_s = 0.0;                   ///< for timing_s/columns
  };
  /// Notes what trains for the archive, and for the scheduler how groups fared that no mini-batch
  /// holds.
  Opened open_step(const UpdatePlan& plan, const StepBatch& batch);
  struct Turn {
    std::int64_t index = 0;            ///< of the mini-batch
    bool first = false;                ///< of the step
    std::optional<MiniBatch> ready{};  ///< where it is prepared already
  };
  UpdateOutcome train_mini_batch(const UpdatePlan& plan, StepBatch& batch, Turn turn,
                                 std::map<std::string, double>& metrics);
  /// all updates of the step, up to one that is not applied
  void train(const UpdatePlan& plan, StepBatch& batch, UpdateReport& report);
  void finish(UpdateReport report);
  void enter_phase(bool supervised);
  void set_phase(bool supervised);  ///< which phase optimizer_ belongs to, and which weights train
                                    ///< in it
  void gather_weights();            ///< what ranks of other nodes have made of theirs
  void fetch_weights();  ///< those of the device to the host, where it has older ones. Collective
  std::unique_ptr<model::PolicyOptimizer> make_optimizer();
  void await_writer();  ///< before anything that a checkpoint is being written of changes.
                        ///< Collective where one was begun
  bool leader() const { return ranks_->rank() == 0; }
  bool hears_recipe_ = false;  ///< heard() are other than the verifier's rewards
  model::ValueHead* critic() {
    return objective_->needs_value() ? auxiliary_models_.value_head() : nullptr;
  }

  RunContext* context_;
  Mailbox* mail_;
  comm::Communicator* ranks_;
  ShardCache* kept_;
  std::unique_ptr<const method::Objective> objective_;
  AuxiliaryModels auxiliary_models_;
  ObjectiveState objective_state_;
  Drift drift_;
  ReplayBuffer replay_;
  StepResidency step_at_;
  std::optional<ArchivedSteps> archived_;  ///< on the leader, where the run trains from an archive
  std::optional<std::vector<UnpackedFile>> earlier_;  ///< of a resumed run, until recall
  GroupSignals signals_;                              ///< of the step at hand
  Course course_;
  std::optional<StepRecord> record_;  ///< likewise, on the leader, where its rollouts are archived
  comm::NodeGroups groups_;
  std::unique_ptr<Collectives> by_transport_;  ///< the update ranks, for what is large
  std::vector<std::int64_t> begins_;           ///< of the shares of the optimizer
  int own_ = 0;                                ///< this rank's share
  model::DeviceOptimizer* device_ = nullptr;   ///< the optimizer where it is a device's
  std::unique_ptr<model::PolicyOptimizer> optimizer_;
  std::shared_ptr<const model::GradientMask> mask_;  ///< of this rank's share in training steps;
                                                     ///< null: all of it trains
  BackgroundTask<SaveReport> saving_;
  bool save_begun_ = false;  ///< since await_writer; alike on all ranks
  /// checkpoint that holds the reference, and its revision
  std::optional<std::pair<std::string, std::int64_t>> saved_reference_;
  bool supervised_phase_ = true;  ///< which phase optimizer_ belongs to
};

}  // namespace rollcall::run
