// Makes evaluations in rounds, and compares evaluations of earlier starts with the current
// settings.
#include "run/coordinator/evaluations.hpp"

#include "base/errors/log.hpp"
#include "base/process/stop_signals.hpp"
#include "base/time/clock.hpp"
#include "io/redrawn.hpp"
#include "run/context/run_context.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/purposes.hpp"
#include "run/workers/run_threads.hpp"
#include "run/workers/step_cut.hpp"
#include "sizing/lengths.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace rollcall::run {
namespace {

/// The largest number of tokens that a rollout can have after its prompt.
std::int64_t longest_answer(const RunContext& context) {
  return sizing::answer_tokens(context.config, context.models.policy.max_position_embeddings, 0);
}

/// The largest number of prompts in one round of an evaluation. The shards of a round are in memory
/// and must arrive within run.deadline_s, and a time limit ends an evaluation only between two
/// rounds. So a round is as large as a step of training, or larger if a rank can sample more within
/// minutes.
std::int64_t prompts_limit(const RunContext& context, std::int64_t samples) {
  constexpr std::int64_t kTokensPerRank = 1 << 18, kRolloutsPerRank = 16384;
  const auto ranks = std::int64_t(context.layout.of(comm::Stage::generation).size());
  const auto by_tokens =
      ranks * std::min(kTokensPerRank / longest_answer(context), kRolloutsPerRank);
  return std::max<std::int64_t>(1,
                                std::max(by_tokens, context.config.train.prompts_per_step *
                                                        context.config.train.rollouts_per_prompt) /
                                    samples);
}

/// Sizes of an evaluation's rounds, in prompts. A round takes some seconds, because progress is
/// shown, and a request to stop is obeyed, between two rounds. On devices a round is as large as it
/// may be, to fill them. No result depends on the sizes.
class EvaluationRounds {
 public:
  EvaluationRounds(const RunContext& context, std::int64_t samples)
      : limit_(prompts_limit(context, samples)) {
    // Tokens per rank in the first round, when the speed of the ranks is not known yet. A small
    // model takes a second or two for them.
    constexpr std::int64_t kFirstTokens = 8192;
    const auto ranks = std::int64_t(context.layout.of(comm::Stage::generation).size());
    const std::int64_t first =
        ranks * std::max<std::int64_t>(1, kFirstTokens / (longest_answer(context) * samples));
    next_ = context.store->on_device() ? limit_ : std::min(limit_, first);
  }
  /// Prompts of the next round.
  std::int64_t next() const { return next_; }
  /// Sets the size of the next round from the duration of this one.
  void took(std::int64_t prompts, double seconds) {
    constexpr double kRound_s = 8.0;
    if (prompts < next_) return;  // the last round is smaller and does not show the speed
    next_ = std::int64_t(
        std::clamp(double(prompts) * kRound_s / std::max(seconds, 1e-3), 1.0, double(limit_)));
    longest_s_ = std::max(longest_s_, seconds);
  }
  double longest_s() const { return longest_s_; }

 private:
  std::int64_t limit_, next_ = 1;
  double longest_s_ = 0.0;
};

/// The state of an evaluation as known to rank 0: the rollouts of finished rounds, and the rollouts
/// that its own threads have drawn in the current round. The numbers of other ranks arrive at the
/// end of the round. Another thread reads it to show progress.
class PendingSample {
 public:
  explicit PendingSample(std::shared_ptr<const DrawCounts> drawn)
      : drawn_(std::move(drawn)), first_tokens_(drawn_->tokens) {}
  /// `done`: rollouts of earlier rounds; `rollouts`: rollouts of the round that begins.
  void begin_round(std::int64_t done, std::int64_t rollouts) {
    const std::lock_guard lock(mutex_);
    done_ = done;
    limit_ = done + rollouts;
    drawn_before_ = drawn_->rollouts;
  }
  /// `share`: mean pass@1 of the prompts so far.
  void set_solved(double share) {
    const std::lock_guard lock(mutex_);
    solved_ = share;
  }
  report::Progress::Glimpse glimpse() const {
    const std::lock_guard lock(mutex_);
    const std::int64_t tokens = drawn_->tokens - first_tokens_;
    report::Progress::Glimpse seen{std::min(limit_, done_ + drawn_->rollouts - drawn_before_)};
    if (solved_) seen.numbers.emplace_back("pass@1", *solved_);
    if (tokens > 0) seen.numbers.emplace_back("tokens", double(tokens));
    return seen;
  }

 private:
  std::shared_ptr<const DrawCounts> drawn_;
  std::int64_t first_tokens_;  ///< drawn_->tokens when the evaluation began
  mutable std::mutex mutex_;   ///< guards the members below
  std::int64_t done_ = 0, limit_ = 0, drawn_before_ = 0;
  std::optional<double> solved_;
};

/// The most frequent reasons of reward.command. `wrong`: VerdictFacts::wrong.
std::string reasons_of_command(const std::map<std::string, std::uint64_t>& wrong) {
  constexpr std::size_t kShown = 3;
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  for (const auto& [reason, count] : wrong)
    if (!reason.empty()) reasons.emplace_back(count, reason);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i)
    text += fmt::format("{}\"{}\" ({})", i == 0 ? "" : ", ", excerpt(reasons[i].second),
                        reasons[i].first);
  return text.empty() ? "gives no \"reason\"" : "gives the reasons " + text;
}

/// Warns where no answer is right, with what was found in one of them: the model may be weak, or
/// its answers may be read or graded otherwise than they are meant. `wrong`: VerdictFacts::wrong.
void tell_none_right(const RunContext& context, const std::vector<Prompt>& prompts,
                     const std::vector<report::PromptOutcome>& outcomes,
                     const std::map<std::string, std::uint64_t>& wrong) {
  std::size_t all = 0, found = 0;
  std::string example;
  for (std::size_t p = 0; p < outcomes.size(); ++p) {
    const auto& [level, correct, answers] = outcomes[p];
    if (std::count(correct.begin(), correct.end(), 1) > 0) return;
    all += correct.size();
    for (const std::string& answer : answers) {
      if (answer.empty() || found++ > 0) continue;
      example =
          fmt::format(", for example \"{}\" where \"{}\" is right (prompt \"{}\")", excerpt(answer),
                      excerpt(text::first_accepted(prompts[p].answer)), excerpt(prompts[p].text));
    }
  }
  if (all == 0) return;
  if (context.grading.grader->is_command()) {
    log_warning("none of the {} answers is right: reward.command {}{}", all,
                reasons_of_command(wrong), example);
    return;
  }
  const std::string rule = context.grading.grader->extraction();
  log_warning("none of the {} answers is right: {} of them hold a final answer{}{}", all,
              found == 0 ? "none" : std::to_string(found),
              rule.empty() ? "" : fmt::format(" by the rule {} (task.extract)", rule), example);
}

}  // namespace

Evaluations::Evaluations(const RunContext& context, CoordinatorState& state, Rounds& rounds,
                         RunArchive& archive, RunRecords& records, StopRequest& stop)
    : context_(&context),
      state_(&state),
      rounds_(&rounds),
      archive_(&archive),
      records_(&records),
      stop_(&stop),
      heldout_(heldout_digest(context.texts.prompts.heldout)) {}

/// Makes one evaluation, in rounds. Returns nothing when the run was asked to stop between two
/// rounds; rollouts that were sampled until then count as never drawn.
std::optional<Evaluations::Outcomes> Evaluations::evaluate(Purpose purpose, std::int64_t samples) {
  const Stopwatch clock;
  const auto unpacked = state_->unpacked;
  const auto drawn = state_->rollouts_total;
  const auto& prompts = context_->texts.prompts.of(split_of(purpose));
  EvaluationRounds sizes(*context_, samples);
  Outcomes outcomes;
  // Validations belong to their step and are short: the step's bar stays, and a stop waits.
  const bool is_shown = purpose == Purpose::eval;
  const auto pending = std::make_shared<PendingSample>(context_->threads.drawn);
  if (is_shown)
    records_->begin_bar("eval", 0, std::int64_t(prompts.size()) * samples,
                        {.unit = "rollout", .glimpse = [pending] { return pending->glimpse(); }});
  double solved = 0.0;
  VerdictFacts verdicts;
  for (std::uint32_t number = 0; outcomes.size() < prompts.size(); ++number) {
    const Stopwatch clock_of_round;
    StepPlan plan{purpose,
                  split_of(purpose),
                  std::uint64_t(state_->train_steps),
                  number,
                  PolicyVersion{state_->policy_version},
                  context_->config.sampling,
                  {}};
    const std::size_t first = outcomes.size(),
                      last = std::min(prompts.size(), first + std::size_t(sizes.next()));
    for (std::size_t p = first; p < last; ++p)
      plan.groups.push_back(
          {{plan.step, prompts[p].id, 0}, prompts[p].level, 0, std::uint32_t(samples)});
    pending->begin_round(std::int64_t(first) * samples, std::int64_t(last - first) * samples);
    Round round;
    if (is_shown && stop_->reason(sizes.longest_s())) round.cut_short = true;
    else round = rounds_->run({plan}, nullptr);
    if (round.cut_short) {
      stop_->reason_of_cut();
      records_->end_bar();
      state_->unpacked = unpacked;
      state_->rollouts_total = drawn;
      return std::nullopt;
    }
    add(verdicts, round.verdicts);
    for (auto& report : round.reports) {
      solved +=
          double(std::count(report.correct.begin(), report.correct.end(), 1)) / double(samples);
      outcomes.push_back({report.level, std::move(report.correct), std::move(report.answers)});
    }
    sizes.took(std::int64_t(last - first), clock_of_round.seconds());
    pending->set_solved(solved / double(outcomes.size()));
    if (is_shown)
      records_->move_bar(std::int64_t(outcomes.size()) * samples, pending->glimpse().numbers);
  }
  if (is_shown) records_->end_bar();
  archive_->drew(purpose);
  if (is_shown) tell_none_right(*context_, prompts, outcomes, verdicts.wrong);
  state_->seconds["eval"] += clock.seconds();
  return outcomes;
}

report::MetricRow Evaluations::validate() {
  const auto& config = context_->config.eval;
  const auto outcomes = evaluate(Purpose::validation, config.validation_samples);
  // A resume would not repeat the validation of a finished step, so the step is cut as well.
  if (!outcomes) throw StepIsCut{};
  const auto result = report::evaluate(*outcomes, config.pass_k, config.bootstrap,
                                       std::uint64_t(context_->config.run.seed));
  report::MetricRow row{"validation",
                        std::uint64_t(state_->train_steps),
                        {{"validation/pass_at_1", result.pass_at_1.mean},
                         {fmt::format("validation/pass_at_{}", result.k), result.pass_at_k.mean}}};
  records_->write(row);
  return row;
}

std::optional<report::Evaluation> Evaluations::measure_only() {
  const auto& config = context_->config.eval;
  state_->after = evaluate(Purpose::eval, config.samples);
  if (!state_->after) {
    log_info("stopping on {}: the evaluation is not kept", *stop_->reason());
    return std::nullopt;
  }
  end_on_stop_signals("the evaluation is not kept; the same command repeats it",
                      Ends::on_last_call);
  archive_->pack(state_->unpacked);
  auto evaluation = report::evaluate(*state_->after, config.pass_k, config.bootstrap,
                                     std::uint64_t(context_->config.run.seed));
  if (context_->config.reward.command.empty())
    evaluation.extract = context_->grading.grader->extraction();
  return evaluation;
}

/// Whether the evaluation used the current held-out prompts and has enough samples for pass@k.
/// `prompts`: digest of the prompts of the evaluation.
bool Evaluations::is_current(const std::optional<Outcomes>& evaluation,
                             const std::string& prompts) const {
  if (!evaluation || !can_measure(*evaluation, context_->config.eval.pass_k)) return false;
  // An earlier build kept no digest.
  return prompts.empty() ? evaluation->size() == context_->texts.prompts.heldout.size()
                         : prompts == heldout_;
}

void Evaluations::look_at_earlier(double progress) {
  const auto& eval = context_->config.eval;
  const auto look = [&](const std::optional<Outcomes>& evaluation, const std::string& prompts,
                        const char* when, bool again) {
    if (!evaluation || is_current(evaluation, prompts)) return;
    log_warning(
        "the evaluation {} training {}: it is {}", when,
        can_measure(*evaluation, eval.pass_k)
            ? "is of other held-out prompts than those of now, so the two cannot be compared"
            : "has fewer samples than eval.pass_k asks for",
        again ? "made again" : "left out");
  };
  const bool trains_from_start = state_->train_steps == 0 && context_->config.train.steps > 0;
  look(state_->before, state_->before_prompts, "before", trains_from_start && eval.before);
  look(state_->after, state_->after_prompts, "after", progress >= 1.0 && eval.after);
  if (!trains_from_start && !has_before()) state_->before.reset();
}

void Evaluations::begin_training() {
  if (!state_->after) return;
  if (context_->config.eval.before && state_->train_steps == 0 && !state_->before) {
    state_->before = std::move(state_->after);
    state_->before_prompts = state_->after_prompts;
    state_->after.reset();
  }
}

void Evaluations::drop_old() {
  if (!has_before()) state_->before.reset();
  if (!has_after()) state_->after.reset();
}

/// Evaluates into `slot`, and the digest of the prompts into `prompts`; both lie in the state.
bool Evaluations::measure(std::optional<Outcomes>& slot, std::string& prompts) {
  std::uint64_t earlier = 0;  // rollouts of the evaluation that is replaced
  if (!slot) earlier = archive_->counted_before();
  const bool again = slot || earlier > 0;
  // The rollouts of the older evaluation go to the archive first, so that no new shard takes the
  // name of an old one.
  if (again) archive_->pack(state_->unpacked);
  if (slot)
    for (const auto& outcome : *slot) earlier += outcome.correct.size();
  auto outcomes = evaluate(Purpose::eval, context_->config.eval.samples);
  if (!outcomes) return false;
  if (again)
    for (auto& [step, file] :
         io::publish_neighbours(context_->run_dir, Purpose::eval,
                                std::uint64_t(state_->train_steps), context_->identity))
      state_->unpacked.push_back({Purpose::eval, step, {file, file}});
  std::sort(state_->unpacked.begin(), state_->unpacked.end(), by_step_and_path);
  state_->rollouts_total -= std::min(earlier, state_->rollouts_total);
  slot = std::move(outcomes);
  prompts = heldout_;
  return true;
}

}  // namespace rollcall::run
