// The models beside the policy that an objective may ask columns of: a reference, a teacher, a
// value head; and the columns that need a forward pass.
#pragma once

#include "comm/communicator.hpp"
#include "io/checkpoint.hpp"
#include "method/method.hpp"
#include "model/train/value_head.hpp"
#include "run/context/run_context.hpp"
#include "run/step/step_batch.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

/// What the objective asks for and the run file does not provide: columns, knobs without a default,
/// a
/// teacher.
void check_companions(const RunConfig& config, const method::Objective& objective, Faults& faults);
/// Throws ConfigError where the objective asks for predictions that not every prompt has.
void check_predictions(const RunContext& context, const method::Objective& objective);

class AuxiliaryModels {
 public:
  /// Reads the teacher, and the reference where it is a folder. Throws what the checks above find,
  /// and
  /// InputError for a model folder that does not fit.
  AuxiliaryModels(RunContext& context, const method::Objective& objective,
                  comm::Communicator& ranks);

  bool wants(const std::string& column) const { return wanted_.contains(column); }
  /// Whether the objective asks what the policy would draw in the places of experts' texts.
  bool draws() const { return draws_.has_value(); }
  model::ValueHead* value_head() { return value_head_ ? &*value_head_ : nullptr; }

  /// What the objective takes for the log-probs that rollouts were sampled with, where the files do
  /// not say it: an expert's are those of the policy before the update, and so are the old ones of
  /// replayed groups if replay.old_policy is current. With them the draws in the places of an
  /// expert's text, which are addressed by step, prompt, draw and place. Collective, as all below.
  void add_missing_logprobs(StepBatch& batch);
  /// Columns under the policy before the update, the reference, the teacher and the value head, for
  /// the whole step. Collective over the update ranks.
  void add_step_columns(StepBatch& batch);
  /// What the policy would answer behind each reasoning step, for the whole step: columns of
  /// probes.hpp, and their means as metrics.
  std::map<std::string, double> add_probe_columns(StepBatch& batch, std::uint64_t step);
  /// Columns under the policy of this moment for these groups; `stored`: it is the one that sampled
  /// them all, so that their own columns are these.
  void add_current_columns(StepBatch& batch, const std::vector<std::size_t>& groups, bool stored);
  bool wants_current() const {
    return wants(method::column::current_logprob) || wants(method::column::current_entropy);
  }
  /// Puts them, which were asked for, in the place of what `train`, made of these groups, has
  /// stored.
  void take_current(const StepBatch& batch, const std::vector<std::size_t>& groups,
                    TrainBatch& train) const;

  /// [groups] log-probs of all rollouts' policy tokens, one after the other, under the policy of
  /// this moment.
  std::vector<std::vector<float>> logprobs_now(StepBatch& batch);

  /// Tokens that forward passes ran since it was asked last, all ranks together, by the pass:
  /// reference, teacher, ... (report/DIAGNOSES.md). Of the policy's own pass ranks without a
  /// micro-batch know nothing; the leader, which reports, always has one.
  std::map<std::string, double> take_forward_tokens() { return std::exchange(forward_tokens_, {}); }
  /// a pass over all micro-batches
  void note_forward(const std::string& pass, const TrainBatch& train);

  bool takes_policy() const;  ///< what begin_training() is about to do
  void begin_training();      ///< the reference becomes the policy, unless it was read or restored
  bool changes_reference(std::uint64_t step) const;  ///< that after_step will write to it
  void after_step(std::uint64_t step);               ///< moving average or refresh
  /// layout order; none until training begins
  std::shared_ptr<const model::AlignedFloats> reference() const { return reference_weights_; }
  /// grows with every change: an unchanged one needs no second copy on disk
  std::int64_t reference_revision() const { return reference_revision_; }
  /// A checkpoint without a reference was made before training began, or by the run that a branch
  /// comes from: the next training step then makes the policy its reference, unless
  /// reference.model names one.
  void restore_reference(const io::StoredCheckpoint& checkpoint);
  void restore_value_head(const io::StoredCheckpoint& checkpoint);

 private:
  using MicroBatchColumns = std::map<std::string, std::vector<float>>;
  using MicroBatchPass = std::function<MicroBatchColumns(model::MicroBatchRunner& runner,
                                                         const model::MicroBatch& micro_batch)>;
  /// `names`: of the forward passes over every micro-batch that `pass` makes, for
  /// take_forward_tokens().
  void fill(StepBatch& batch, const std::vector<std::size_t>& groups,
            const std::vector<std::string>& names, const MicroBatchPass& pass);
  void add_gradient_cosines(StepBatch& batch);
  /// What the policy draws in the places of experts' texts: Turn::missed and miss_logprob of
  /// `answers`, and the column of hits of `batch`. `experts`: the answers with their prompts, a
  /// group each.
  void add_draws(StepBatch& batch, const StepBatch& experts, const std::vector<Turn*>& answers);
  /// What `pass(runner, i)` makes of each micro-batch, on every rank.
  std::vector<MicroBatchColumns> over_micro_batches(
      std::size_t micro_batches,
      const std::function<MicroBatchColumns(model::MicroBatchRunner& runner,
                                            std::size_t micro_batch)>& pass);
  void set_reference(model::AlignedFloats weights);

  RunContext* context_;
  comm::Communicator* ranks_;
  /// How often, and how much warmer than the policy samples; named by the column of the hits.
  struct Draws {
    std::string column;
    std::int64_t count = 0;
    double temperature = 1.0;
  };
  std::set<std::string> wanted_;
  std::optional<Draws> draws_;
  std::shared_ptr<model::AlignedFloats> reference_weights_;  ///< none until training begins
  std::int64_t reference_revision_ = 0;
  std::optional<model::PolicyModel> reference_, teacher_;
  std::optional<model::ValueHead> value_head_;
  std::map<std::string, double> forward_tokens_;
};

}  // namespace rollcall::run
