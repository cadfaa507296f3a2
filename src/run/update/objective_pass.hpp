// The objective over ranks: columns of a mini-batch become losses, and losses become the gradients
// by log-probs and entropies that the backward passes start from.
#pragma once

#include "comm/communicator.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/messages/messages.hpp"
#include "run/step/micro_batch_packing.hpp"
#include "run/step/step_batch.hpp"
#include "run/update/auxiliary_models.hpp"
#include "run/update/prompt_columns.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Evaluates the objective on the mini-batches of a step. A mini-batch is prepared, evaluated and
/// dealt: evaluate() and deal() are collective over the update ranks, and their results are the
/// leader's.
class ObjectivePass {
 public:
  using Statistics = PromptColumns::Statistics;

  /// A mini-batch as the objective is evaluated on it.
  struct MiniBatch {
    bool known = false;  ///< the stored columns are the current policy's: no forward pass is needed
    std::vector<std::int64_t> own{};  ///< micro-batches that this rank evaluates; where all are
                                      ///< known, the leader evaluates all
    TrainBatch train{};  ///< this and `prepared` are set on ranks that evaluate a micro-batch
    std::shared_ptr<const method::Prepared> prepared{};
  };
  /// On the leader: the losses of all micro-batches in order, and the derivative with respect to
  /// the columns of all rollouts, rollout by rollout.
  struct Evaluated {
    std::vector<method::MicroBatchLoss> losses{};
    LossDerivative derivative{};
  };
  /// What the objective needs from the whole step in addition to a loss.
  struct StepTerms {
    double lr_factor = 1.0;
    Statistics statistics{}, after_step{};  ///< moving statistics for the next update, and for the
                                            ///< next step if this update is the last
  };
  /// A rank's part of the backward pass, as the leader deals it.
  struct Dealt {
    std::vector<BackwardMicroBatch> micro_batches{};
    std::int64_t count = 0;  ///< micro-batches of all ranks
    StepTerms terms{};
    bool trains = true;  ///< false: the leader has found nothing in the mini-batch that trains

    template <class A>
    void serialize(A& ar, unsigned) {
      ar& micro_batches& count& terms.lr_factor& terms.statistics& terms.after_step& trains;
    }
  };

  /// References must outlive this object.
  ObjectivePass(RunContext& context, const method::Objective& objective, AuxiliaryModels& models,
                const PromptColumns& columns, comm::Communicator& ranks);

  /// Begins a step with the moving statistics that the step before left.
  void begin_step(Statistics statistics);
  /// Takes over the statistics of an update that was applied.
  void note_applied(const StepTerms& terms);
  /// The statistics for the next step, as of the updates applied so far.
  const Statistics& statistics() const { return after_; }
  /// Forgets the step's rollouts.
  void end_step() { whole_.reset(); }

  /// The columns of these groups, of the current policy. `stored`: the policy is the one that
  /// sampled them all.
  MiniBatch prepare(const UpdatePlan& plan, const StepBatch& batch,
                    const std::vector<std::size_t>& groups, bool stored);
  /// The objective on all micro-batches: on columns that are known, or on those of a forward pass,
  /// which a critic needs in any case. Nothing where the critic's gradient was not finite.
  std::optional<Evaluated> evaluate(const MiniBatch& mini);
  StepTerms terms_of(const method::Prepared& update) const;  ///< on the leader
  /// Hands the leader's micro-batch i to rank i mod R.
  Dealt deal(std::vector<BackwardMicroBatch> micro_batches, const StepTerms& terms,
             bool trains) const;

  /// The objective on all rollouts of the step that train, where several updates take their
  /// advantages from there; otherwise null.
  const method::Prepared* whole() const { return whole_.get(); }
  /// The value head where the objective trains one; otherwise null.
  model::ValueHead* critic() const;

 private:
  /// The loss of a micro-batch and its derivative, as they travel to the leader.
  struct LossShare {
    std::int64_t micro_batch = 0;
    method::MicroBatchLoss loss{};
    LossDerivative derivative{};

    template <class A>
    void serialize(A& ar, unsigned) {
      ar& micro_batch& loss.loss& loss.sums& loss.minima& loss.maxima& loss.rollout_loss& derivative
          .at_logprob& derivative.by.logprob& derivative.by.entropy& derivative.by.miss_logprob;
    }
  };
  const method::Prepared& prepare_whole(const UpdatePlan& plan, const StepBatch& batch);
  std::shared_ptr<const method::Prepared> prepare_update(method::StepColumns columns,
                                                         const UpdatePlan& plan,
                                                         const StepBatch& batch,
                                                         const std::vector<std::size_t>& groups);
  /// `runner`: for a forward pass; null: the stored columns are taken.
  LossShare evaluate_micro_batch(const MiniBatch& mini, std::int64_t index,
                                 model::MicroBatchRunner* runner);
  /// The statistics of the updates so far, with what the whole step has moved.
  Statistics after_step(Statistics now) const;
  bool leader() const { return ranks_->rank() == 0; }

  RunContext* context_;
  const method::Objective* objective_;
  AuxiliaryModels* models_;
  const PromptColumns* columns_;
  comm::Communicator* ranks_;
  std::shared_ptr<const method::Prepared> whole_;
  Statistics given_, now_, after_;  ///< moving statistics: as the step found them; for the next
                                    ///< update; for the next step
};

/// The number of updates that a step makes.
inline std::int64_t updates_of(const RunConfig& config) {
  return config.train.epochs * config.train.mini_batches;
}

}  // namespace rollcall::run
