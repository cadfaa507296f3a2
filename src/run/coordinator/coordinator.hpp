// Rank 0: decides what is done next, from the warm start to the last evaluation, and keeps the
// state that makes a stopped run go on.
#pragma once

#include "base/clock.hpp"
#include "io/checkpoint.hpp"
#include "report/diagnoses.hpp"
#include "report/metrics.hpp"
#include "report/progress.hpp"
#include "run/checkpoint/background_task.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/checkpoint/scheduler_files.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/results.hpp"
#include "run/messages/mailbox.hpp"
#include "run/step/heard_rewards.hpp"
#include "run/update/example_passes.hpp"
#include "run/workers/stop_request.hpp"
#include "scheduling/scheduler.hpp"
#include "watch/watcher.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>

namespace rollcall::run {

/// What a run goes on from; everything empty for a fresh start.
struct Resumed {
  CoordinatorState state;
  std::optional<io::StoredCheckpoint> checkpoint;
};

class Coordinator {
 public:
  /// Next message for the coordinator; the rank handles what is for its other stages on the way.
  /// The text names the wait.
  using NextMessage = std::function<comm::Envelope(const std::string& waiting_for)>;

  /// `generation_weights`: ranks that enter the weight transfer, empty when generation and update
  /// share their weights.
  Coordinator(RunContext& context, Mailbox& mail, NextMessage next, std::vector<int> transfer_ranks,
              Resumed resumed);

  /// Everything the run file asks for and that is not done yet; then result.json and report.html.
  /// done or requeue.
  ExitCode train();
  /// One evaluation of the weights at hand on the held-out prompts; nothing when it was asked to
  /// stop.
  std::optional<report::Evaluation> evaluate_only();

  const CoordinatorState& state() const { return state_; }

 private:
  /// What a round of plan -> shards -> scores returned, in canonical order.
  struct Round {
    std::vector<GroupReport> reports, greedy;
    std::vector<GroupReport> judge_tasks{};  ///< of them, those of judge tasks, which the scheduler
                                             ///< knows nothing of
    std::vector<Specimen> specimens{};       ///< for the judge tasks of the next step
    std::vector<ScoredFile> files;
    scheduling::Training training{};  ///< of a whole step
    VerdictFacts verdicts{};
    double generation_s = 0.0, scoring_s = 0.0, archive_s = 0.0;  ///< of the slowest rank
    double generation_mean_s = 0.0;                               ///< over the ranks that generated
    std::uint32_t slowest_rank = 0;  ///< of the generation, in the last round
    bool cut_short = false;          ///< by a signal: its answers are no answers
  };

  /// The step under way, and what it began with.
  struct Begun {
    std::int64_t sft_steps = 0, train_steps = 0;
    std::uint64_t rollouts_total = 0;
    std::int64_t metric_rows = 0;
    watch::WorkingTime clock{};
  };

  /// A checkpoint between its step's end and the moment it is durable.
  struct Saving {
    std::string name;
    io::CheckpointShare own;  ///< rank 0's
    std::size_t missing = 0;  ///< shares of update ranks that are not durable yet
    io::CheckpointFacts files;
    std::string policy_sha256;
    std::vector<UnpackedFile> covered;
    std::vector<std::string> keep;  ///< older checkpoints that stay whatever their age
    std::int64_t steps = 0;
    watch::WorkingTime clock;
  };

  bool warm_start();        ///< false: stopped
  bool train_steps();       ///< false: stopped
  double progress() const;  ///< share of the training that is done: of its steps or of its
                            ///< rollouts, whichever is more
  std::int64_t rollouts_up_to(std::int64_t steps) const;  ///< rollouts of so many train steps, all
                                                          ///< that are done or stored
  /// Steps that the run will have had at its end if the rest draw as many rollouts as those up to
  /// `step`: where learning rates end.
  double expected_steps(std::int64_t step) const;
  void supervised_step();
  void train_step();
  Round run_round(std::vector<StepPlan> plans);  ///< one round over all generation ranks
  /// One greedy answer for each prompt of the round that has none yet in this step; no groups when
  /// the objective does not ask.
  StepPlan greedy_plan(const StepPlan& round, std::set<PromptId>& answered) const;
  void ask_judge_tasks(StepPlan& plan) const;  ///< each as often as a prompt is on average
  Round run_rounds(std::uint64_t step, const scheduling::StepRequest& request,
                   double& scheduling_s);
  /// takes its files and what trains
  UpdateReport update(const scheduling::StepRequest& request, Round& round);
  void send_weights();
  /// the policy for spikes and non-finite gradients
  void check_update(const UpdateReport& report, const std::string& step);
  void compare_anew();  ///< where checkpoint.keep_best names another metric than before
  bool validate();      ///< true: the best so far
  using Outcomes = std::vector<report::PromptOutcome>;
  /// Whether it has the samples that pass@k of now takes, of the held-out prompts of now, as
  /// `prompts` says.
  bool is_current(const std::optional<Outcomes>& evaluation, const std::string& prompts) const;
  void look_at_evaluations();  ///< of earlier starts: says which cannot be compared any more
  void leave_out_old_evaluations();
  /// Evaluates on the held-out prompts in place of what `slot` holds, also in the archive. False:
  /// stopped, and nothing has changed.
  bool measure(std::optional<Outcomes>& slot, std::string& prompts);
  void replace_archived();  ///< archive files of evaluations that were made again
  /// Nothing when it was asked to stop between two rounds; what was sampled then counts as never
  /// drawn.
  std::optional<std::vector<report::PromptOutcome>> evaluate(Purpose purpose, std::int64_t samples);
  /// Begins a checkpoint of this moment; the ranks write it while the run goes on. One at a time:
  /// the one before is waited for.
  void begin_save(const std::string& name);  ///< after the one before, whose steps may then be
                                             ///< packed
  /// The same where only time makes it due: steps are rolled back to, and compared, where they were
  /// before.
  void save_meanwhile(const std::string& name);
  void start_save(const std::string& name);
  bool is_kept(std::int64_t step) const;  ///< checkpoint.keep_every names the step
  void keep_for_good(const std::string& name);
  void keep_earlier();  ///< those of earlier starts that checkpoint.keep_every names, whatever it
                        ///< is from here on
  double grad_norm_limit() const;    ///< beyond which an update is a spike; 0: none
  void on_saved(SaveReport report);  ///< a rank's share is durable; with the last one rank 0 writes
                                     ///< its own and ends the checkpoint
  void finish_save();    ///< waits for the checkpoint begun last, if it is not durable yet
  void notice_saved();   ///< the same without waiting; throws what the writing met
  void saved();          ///< the checkpoint begun last is durable
  void pack_when_due();  ///< what a durable checkpoint covers goes to the archive
  /// Takes note when the row has the best value so far of the metric that checkpoint.keep_best
  /// names.
  bool note_best(const report::MetricRow& row);
  void pack(std::vector<UnpackedFile> files);
  void forget_archived();  ///< drops from `unpacked` what the archive holds
  bool stop_wanted();
  std::string stop_reason();  ///< where something was cut
  /// Once it is known that no stop is wanted. Begins a checkpoint where the last one was long ago.
  void begin_step();
  ExitCode give_up_step();   ///< that was cut: what is saved of it is nothing
  bool stepped_ = false;     ///< since this start
  ExitCode stopped_early();  ///< within an evaluation, which a resume makes again
  void diagnose(const report::MetricRow& row);
  void write_status(const std::string& phase, bool force);
  std::string step_name() const;

  comm::Envelope await_envelope(Tag tag, const std::string& waiting_for);
  template <class T>
  T await(Tag tag, const std::string& waiting_for) {
    return from_bytes<T>(await_envelope(tag, waiting_for).bytes);
  }

  RunContext* context_;
  Mailbox* mail_;
  NextMessage next_;
  std::vector<int> transfer_ranks_;
  CoordinatorState state_;
  std::unique_ptr<scheduling::Scheduler> scheduler_;
  std::unique_ptr<const method::Objective> objective_;
  HeardRewards heard_;
  ExamplePasses passes_;  ///< of the warm start
  std::optional<report::MetricsSink> metrics_;
  StopRequest stop_;
  Begun begun_;
  watch::WorkingTime since_save_;
  std::optional<report::Progress> progress_;
  Stopwatch since_status_;
  std::vector<std::int64_t> archived_rollouts_;  ///< [archived steps], where train.rollouts counts
                                                 ///< what train.from_archive holds
  bool greedy_ = false;  ///< the objective compares with the reward of a greedy answer
  double saving_s_ = 0.0, packing_s_ = 0.0;  ///< what the run waited for checkpoints, and packed,
                                             ///< since the last metrics row
  std::string heldout_;                      ///< digest of the held-out prompts
  std::string checkpoint_;  ///< newest durable one: for rollback, and to take unchanged files from
  std::optional<Saving> saving_;                ///< the checkpoint on its way to the disk
  BackgroundTask<io::CheckpointFacts> ending_;  ///< rank 0's share of it, its manifest, and the
                                                ///< removal of old ones
  std::vector<UnpackedFile> covered_;  ///< by the durable checkpoint, and not yet packed ...
  std::int64_t covered_steps_ = 0;     ///< ... whose step this was
  SchedulerFiles scheduler_files_;
  std::optional<report::MetricRow> latest_row_;  ///< of the step just done
  report::RecentSteps recent_;
  report::DiagnosisLog diagnosis_log_;
  std::vector<report::Diagnosis> diagnoses_;  ///< that hold after the step just done
  VerdictTally tally_;                        ///< of this start
  std::string policy_sha256_;
  std::uint64_t missing_ = 0;  ///< rollouts of earlier starts that were gone at this one
};

/// The scheduler's policy for a job: the same on a fresh start and on resume.
std::unique_ptr<scheduling::Scheduler> make_scheduler(const RunContext& context);
/// The measure of diversity that a policy asks for; empty where it asks for none.
std::string diversity_of(const scheduling::Scheduler& policy);

}  // namespace rollcall::run
