// A round over the generation ranks: plans go out, and the notices of scored shards come back.
#pragma once

#include "core/plan.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/inbox.hpp"
#include "run/coordinator/run_records.hpp"
#include "run/coordinator/steps/step_in_flight.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/messages.hpp"
#include "run/step/heard_rewards.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// What came back from one round, or from all rounds of a step. Reports ascend by GroupId and files
/// by path, no matter in what order the notices arrived.
struct Round {
  std::vector<GroupReport> reports{};  ///< reports on groups that the scheduler has drawn
  std::vector<GroupReport> greedy{};   ///< reports on greedy answers
  std::vector<GroupReport> derived{};  ///< reports on derived groups that the scheduler does
                                       ///< not know (is_drawn)
  std::vector<Specimen> specimens{};   ///< answers to make prompts of, for a further round or
                                       ///< for the next step
  std::vector<ScoredFile> files{};
  std::map<std::string, double> second_pass{};  ///< metrics of a step's second pass
  scheduling::Training training{};              ///< how the groups of a whole step train
  VerdictFacts verdicts{};
  DriverFigures figures{};    ///< summed over the generation ranks
  double generation_s = 0.0;  ///< sampling on the slowest rank. For a whole step this and the next
                              ///< three are sums over its rounds.
  double generation_mean_s = 0.0;           ///< mean over the ranks that sampled
  double scoring_s = 0.0, archive_s = 0.0;  ///< on the slowest rank
  double scheduling_s = 0.0;                ///< decisions of rank 0 in a whole step
  std::uint32_t slowest_rank = 0;           ///< rank that sampled longest in the last round
  bool cut_short = false;  ///< a signal ended the sampling early; the round must not be used
};

class Rounds {
 public:
  Rounds(const RunContext& context, Mailbox& mail, Inbox& inbox, CoordinatorState& state,
         RunRecords& records, const StepInFlight& step)
      : context_(&context),
        mail_(&mail),
        inbox_(&inbox),
        state_(&state),
        records_(&records),
        step_(&step) {}

  /// Sends the plans, which are of one round, and waits for all their shards. The files and the
  /// number of rollouts go into the state. `heard`: takes the rollouts that scoring sends along, as
  /// they arrive; nullptr where no scheduler hears of the round.
  Round run(std::vector<StepPlan> plans, HeardRewards* heard);

 private:
  const RunContext* context_;
  Mailbox* mail_;
  Inbox* inbox_;
  CoordinatorState* state_;
  RunRecords* records_;
  const StepInFlight* step_;
};

}  // namespace rollcall::run
