// A rollout becomes a sample with an id, by which its verdict finds its place.
#include "run/scoring/command_scoring.hpp"

namespace rollcall::run {

CommandScoring::CommandScoring(const VerdictSources& sources, const RewardSection& section,
                               const WorkerPool& pool, reward::Spawner& spawner, ErrorFiles errors)
    : sources_(sources), errors_(std::move(errors)) {
  graders_.emplace(spawner, section,
                   reward::GraderListener{
                       .errors = [this](std::size_t process,
                                        std::string_view bytes) { errors_.write(process, bytes); },
                       .judged = [&pool] { pool.progressed(); }});
}

void CommandScoring::add(const ShardNotice& notice, RolloutShard shard, double read_s) {
  PendingShard open(sources_, notice, std::move(shard), read_s);
  std::vector<reward::Sample> samples;
  for (std::size_t index = 0; index < open.size(); ++index) {
    const Prompt& prompt = open.prompt(index);
    samples.push_back({open.sample(index), prompt.text, std::string(open.response(index)),
                       prompt.answer, open.extra(index)});
  }
  open_.emplace(graders_->add(std::move(samples)), std::move(open));
}

std::optional<GradedShard> CommandScoring::take() {
  auto batch = graders_->take();
  if (!batch) return std::nullopt;
  auto entry = open_.extract(batch->first);
  PendingShard& open = entry.mapped();
  for (std::size_t index = 0; index < batch->second.size(); ++index) {
    const reward::Verdict& verdict = batch->second[index];
    Score score =
        sources_.grading->grader->score(verdict.reply, open.response(index), open.has_ended(index));
    score.clock_ended = reward::has_ended_the_judging(verdict);
    open.put(index, std::move(score), verdict.seconds);
  }
  return std::move(open).close();
}

std::vector<ShardNotice> CommandScoring::give_up() {
  graders_.reset();
  std::vector<ShardNotice> notices;
  for (const auto& [batch, open] : open_) notices.push_back(open.notice());
  open_.clear();
  return notices;
}

}  // namespace rollcall::run
