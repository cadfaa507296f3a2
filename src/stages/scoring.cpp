// Verifiers over whole groups.
#include "stages/scoring.hpp"

#include "base/clock.hpp"

#include <memory>

namespace rollcall::stages {
namespace {

std::int32_t policy_tokens(const Rollout& rollout) {
  std::size_t count = 0;
  for (const auto& turn : rollout.turns) count += turn.role == Role::policy ? turn.tokens.size() : 0;
  return std::int32_t(count);
}

}  // namespace

ScoredShard score(const Job& job, const RolloutShard& shard) {
  ScoredShard scores{shard.purpose, shard.step, shard.round, shard.producer, job.judge->verifier().components, {}};
  scores.scores.resize(shard.groups.size());
  const auto& prompts = job.prompts.of(split_of(shard.purpose));
  job.workers->run(std::int64_t(shard.groups.size()), [&](std::int64_t g, int) {
    const Group& group = shard.groups[std::size_t(g)];
    std::vector<std::string> responses;
    const auto finished = std::make_unique<bool[]>(group.rollouts.size());
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      responses.push_back(group.rollouts[i].text);
      finished[i] = group.rollouts[i].finish == FinishReason::stop;
    }
    scores.scores[std::size_t(g)] =
        job.judge->score_group(prompts.at(group.id.prompt.value), responses, std::span<const bool>(finished.get(), group.rollouts.size()));
  });
  return scores;
}

StepReport report(const RolloutShard& shard, const ScoredShard& scores) {
  StepReport report{shard.purpose, shard.step, shard.round, shard.producer, {}};
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    GroupReport group{.id = shard.groups[g].id, .level = shard.groups[g].level};
    for (std::size_t i = 0; i < shard.groups[g].rollouts.size(); ++i) {
      const Score& score = scores.scores[g][i];
      group.rewards.push_back(score.reward);
      group.correct.push_back(score.correct ? 1 : 0);
      group.lengths.push_back(policy_tokens(shard.groups[g].rollouts[i]));
      if (shard.purpose != Purpose::train) group.answers.push_back(score.answer);
    }
    report.groups.push_back(std::move(group));
  }
  return report;
}

void Scoring::on_shard(const ShardNotice& notice) {
  const Stopwatch reading;
  io::await_published(job_->run_dir, notice.file);
  const RolloutShard shard = io::read_shard(job_->run_dir, notice.file);
  score_shard(notice, shard, reading.seconds());
}

void Scoring::score_shard(const ShardNotice& notice, const RolloutShard& shard, double read_s) {
  const Stopwatch scoring;
  const ScoredShard scores = score(*job_, shard);
  const double scoring_s = scoring.seconds();
  const Stopwatch writing;
  const auto file = io::write_scores(job_->run_dir, scores, shard, job_->identity);
  mail_->send(0, Tag::scored,
              ScoredNotice{{notice.file, file}, report(shard, scores), notice.generation_s, scoring_s, notice.archive_s + read_s + writing.seconds()});
}

}  // namespace rollcall::stages
