// Gives verdicts on shards: by rules on the threads of the rank, by code in the sandbox, or by the
// command's processes.
#include "run/scoring/scoring.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "reward/undecided_cause.hpp"
#include "run/context/derived/exhibits.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/generation.hpp"
#include "run/messages/purposes.hpp"
#include "run/step/step_batch.hpp"
#include "run/step/step_wire.hpp"
#include "run/step/undecided.hpp"
#include "run/workers/step_cut.hpp"
#include "scheduling/diversity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rollcall::run {

namespace {

constexpr std::size_t kNamed = 5;  // slowest verdicts that `rollcall status` names in a line

bool is_slower(const SlowVerdict& one, const SlowVerdict& other) {
  return std::tie(one.seconds, other.sample) > std::tie(other.seconds, one.sample);
}

}  // namespace

void note(VerdictFacts& facts, double seconds, const std::function<std::string()>& sample) {
  facts.seconds.push_back(float(seconds));
  if (facts.slowest.size() == kNamed && seconds <= facts.slowest.back().seconds) return;
  add(facts.slowest, {{sample(), seconds}});
}

void add(std::vector<SlowVerdict>& slowest, const std::vector<SlowVerdict>& more) {
  slowest.insert(slowest.end(), more.begin(), more.end());
  std::sort(slowest.begin(), slowest.end(), is_slower);
  if (slowest.size() > kNamed) slowest.resize(kNamed);
}

void add(VerdictFacts& all, const VerdictFacts& more) {
  all.seconds.insert(all.seconds.end(), more.seconds.begin(), more.seconds.end());
  all.judged += more.judged, all.judged_known += more.judged_known,
      all.judged_undecided += more.judged_undecided;
  all.judging_s = std::max(all.judging_s, more.judging_s);
  all.repeated += more.repeated, all.settled += more.settled;
  all.undecided += more.undecided, all.ended += more.ended;
  add(all.slowest, more.slowest);
  for (const auto& [cause, count] : more.causes) all.causes[cause] += count;
  for (const auto& [reason, count] : more.wrong) note_wrong(all.wrong, reason, count);
  if (all.reason.empty()) all.reason = more.reason;
  all.lost += more.lost;
  if (all.lost_reason.empty()) all.lost_reason = more.lost_reason;
}

void note_wrong(std::map<std::string, std::uint64_t>& wrong, const std::string& reason,
                std::uint64_t count) {
  constexpr std::size_t kReasons = 16;
  if (wrong.size() < kReasons || wrong.contains(reason)) wrong[reason] += count;
}

Undecided undecided_of(const RunConfig& config) {
  return config.reward.undecided == "drop" ? Undecided::drop : Undecided::wrong;
}

StepReport report(const RolloutShard& shard, const ScoredShard& scores, Undecided undecided,
                  const std::string& diversity) {
  StepReport report{shard.purpose, shard.step, shard.round, shard.producer, {}};
  const bool trains = is_trained_on(shard.purpose);
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    GroupReport group{
        .id = shard.groups[g].id, .level = shard.groups[g].level, .from = shard.groups[g].from};
    std::vector<std::vector<std::int32_t>> answers;
    for (std::size_t i = 0; i < shard.groups[g].rollouts.size(); ++i) {
      const Score& score = scores.scores[g][i];
      if (trains && leaves_the_step(score, undecided == Undecided::drop)) {
        ++group.dropped;
        continue;
      }
      group.rewards.push_back(trains && score.undecided ? kUnsettled : score.reward);
      group.correct.push_back(score.correct ? 1 : 0);
      group.lengths.push_back(std::int32_t(policy_tokens(shard.groups[g].rollouts[i])));
      if (!diversity.empty()) answers.push_back(policy_ids(shard.groups[g].rollouts[i]));
      if (shard.purpose != Purpose::train) group.answers.push_back(score.answer);
    }
    if (!diversity.empty() && shard.purpose == Purpose::train)
      group.diversity = scheduling::diversity(diversity, answers);
    report.groups.push_back(std::move(group));
  }
  return report;
}

ScoringStage::ScoringStage(RunContext& context, Mailbox& mail, reward::Spawner* spawner,
                           ShardCache* kept)
    : context_(&context),
      mail_(&mail),
      kept_(kept),
      repeated_(context.run_dir, *context.grading.grader, context.grading.environment.size()),
      sources_{&context.texts, &context.grading, &repeated_} {
  if (!context.config.judge.model.empty()) questions_.emplace(context, mail);
  if (context.grading.grader->is_command()) {
    expect(spawner != nullptr, "a job with a command was given what starts it");
    command_.emplace(sources_, context.config.reward, *context.threads.pool, *spawner,
                     ErrorFiles(context.run_dir / "verifier", mail.rank()));
  } else if (reward::runs_code(reward::find_verifier(context.grading.grader->name()))) {
    code_.emplace(sources_, *context.threads.pool, context.config.sandbox.workers);
  }
}

void ScoringStage::on_shard(const ShardNotice& notice) {
  if (notice.cut) return score_shard(notice, {}, 0.0);
  const Stopwatch reading;
  io::await_published(context_->run_dir, notice.file);
  RolloutShard shard = io::read_shard(context_->run_dir, notice.file);
  score_shard(notice, std::move(shard), reading.seconds());
}

void ScoringStage::on_own_shard(const ShardNotice& notice, RolloutShard shard) {
  score_shard(notice, std::move(shard), 0.0);
}

io::PublishedFile ScoringStage::store(const io::FileDraft& file, Purpose purpose) {
  if (!keeps(purpose)) return io::publish(context_->run_dir, file);
  kept_->writer().add(file);
  return {file.path};
}

void ScoringStage::tell_cut(const ShardNotice& notice) {
  ScoredNotice told;
  told.generation_s = notice.generation_s;
  mail_->send(0, Tag::scored, told);
}

void ScoringStage::score_shard(const ShardNotice& notice, RolloutShard shard, double read_s) {
  if (notice.cut || gave_up_) {
    shard.groups.clear();
    GradedShard cut{.notice = notice, .shard = std::move(shard), .scores = {}, .facts = {}};
    cut.notice.cut = true;
    return publish(std::move(cut));
  }
  evaluates_ = shard.purpose == Purpose::eval;
  if (command_) return command_->add(notice, std::move(shard), read_s);
  if (code_) return code_->add(notice, std::move(shard), read_s);
  PendingShard open(sources_, notice, std::move(shard), read_s);
  // Threads take one rollout at a time.
  context_->threads.pool->run(std::int64_t(open.size()), [&](std::int64_t index, int) {
    const Stopwatch clock;
    Score score = open.judge(std::size_t(index));
    open.put(std::size_t(index), std::move(score), clock.seconds());
  });
  decided(std::move(open).close());
}

void ScoringStage::decided(GradedShard judged) {
  auto whole = questions_ ? questions_->ask(std::move(judged)) : std::move(judged);
  if (whole) publish(std::move(*whole));
}

void ScoringStage::on_judgement(const JudgeReply& reply) {
  expect(questions_.has_value(), "only a job with a judge has judgements");
  if (auto whole = questions_->take(reply)) publish(std::move(*whole));
}

void ScoringStage::give_up() {
  gave_up_ = true;
  for (const ShardNotice& notice : command_ ? command_->give_up() : code_->give_up())
    score_shard(notice, {}, 0.0);
}

void ScoringStage::progress() {
  if (is_judging() && evaluates_ && context_->threads.cut->wanted()) give_up();
  while (is_judging()) {
    auto judged = command_ ? command_->take() : code_->take();
    if (!judged) return;
    decided(std::move(*judged));
  }
}

namespace {

/// Counts the conversations that environments lost, and names the first of them.
void note_lost(VerdictFacts& facts, const RolloutShard& shard, const ScoredShard& scores) {
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    const Group& group = shard.groups[g];
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      if (group.rollouts[i].finish != FinishReason::lost || ++facts.lost > 1) continue;
      facts.lost_reason =
          fmt::format("{}: {}", sample_id(shard.purpose, group.id, group.rollouts[i].sample),
                      scores.scores[g][i].reason);
    }
  }
}

}  // namespace

void ScoringStage::publish(GradedShard judged) {
  note_lost(judged.facts, judged.shard, judged.scores);
  const bool notes_wrong =
      context_->grading.grader->is_command() && judged.shard.purpose == Purpose::eval;
  for (const auto& group : judged.scores.scores)
    for (const Score& score : group) {
      if (notes_wrong && !score.correct && !score.undecided)
        note_wrong(judged.facts.wrong, score.reason);
      if (score.clock_ended) ++judged.facts.ended;
      if (!score.undecided) continue;
      if (++judged.facts.undecided == 1) judged.facts.reason = score.reason;
      if (code_) ++judged.facts.causes[std::string(reward::undecided_cause(score.reason))];
    }
  const auto& notice = judged.notice;
  if (notice.aggregated == 1) return store(std::move(judged));
  expect(keeps(judged.shard.purpose) && notice.file.path.empty(),
         "a shard that is stored with others is kept for the update");
  if (const int aggregator = notice.aggregator; aggregator != mail_->rank()) {
    const Stopwatch handing;
    GradedPart part = to_part(std::move(judged));
    part.notice.archive_s += handing.seconds();
    return mail_->send(aggregator, Tag::judged, part);
  }
  if (auto whole = aggregation_.add(std::move(judged))) store(std::move(*whole));
}

void ScoringStage::on_judged(GradedPart part) {
  expect(part.notice.aggregator == mail_->rank(), "a part comes to its aggregator");
  const Stopwatch taking;
  GradedShard judged = from_part(std::move(part));
  judged.read_s += taking.seconds();
  if (auto whole = aggregation_.add(std::move(judged))) store(std::move(*whole));
}

void ScoringStage::store(GradedShard judged) {
  if (judged.notice.cut) return tell_cut(judged.notice);
  const Stopwatch writing;
  const auto& notice = judged.notice;
  const bool kept = keeps(judged.shard.purpose), stored = !notice.file.path.empty();
  const auto written = store(
      stored ? io::draft_scores(judged.scores, judged.shard, context_->identity)
             : io::draft_scored(judged.shard,
                                PromptBook(context_->texts, notice.derived).stored(judged.shard),
                                judged.scores, context_->identity),
      judged.shard.purpose);
  std::string rollouts;
  if (context_->sends_rollouts && judged.shard.purpose == Purpose::train) {
    StepBatch part{.groups = std::move(judged.shard.groups),
                   .scores = std::move(judged.scores.scores),
                   .component_names = judged.scores.component_names};
    rollouts = to_wire(part);
    judged.shard.groups = std::move(part.groups), judged.scores.scores = std::move(part.scores);
  }
  const ScoredFile files{stored ? notice.file : written, written, kept ? mail_->rank() : -1};
  std::vector<Specimen> own;
  if (context_->config.self_judging.share > 0.0)
    own = specimens(std::uint64_t(context_->config.run.seed), judged.shard, judged.scores);
  add_exhibits(own, context_->config, judged.shard, judged.scores);
  // A verdict that a clock or a crash decided cannot be repeated, so it is stored before it is
  // reported.
  if (kept && judged.facts.undecided + judged.facts.ended > 0)
    kept_->writer().settle(mail_->world(), context_->config.run.deadline_s);
  mail_->send(
      0, Tag::scored,
      ScoredNotice{
          files,
          report(judged.shard, judged.scores, undecided_of(context_->config), context_->diversity),
          std::move(judged.facts), judged.scoring_s,
          notice.archive_s + judged.read_s + writing.seconds(), notice.generation_s, std::move(own),
          std::move(rollouts), notice.figures});
  if (kept) kept_->keep(files.shard.path, std::move(judged.shard), std::move(judged.scores));
}

}  // namespace rollcall::run
