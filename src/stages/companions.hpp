// The models beside the policy that an objective may ask columns of: a reference, a teacher, a value head; and the columns that need a forward pass.
#pragma once

#include "comm/communicator.hpp"
#include "io/checkpoint.hpp"
#include "method/method.hpp"
#include "model/value_head.hpp"
#include "stages/job.hpp"
#include "stages/step_batch.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::stages {

/// The model of a folder beside the policy, for the same kernels. Throws ConfigError naming `key` when its vocabulary is another than the policy's, InputError without a model in it.
model::Policy read_policy(const std::string& folder, const PolicyStore& store, const char* key);

/// Whether the objective asks for a column of a forward pass, which the files do not hold.
bool runs_passes(const method::Method& objective);

class Companions {
 public:
  /// Reads the teacher, and the reference where it is a folder. Throws ConfigError when the objective asks for what the run file does not provide,
  /// InputError for a model folder that does not fit.
  Companions(Job& job, const method::Method& objective, comm::Communicator& ranks);

  bool wants(const std::string& column) const { return wanted_.contains(column); }
  model::ValueHead* value_head() { return value_head_ ? &*value_head_ : nullptr; }

  /// What the objective takes for the log-probs that rollouts were sampled with, where the files do not say it: an expert's are those of the policy before the
  /// update, and so are the old ones of replayed groups if replay.old_policy is current. Collective, as all below.
  void add_missing_logprobs(StepBatch& batch);
  /// Columns under the policy before the update, the reference, the teacher and the value head, for the whole step. Collective over the update ranks.
  void add_step_columns(StepBatch& batch);
  /// What the policy would answer behind each reasoning step, for the whole step: columns of probes.hpp, and their means as metrics.
  std::map<std::string, double> add_probe_columns(StepBatch& batch, std::uint64_t step);
  /// Columns under the policy of this moment for these groups; `stored`: it is the one that sampled them all, so that their own columns are these.
  void add_current_columns(StepBatch& batch, const std::vector<std::size_t>& groups, bool stored);
  bool wants_current() const { return wants(method::column::current_logprob) || wants(method::column::current_entropy); }
  /// Puts them, which were asked for, in the place of what `train`, made of these groups, has stored.
  void take_current(const StepBatch& batch, const std::vector<std::size_t>& groups, TrainBatch& train) const;

  /// [groups] log-probs of all rollouts' policy tokens, one after the other, under the policy of this moment.
  std::vector<std::vector<float>> logprobs_now(StepBatch& batch);

  /// Tokens that forward passes ran since it was asked last, all ranks together, by the pass: reference, teacher, ... (report/DIAGNOSES.md). Of the policy's own
  /// pass ranks without a leaf know nothing; the leader, which reports, always has one.
  std::map<std::string, double> take_forward_tokens() { return std::exchange(forward_tokens_, {}); }
  void note_forward(const std::string& pass, const TrainBatch& train);  ///< a pass over all leaves

  bool takes_policy() const;                         ///< what begin_training() is about to do
  void begin_training();                             ///< the reference becomes the policy, unless it was read or restored
  bool changes_reference(std::uint64_t step) const;  ///< that after_step will write to it
  void after_step(std::uint64_t step);               ///< moving average or refresh
  std::shared_ptr<const model::AlignedFloats> reference() const { return reference_weights_; }  ///< layout order; none until training begins
  std::int64_t reference_revision() const { return reference_revision_; }  ///< grows with every change: an unchanged one needs no second copy on disk
  std::map<std::string, std::string> save() const;                         ///< the value head
  void restore(const io::StoredCheckpoint& checkpoint);

 private:
  using LeafColumns = std::map<std::string, std::vector<float>>;
  using LeafPass = std::function<LeafColumns(model::LeafRunner& runner, const model::Leaf& leaf)>;
  /// `names`: of the forward passes over every leaf that `pass` makes, for take_forward_tokens().
  void fill(StepBatch& batch, const std::vector<std::size_t>& groups, const std::vector<std::string>& names, const LeafPass& pass);
  void add_gradient_cosines(StepBatch& batch);
  /// What `pass(runner, i)` makes of each leaf, on every rank.
  std::vector<LeafColumns> over_leaves(std::size_t leaves, const std::function<LeafColumns(model::LeafRunner& runner, std::size_t leaf)>& pass);
  void set_reference(model::AlignedFloats weights);

  Job* job_;
  comm::Communicator* ranks_;
  std::set<std::string> wanted_;
  std::shared_ptr<model::AlignedFloats> reference_weights_;  ///< none until training begins
  std::int64_t reference_revision_ = 0;
  std::optional<model::Policy> reference_, teacher_;
  std::optional<model::ValueHead> value_head_;
  std::map<std::string, double> forward_tokens_;
};

}  // namespace rollcall::stages
