// What scheduler and update tell each other about a step: which rollouts train and with what
// weight, and the figures of the update for each group.
#pragma once

#include "io/training_file.hpp"
#include "method/method.hpp"
#include "run/messages/messages.hpp"
#include "run/step/step_batch.hpp"
#include "scheduling/scheduler.hpp"

#include <map>
#include <vector>

namespace rollcall::run {

/// Sets the batch's training to what the scheduler decided for the step's own groups. Throws
/// ProtocolError for a `keep` that is longer than its group.
void decide(StepBatch& batch, const std::vector<scheduling::GroupTraining>& decided);
/// A group's training as the archive stored it for each of its rollouts; empty: all train, with
/// weight 1.
scheduling::GroupTraining recorded(const GroupId& id,
                                   const std::vector<io::RolloutTraining>& rollouts);

/// Adds group_weight and trains to the columns of these groups. They stay empty where all rollouts
/// train with weight 1, so that a scheduler that decides nothing does not change a bit.
void add_training(method::StepColumns& columns, const StepBatch& batch,
                  const std::vector<std::size_t>& groups);

/// Collects for each group its drift before the update, and loss and |advantage| in its first
/// optimizer step, as means over rollouts that have tokens.
class GroupSignals {
 public:
  /// Adds an optimizer step. `groups`: in the order of make_train_batch(); `losses`: in the order
  /// of micro-batches. Groups that have signals already keep them.
  void add(const StepBatch& batch, const std::vector<std::size_t>& groups,
           const std::vector<double>& advantages,
           const std::vector<method::MicroBatchLoss>& losses);
  /// Does what add() does for groups of the batch that are in no optimizer step. `losses` is empty
  /// where losses were not computed.
  void add_left_out(const StepBatch& batch, const std::vector<double>& advantages,
                    const std::vector<method::MicroBatchLoss>& losses);
  /// `drift`: [groups], or empty where it is not measured.
  void note_drift(const StepBatch& batch, const std::vector<double>& drift);
  std::vector<GroupSignal> take();  ///< ascending GroupId

 private:
  std::map<GroupId, GroupSignal> signals_;
  std::map<GroupId, double> drift_;
};

/// Writes the signals into the reports of their groups. A group without signals keeps its NaN.
void fill_reports(std::vector<GroupReport>& reports, const std::vector<GroupSignal>& signals);

}  // namespace rollcall::run
