// The columns that need a forward pass, under the policy or under an auxiliary model: a reference,
// a teacher or a value head.
#pragma once

#include "base/errors/faults.hpp"
#include "comm/communicator.hpp"
#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "io/checkpoint.hpp"
#include "method/method.hpp"
#include "model/train/value_head.hpp"
#include "run/step/step_batch.hpp"
#include "run/update/reference_model.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Reports what the objective reads and the run file does not provide: a column, a knob without a
/// default, a teacher.
void check_companions(const RunConfig& config, const method::Objective& objective, Faults& faults);
/// Throws ConfigError where the objective reads predictions and a training prompt has none.
void check_predictions(const RunConfig& config, const std::vector<Prompt>& prompts,
                       const method::Objective& objective);

class AuxiliaryModels {
 public:
  /// Reads the teacher, and the reference where reference.model names a folder. Throws what the
  /// checks above find, and InputError for a folder without a model.
  AuxiliaryModels(RunContext& context, const method::Objective& objective,
                  comm::Communicator& ranks);

  /// Whether the objective reads the column.
  bool wants(const std::string& column) const { return wanted_.contains(column); }
  /// Whether the objective reads the tokens that the policy would draw in place of experts' tokens.
  bool draws() const { return draws_.has_value(); }
  model::ValueHead* value_head() { return value_head_ ? &*value_head_ : nullptr; }

  /// Fills log-probs that the files do not have with those of the policy before the update: an
  /// expert's, those of rollouts that train behind another prompt than they were asked (is_moved),
  /// those of beginnings that were given and train (was_given), and the old ones of replayed groups where replay.old_policy is current. Also draws
  /// tokens in the place of an expert's, each at an address of step, prompt, draw and place.
  /// Collective over the update ranks, like all functions below that add columns.
  void add_missing_logprobs(StepBatch& batch);
  /// Adds columns of the whole step under the policy before the update, the reference, the teacher
  /// and the value head.
  void add_step_columns(StepBatch& batch);
  /// Adds what the policy before the update says where it is asked once more, for all rollouts of
  /// the step: log-probs behind other contexts (recontext.hpp), and after each reasoning step what
  /// it would answer: the columns of probes.hpp. Returns the means of the latter as metrics.
  std::map<std::string, double> add_asked_columns(StepBatch& batch, std::uint64_t step);
  /// Adds columns under the current policy for these groups. `stored`: the current policy sampled
  /// all of them, so that their stored columns are taken.
  void add_current_columns(StepBatch& batch, const std::vector<std::size_t>& groups, bool stored);
  bool wants_current() const {
    return wants(method::column::current_logprob) || wants(method::column::current_entropy);
  }
  /// Replaces the stored columns of `train`, which was made of these groups, by those of
  /// add_current_columns().
  void take_current(const StepBatch& batch, const std::vector<std::size_t>& groups,
                    TrainBatch& train) const;

  /// [groups] log-probs of the policy tokens of all rollouts, rollout by rollout, under the current
  /// policy.
  std::vector<std::vector<float>> logprobs_now(StepBatch& batch);

  /// The number of tokens in forward passes of all ranks since the last call, by the name of the
  /// pass: reference, teacher, ... (report/DIAGNOSES.md). A rank without a micro-batch does not
  /// know those of the policy's own pass; the leader, which reports, always has one.
  std::map<std::string, double> take_forward_tokens() { return std::exchange(forward_tokens_, {}); }
  /// Counts the tokens of a pass over all micro-batches.
  void note_forward(const std::string& pass, const TrainBatch& train);

  /// The reference, where the objective reads one; otherwise null.
  ReferenceModel* reference() { return reference_ ? &*reference_ : nullptr; }
  /// Adds the value head to a share of a checkpoint, where the objective has one.
  void add_value_head(io::CheckpointShare& share) const;
  void restore_value_head(const io::StoredCheckpoint& checkpoint);

 private:
  using MicroBatchColumns = std::map<std::string, std::vector<float>>;
  using MicroBatchPass = std::function<MicroBatchColumns(model::MicroBatchRunner& runner,
                                                         const model::MicroBatch& micro_batch)>;
  /// Adds the columns that `pass` returns for each micro-batch to these groups. `names`: the
  /// forward passes that it makes, for take_forward_tokens().
  void fill(StepBatch& batch, const std::vector<std::size_t>& groups,
            const std::vector<std::string>& names, const MicroBatchPass& pass);
  void add_gradient_cosines(StepBatch& batch);
  /// Draws tokens of the policy in the place of experts'. Fills Turn::missed and miss_logprob of
  /// `answers`, and the column of hits of `batch`. `experts`: the answers with their prompts, each
  /// in a group of its own.
  void add_draws(StepBatch& batch, const StepBatch& experts, const std::vector<Turn*>& answers);
  /// [micro-batches] the columns that `pass(runner, i)` returned, on every rank. Each rank runs its
  /// own micro-batches.
  std::vector<MicroBatchColumns> over_micro_batches(
      std::size_t micro_batches,
      const std::function<MicroBatchColumns(model::MicroBatchRunner& runner,
                                            std::size_t micro_batch)>& pass);

  RunContext* context_;
  comm::Communicator* ranks_;
  /// Settings of the draws in the place of experts' tokens: the name of the column of hits, how
  /// many draws each place has, and a factor on the temperature of sampling.
  struct Draws {
    std::string column;
    std::int64_t count = 0;
    double temperature = 1.0;
  };
  std::set<std::string> wanted_;
  std::optional<Draws> draws_;
  std::optional<ReferenceModel> reference_;
  std::optional<model::PolicyModel> teacher_;
  std::optional<model::ValueHead> value_head_;
  std::map<std::string, double> forward_tokens_;
};

}  // namespace rollcall::run
