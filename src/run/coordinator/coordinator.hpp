// The coordinator of rank 0. It takes a run from one action to the next, from the warm start to the
// last evaluation, and holds the state from which a stopped run continues.
#pragma once

#include "base/errors/error.hpp"
#include "io/checkpoint.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/checkpoints.hpp"
#include "run/coordinator/evaluations.hpp"
#include "run/coordinator/inbox.hpp"
#include "run/coordinator/next_action.hpp"
#include "run/coordinator/run_archive.hpp"
#include "run/coordinator/run_records.hpp"
#include "run/coordinator/steps/rounds.hpp"
#include "run/coordinator/steps/step_in_flight.hpp"
#include "run/coordinator/steps/steps.hpp"
#include "run/messages/mailbox.hpp"
#include "run/workers/stop_request.hpp"
#include "scheduling/scheduler.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// The state that a run continues from. Everything is empty for a fresh start.
struct Resumed {
  CoordinatorState state;
  std::optional<io::StoredCheckpoint> checkpoint;
};

/// Does one action after another, as next_action() says. Each member does a part of the work.
class Coordinator {
 public:
  using NextMessage = Inbox::NextMessage;

  /// `transfer_ranks`: as in Updates. Throws ConfigError when the scheduler needs something that
  /// the run does not provide, and StorageError.
  Coordinator(const RunContext& context, Mailbox& mail, NextMessage next,
              std::vector<int> transfer_ranks, Resumed resumed);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Does everything that the run file asks for and that is not done yet; then it writes
  /// result.json and report.html. Returns done, or requeue when the run was asked to stop.
  ExitCode train();
  /// Evaluates the current weights once on the held-out prompts. Returns nothing when the run was
  /// asked to stop.
  std::optional<report::Evaluation> evaluate_only() { return evaluations_.measure_only(); }

  const CoordinatorState& state() const { return state_; }

 private:
  /// The outcome of an action.
  struct Outcome {
    std::optional<ExitCode> ends{};  ///< exit code with which the run ends; nothing: it continues
    bool is_best = false;            ///< the action was a validation and had the best value so far
  };
  ExitCode run_actions();
  double progress() const;
  Situation situation() const;
  void show_bar(Action next);
  Outcome perform(Action action);

  void begin_step();
  void warm_step();
  void train_step();
  void begin_save(const std::string& name);
  void save_meanwhile(const std::string& name);
  ExitCode finish();

  bool stop_wanted();
  ExitCode stop_in_evaluation();
  ExitCode give_up_step();

  const RunContext* context_;
  CoordinatorState state_;
  std::unique_ptr<scheduling::Scheduler> scheduler_;
  RunRecords records_;
  StopRequest stop_;
  Inbox inbox_;
  StepInFlight step_;
  RunArchive archive_;
  Checkpoints checkpoints_;
  Rounds rounds_;
  Evaluations evaluations_;
  Steps steps_;
};

}  // namespace rollcall::run
