// The updates of a run as rank 0 sees them: it sends the plan of an update, waits for the report,
// starts the transfer of the new weights, and reacts to spikes and gradients that are not finite.
#pragma once

#include "io/shard_file.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/checkpoints.hpp"
#include "run/coordinator/inbox.hpp"
#include "run/coordinator/steps/step_in_flight.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/messages.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

class Updates {
 public:
  /// `transfer_ranks`: world ranks that enter the transfer of weights, ascending; empty when
  /// generation and update share their weights.
  Updates(const RunContext& context, Mailbox& mail, Inbox& inbox, CoordinatorState& state,
          Checkpoints& checkpoints, const StepInFlight& step, std::vector<int> transfer_ranks)
      : context_(&context),
        mail_(&mail),
        inbox_(&inbox),
        state_(&state),
        checkpoints_(&checkpoints),
        step_(&step),
        transfer_ranks_(std::move(transfer_ranks)) {}

  // supervise() and update() take a plan without its times and its limit of the gradient norm, and
  // fill these in. Both throw StepIsCut when a signal has cut the step.
  /// One supervised step.
  UpdateReport supervise(SupervisePlan plan);
  /// The update of a train step on `files`. What the step trained on, and what the ranks have
  /// stored by its end, goes into the state.
  UpdateReport update(UpdatePlan head, std::vector<ScoredFile> files,
                      std::vector<scheduling::GroupTraining> training);

  /// Starts the transfer of the new weights to the ranks that generate.
  void send_weights();
  /// Follows the gradient norm. After a spike or a gradient that is not finite the step is skipped,
  /// or the policy is rolled back, or NumericsError is thrown, as train.on_nonfinite says. `step`:
  /// its name in messages.
  void check(const UpdateReport& report, const std::string& step);

 private:
  double grad_norm_limit() const;
  void note_stored(std::uint64_t step, const std::vector<io::PublishedFile>& stored);

  const RunContext* context_;
  Mailbox* mail_;
  Inbox* inbox_;
  CoordinatorState* state_;
  Checkpoints* checkpoints_;
  const StepInFlight* step_;
  std::vector<int> transfer_ranks_;
};

}  // namespace rollcall::run
