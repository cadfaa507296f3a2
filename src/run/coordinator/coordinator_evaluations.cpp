// Evaluations and validations as rounds over the generation ranks, and which of earlier starts
// still count.
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/stop_signals.hpp"
#include "io/redrawn.hpp"
#include "run/coordinator/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace rollcall::run {
namespace {

/// Most prompts of one round of an evaluation. Its shards lie in memory and must arrive within
/// run.deadline_s, and a time limit ends an evaluation only between two rounds: so it is as large
/// as a step of training, or as what a rank samples in minutes where that is more.
std::int64_t most_of_a_round(const RunContext& context, std::int64_t samples) {
  constexpr std::int64_t tokens_of_a_rank = 1 << 18, most_rollouts_of_a_rank = 16384;
  const auto ranks = std::int64_t(context.layout.of(comm::Stage::generation).size());
  const auto by_tokens = ranks * std::min(tokens_of_a_rank / context.config.sampling.max_new_tokens,
                                          most_rollouts_of_a_rank);
  return std::max<std::int64_t>(1,
                                std::max(by_tokens, context.config.train.prompts_per_step *
                                                        context.config.train.rollouts_per_prompt) /
                                    samples);
}

/// Prompts of an evaluation's rounds: as many as take some seconds, since progress is told, and a
/// stop obeyed, between two rounds. No result depends on it. Devices are filled instead.
class EvaluationRounds {
 public:
  EvaluationRounds(const RunContext& context, std::int64_t samples)
      : most_(most_of_a_round(context, samples)) {
    constexpr std::int64_t kFirstTokens = 8192;  // of a rank, while nobody knows how fast it is: a
                                                 // second or two of a small model
    const auto ranks = std::int64_t(context.layout.of(comm::Stage::generation).size());
    const std::int64_t first =
        ranks * std::max<std::int64_t>(
                    1, kFirstTokens / (context.config.sampling.max_new_tokens * samples));
    next_ = context.store->on_device() ? most_ : std::min(most_, first);
  }
  std::int64_t next() const { return next_; }
  void took(std::int64_t prompts, double seconds) {
    constexpr double kRound_s = 8.0;
    if (prompts < next_) return;  // the last one
    next_ = std::int64_t(
        std::clamp(double(prompts) * kRound_s / std::max(seconds, 1e-3), 1.0, double(most_)));
    longest_s_ = std::max(longest_s_, seconds);
  }
  double longest_s() const { return longest_s_; }

 private:
  std::int64_t most_, next_ = 1;
  double longest_s_ = 0.0;
};

/// What rank 0 can tell of an evaluation at any moment: the rollouts of its rounds so far, and what
/// its own threads have drawn of the one under way. Of other ranks it hears at the end of a round.
class PendingSample {
 public:
  explicit PendingSample(std::shared_ptr<const DrawCounts> drawn)
      : drawn_(std::move(drawn)), first_tokens_(drawn_->tokens) {}
  void begin_round(std::int64_t done, std::int64_t rollouts) {
    const std::lock_guard lock(mutex_);
    done_ = done, most_ = done + rollouts, before_ = drawn_->rollouts;
  }
  void solved(double share) {
    const std::lock_guard lock(mutex_);
    solved_ = share;
  }
  report::Progress::Glimpse glimpse() const {
    const std::lock_guard lock(mutex_);
    const std::int64_t tokens = drawn_->tokens - first_tokens_;
    report::Progress::Glimpse seen{std::min(most_, done_ + drawn_->rollouts - before_)};
    if (solved_) seen.numbers.emplace_back("pass@1", *solved_);
    if (tokens > 0) seen.numbers.emplace_back("tokens", double(tokens));
    return seen;
  }

 private:
  std::shared_ptr<const DrawCounts> drawn_;
  std::int64_t first_tokens_;
  mutable std::mutex mutex_;
  std::int64_t done_ = 0, most_ = 0, before_ = 0;
  std::optional<double> solved_;
};

}  // namespace

std::optional<Coordinator::Outcomes> Coordinator::evaluate(Purpose purpose, std::int64_t samples) {
  const Stopwatch clock;
  const auto unpacked = state_.unpacked;
  const auto drawn = state_.rollouts_total;
  const auto& prompts = context_->prompts.of(split_of(purpose));
  EvaluationRounds rounds(*context_, samples);
  Outcomes outcomes;
  const bool tells = purpose == Purpose::eval;  // validations belong to their step and are short
  const auto drawing = std::make_shared<PendingSample>(context_->drawn);
  if (tells)
    progress_.emplace("eval", 0, std::int64_t(prompts.size()) * samples,
                      report::Progress::Output{
                          .unit = "rollout", .glimpse = [drawing] { return drawing->glimpse(); }});
  double solved = 0.0;
  for (std::uint32_t number = 0; outcomes.size() < prompts.size(); ++number) {
    const Stopwatch clock_of_round;
    StepPlan plan{purpose,
                  split_of(purpose),
                  std::uint64_t(state_.train_steps),
                  number,
                  PolicyVersion{state_.policy_version},
                  context_->config.sampling,
                  {}};
    const std::size_t first = outcomes.size(),
                      last = std::min(prompts.size(), first + std::size_t(rounds.next()));
    for (std::size_t p = first; p < last; ++p)
      plan.groups.push_back(
          {{plan.step, prompts[p].id, 0}, prompts[p].level, 0, std::uint32_t(samples)});
    drawing->begin_round(std::int64_t(first) * samples, std::int64_t(last - first) * samples);
    Round round;
    if (tells && stop_.reason(rounds.longest_s())) round.cut_short = true;
    else round = run_round({plan});
    if (round.cut_short) {
      stop_reason();
      progress_.reset();
      state_.unpacked = unpacked, state_.rollouts_total = drawn;
      return std::nullopt;
    }
    for (auto& report : round.reports) {
      solved +=
          double(std::count(report.correct.begin(), report.correct.end(), 1)) / double(samples);
      outcomes.push_back({report.level, std::move(report.correct), std::move(report.answers)});
    }
    rounds.took(std::int64_t(last - first), clock_of_round.seconds());
    drawing->solved(solved / double(outcomes.size()));
    if (tells)
      progress_->update(std::int64_t(outcomes.size()) * samples, drawing->glimpse().numbers);
  }
  if (tells) progress_.reset();
  state_.seconds["eval"] += clock.seconds();
  return outcomes;
}

bool Coordinator::validate() {
  const auto& config = context_->config.eval;
  const auto outcomes = evaluate(Purpose::validation, config.validation_samples);
  if (!outcomes) throw StepIsCut{};  // whose validation a resume would not make
  const auto result = report::evaluate(*outcomes, config.pass_k, config.bootstrap,
                                       std::uint64_t(context_->config.run.seed));
  const report::MetricRow row{
      "validation",
      std::uint64_t(state_.train_steps),
      {{"validation/pass_at_1", result.pass_at_1.mean},
       {fmt::format("validation/pass_at_{}", result.k), result.pass_at_k.mean}}};
  metrics_->write(row);
  return note_best(row);
}

std::optional<report::Evaluation> Coordinator::evaluate_only() {
  const auto& config = context_->config.eval;
  state_.after = evaluate(Purpose::eval, config.samples);
  if (!state_.after) {
    log_info("stopping on {}: the evaluation is not kept", *stop_.reason());
    return std::nullopt;
  }
  end_on_stop_signals("the evaluation is not kept; the same command makes it anew",
                      Ends::on_last_call);
  pack(state_.unpacked);
  auto evaluation = report::evaluate(*state_.after, config.pass_k, config.bootstrap,
                                     std::uint64_t(context_->config.run.seed));
  if (context_->config.reward.command.empty()) evaluation.extract = context_->grader->extraction();
  return evaluation;
}

bool Coordinator::is_current(const std::optional<Outcomes>& evaluation,
                             const std::string& prompts) const {
  if (!evaluation || !can_measure(*evaluation, context_->config.eval.pass_k)) return false;
  // an earlier build kept no digest
  return prompts.empty() ? evaluation->size() == context_->prompts.heldout.size()
                         : prompts == heldout_;
}

void Coordinator::look_at_evaluations() {
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
  const bool begins = state_.train_steps == 0 && context_->config.train.steps > 0;
  look(state_.before, state_.before_prompts, "before", begins && eval.before);
  look(state_.after, state_.after_prompts, "after", progress() >= 1.0 && eval.after);
  if (!begins && !is_current(state_.before, state_.before_prompts)) state_.before.reset();
}

void Coordinator::leave_out_old_evaluations() {
  if (!is_current(state_.before, state_.before_prompts)) state_.before.reset();
  if (!is_current(state_.after, state_.after_prompts)) state_.after.reset();
}

bool Coordinator::measure(std::optional<Outcomes>& slot, std::string& prompts) {
  std::uint64_t earlier = 0;  // rollouts
  if (slot) {
    pack(state_.unpacked);  // so that what it drew is in the archive, and no round of now takes the
                            // name of a shard of it
    for (const auto& outcome : *slot) earlier += outcome.correct.size();
  }
  auto outcomes = evaluate(Purpose::eval, context_->config.eval.samples);
  if (!outcomes) return false;
  if (slot)
    for (auto& [step, file] :
         io::publish_neighbours(context_->run_dir, Purpose::eval, std::uint64_t(state_.train_steps),
                                context_->identity))
      state_.unpacked.push_back({Purpose::eval, step, {file, file}});
  std::sort(state_.unpacked.begin(), state_.unpacked.end(), by_step_and_path);
  state_.rollouts_total -= std::min(earlier, state_.rollouts_total);
  slot = std::move(outcomes), prompts = heldout_;
  return true;
}

void Coordinator::replace_archived() {
  std::vector<io::PackInput> shards;
  for (const auto& file : state_.unpacked) shards.push_back({file.files.shard, file.files.scores});
  if (const int files = io::give_way_to(shards, context_->run_dir); files > 0)
    log_info("set aside {} archive files of evaluations that were made again", files);
}

}  // namespace rollcall::run
