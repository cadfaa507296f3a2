// Between scheduler and update: what of the step trains and how strongly, and what each group's
// update was like.
#pragma once

#include "io/training_file.hpp"
#include "method/method.hpp"
#include "run/messages/messages.hpp"
#include "run/step/step_batch.hpp"
#include "scheduling/scheduler.hpp"

#include <map>
#include <vector>

namespace rollcall::run {

/// The batch's training as the scheduler has decided it of the step's own groups. Throws
/// ProtocolError for a keep longer than its group.
void decide(StepBatch& batch, const std::vector<scheduling::GroupTraining>& decided);
/// The same as it was stored of a group, [rollouts]; empty: all train, with weight 1.
scheduling::GroupTraining recorded(const GroupId& id,
                                   const std::vector<io::RolloutTraining>& rollouts);

/// Adds group_weight and trains to the columns of these groups of the batch; leaves them empty
/// where nothing departs from "all train, weight 1", so that a policy that asks for nothing changes
/// no bit.
void add_training(method::StepColumns& columns, const StepBatch& batch,
                  const std::vector<std::size_t>& groups);

/// Drift of each group before the update, loss and |advantage| in its first optimizer step, means
/// over its rollouts that have tokens.
class GroupSignals {
 public:
  /// `groups` of the batch as make_train_batch laid them out; `losses` in micro-batch order. Groups
  /// that are known already stay as they are.
  void add(const StepBatch& batch, const std::vector<std::size_t>& groups,
           const std::vector<double>& advantages,
           const std::vector<method::MicroBatchLoss>& losses);
  /// The same of those of the batch's groups that no optimizer step sees; `losses` may be empty,
  /// where nobody knows them.
  void add_left_out(const StepBatch& batch, const std::vector<double>& advantages,
                    const std::vector<method::MicroBatchLoss>& losses);
  /// [groups], or empty where nobody asks
  void note_drift(const StepBatch& batch, const std::vector<double>& drift);
  std::vector<GroupSignal> take();  ///< ascending GroupId

 private:
  std::map<GroupId, GroupSignal> signals_;
  std::map<GroupId, double> drift_;
};

/// Writes the signals into the reports of their groups; a group that no optimizer step saw keeps
/// its NaN.
void fill_reports(std::vector<GroupReport>& reports, const std::vector<GroupSignal>& signals);

}  // namespace rollcall::run
