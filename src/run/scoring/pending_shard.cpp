// Every rollout has one place: verdicts find it in whatever order they come.
#include "run/scoring/pending_shard.hpp"

#include "core/judge_task.hpp"
#include "run/context/question_forms.hpp"

namespace rollcall::run {

PendingShard::PendingShard(const RunContext& context, const RepeatedVerdicts& repeated,
                           const ShardNotice& notice, RolloutShard shard, double read_s)
    : context_(&context),
      judged_{.notice = notice,
              .shard = std::move(shard),
              .scores = {},
              .facts = {},
              .read_s = read_s} {
  const RolloutShard& s = judged_.shard;
  judged_.scores = {s.purpose, s.step, s.round, s.producer, context.grader->components(), {}};
  for (std::size_t g = 0; g < s.groups.size(); ++g) {
    const Group& group = s.groups[g];
    prompts_.push_back(asked(context, s.purpose, group.id, notice.judge_tasks));
    auto& scores = judged_.scores.scores.emplace_back(group.rollouts.size());
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      const Score* stored = repeated.find(s.purpose, group.id, group.rollouts[i], prompts_[g]);
      if (stored == nullptr) asked_.emplace_back(g, i);
      else scores[i] = *stored, ++judged_.facts.repeated;
    }
  }
  seconds_.resize(asked_.size());
}

std::string PendingShard::sample(std::size_t at) const {
  return sample_id(judged_.shard.purpose, judged_.shard.groups[asked_[at].first].id,
                   rollout(at).sample);
}

Score PendingShard::judge(std::size_t at) const {
  const auto& judge = asks_verdict(prompt(at).id) ? context_->verdict_grader : context_->grader;
  Score score =
      judge->score(prompt(at), rollout(at).text, rollout(at).finish == FinishReason::stop);
  // of a judge task's verdict only correctness and format are known
  score.components.resize(judged_.scores.component_names.size(), 0.0);
  return score;
}

void PendingShard::put(std::size_t at, Score score, double seconds) {
  judged_.scores.scores[asked_[at].first][asked_[at].second] = std::move(score);
  seconds_[at] = seconds;
}

GradedShard PendingShard::close() && {
  for (std::size_t at = 0; at < size(); ++at)
    note(judged_.facts, seconds_[at], [&] { return sample(at); });
  judged_.scoring_s = clock_.seconds();
  return std::move(judged_);
}

}  // namespace rollcall::run
