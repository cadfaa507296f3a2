// Verdicts on shards: by rules on the threads of the rank, by code in the sandbox, or by the command's processes.
#include "stages/scoring.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "reward/undecided_cause.hpp"
#include "stages/generation.hpp"
#include "stages/question_forms.hpp"
#include "stages/self_judging.hpp"
#include "stages/step_batch.hpp"
#include "stages/step_wire.hpp"
#include "stages/undecided.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rollcall::stages {

namespace {

constexpr std::size_t kNamed = 5;  // of the slowest verdicts: a line in `rollcall status`

bool is_slower(const SlowVerdict& one, const SlowVerdict& other) { return std::tie(one.seconds, other.sample) > std::tie(other.seconds, one.sample); }

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
  all.judged += more.judged, all.judged_known += more.judged_known, all.judged_undecided += more.judged_undecided;
  all.judging_s = std::max(all.judging_s, more.judging_s);
  all.repeated += more.repeated, all.undecided += more.undecided, all.ended += more.ended;
  add(all.slowest, more.slowest);
  for (const auto& [cause, count] : more.causes) all.causes[cause] += count;
  if (all.reason.empty()) all.reason = more.reason;
}

Undecided undecided_of(const RunConfig& config) { return config.reward.undecided == "drop" ? Undecided::drop : Undecided::wrong; }

StepReport report(const RolloutShard& shard, const ScoredShard& scores, Undecided undecided) {
  StepReport report{shard.purpose, shard.step, shard.round, shard.producer, {}};
  const bool trains = is_trained_on(shard.purpose);
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    GroupReport group{.id = shard.groups[g].id, .level = shard.groups[g].level};
    for (std::size_t i = 0; i < shard.groups[g].rollouts.size(); ++i) {
      const Score& score = scores.scores[g][i];
      if (trains && leaves_the_step(score, undecided == Undecided::drop)) {
        ++group.dropped;
        continue;
      }
      group.rewards.push_back(trains && score.undecided ? kUnsettled : score.reward);
      group.correct.push_back(score.correct ? 1 : 0);
      group.lengths.push_back(std::int32_t(policy_tokens(shard.groups[g].rollouts[i])));
      if (shard.purpose != Purpose::train) group.answers.push_back(score.answer);
    }
    report.groups.push_back(std::move(group));
  }
  return report;
}

Scoring::Scoring(Job& job, Mailbox& mail, reward::Spawner* spawner, KeptShards* kept) : job_(&job), mail_(&mail), kept_(kept), repeated_(job) {
  if (!job.config.judge.model.empty()) questions_.emplace(job, mail);
  if (job.judge->is_command()) {
    expect(spawner != nullptr, "a job with a command was given what starts it");
    command_.emplace(job, repeated_, *spawner, mail.rank());
  } else if (reward::runs_code(reward::find_verifier(job.judge->name()))) {
    code_.emplace(job, repeated_, job.config.sandbox.workers);
  }
}

void Scoring::on_shard(const ShardNotice& notice) {
  if (notice.cut) return score_shard(notice, {}, 0.0);
  const Stopwatch reading;
  io::await_published(job_->run_dir, notice.file);
  RolloutShard shard = io::read_shard(job_->run_dir, notice.file);
  score_shard(notice, std::move(shard), reading.seconds());
}

void Scoring::on_own_shard(const ShardNotice& notice, RolloutShard shard) { score_shard(notice, std::move(shard), 0.0); }

io::PublishedFile Scoring::store(const io::FileDraft& file, Purpose purpose) {
  if (!keeps(purpose)) return io::publish(job_->run_dir, file);
  kept_->writer().add(file);
  return {file.path};
}

void Scoring::tell_cut(const ShardNotice& notice) {
  ScoredNotice told;
  told.generation_s = notice.generation_s;
  mail_->send(0, Tag::scored, told);
}

void Scoring::score_shard(const ShardNotice& notice, RolloutShard shard, double read_s) {
  if (notice.cut) {
    shard.groups.clear();
    return publish({.notice = notice, .shard = std::move(shard), .scores = {}, .facts = {}});
  }
  if (command_) return command_->add(notice, std::move(shard), read_s);
  if (code_) return code_->add(notice, std::move(shard), read_s);
  OpenShard open(*job_, repeated_, notice, std::move(shard), read_s);
  job_->workers->run(std::int64_t(open.size()), [&](std::int64_t at, int) {  // pulled one by one
    const Stopwatch clock;
    Score score = open.judge(std::size_t(at));
    open.put(std::size_t(at), std::move(score), clock.seconds());
  });
  decided(std::move(open).close());
}

void Scoring::decided(JudgedShard judged) {
  auto whole = questions_ ? questions_->ask(std::move(judged)) : std::move(judged);
  if (whole) publish(std::move(*whole));
}

void Scoring::on_judgement(const JudgeReply& reply) {
  expect(questions_.has_value(), "only a job with a judge has judgements");
  if (auto whole = questions_->take(reply)) publish(std::move(*whole));
}

void Scoring::progress() {
  while (is_judging()) {
    auto judged = command_ ? command_->take() : code_->take();
    if (!judged) return;
    decided(std::move(*judged));
  }
}

void Scoring::publish(JudgedShard judged) {
  for (const auto& group : judged.scores.scores)
    for (const Score& score : group) {
      if (score.clock_ended) ++judged.facts.ended;
      if (!score.undecided) continue;
      if (++judged.facts.undecided == 1) judged.facts.reason = score.reason;
      if (code_) ++judged.facts.causes[std::string(reward::undecided_cause(score.reason))];
    }
  const auto& notice = judged.notice;
  if (notice.aggregated == 1) return store(std::move(judged));
  expect(keeps(judged.shard.purpose) && notice.file.path.empty(), "a shard that is stored with others is kept for the update");
  if (const int aggregator = notice.aggregator; aggregator != mail_->rank()) {
    const Stopwatch handing;
    JudgedPart part = to_part(std::move(judged));
    part.notice.archive_s += handing.seconds();
    return mail_->send(aggregator, Tag::judged, part);
  }
  if (auto whole = aggregation_.add(std::move(judged))) store(std::move(*whole));
}

void Scoring::on_judged(JudgedPart part) {
  expect(part.notice.aggregator == mail_->rank(), "a part comes to its aggregator");
  const Stopwatch taking;
  JudgedShard judged = from_part(std::move(part));
  judged.read_s += taking.seconds();
  if (auto whole = aggregation_.add(std::move(judged))) store(std::move(*whole));
}

void Scoring::store(JudgedShard judged) {
  if (judged.notice.cut) return tell_cut(judged.notice);
  const Stopwatch writing;
  const auto& notice = judged.notice;
  const bool kept = keeps(judged.shard.purpose), stored = !notice.file.path.empty();
  const auto written = store(stored ? io::draft_scores(judged.scores, judged.shard, job_->identity)
                                    : io::draft_scored(judged.shard, stored_prompts(*job_, judged.shard, notice.judge_tasks), judged.scores, job_->identity),
                             judged.shard.purpose);
  std::string rollouts;
  if (job_->sends_rollouts && judged.shard.purpose == Purpose::train) {
    StepBatch part{.groups = std::move(judged.shard.groups), .scores = std::move(judged.scores.scores), .component_names = judged.scores.component_names};
    rollouts = to_wire(part);
    judged.shard.groups = std::move(part.groups), judged.scores.scores = std::move(part.scores);
  }
  const ScoredFile files{stored ? notice.file : written, written, kept ? mail_->rank() : -1};
  std::vector<Specimen> own;
  if (job_->config.self_judging.share > 0.0) own = specimens(std::uint64_t(job_->config.run.seed), judged.shard, judged.scores);
  if (kept && judged.facts.undecided + judged.facts.ended > 0)  // what a clock or a crash decided cannot be had again: stored before anybody hears of it
    kept_->writer().settle(mail_->world(), job_->config.run.deadline_s);
  mail_->send(0, Tag::scored,
              ScoredNotice{files, report(judged.shard, judged.scores, undecided_of(job_->config)), std::move(judged.facts), judged.scoring_s,
                           notice.archive_s + judged.read_s + writing.seconds(), notice.generation_s, std::move(own), std::move(rollouts)});
  if (kept) kept_->keep(files.shard.path, std::move(judged.shard), std::move(judged.scores));
}

}  // namespace rollcall::stages
