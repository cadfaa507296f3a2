// Every rollout has its place, so that verdicts may arrive in any order.
#include "run/scoring/pending_shard.hpp"

#include "run/context/prompt_book.hpp"
#include "run/scoring/conversation_score.hpp"

namespace rollcall::run {
namespace {

/// The score of an answer that names the mistake of a different answer. No grader knows its
/// question, and no step trains on it.
Score unjudged(const reward::Grader& grader, const Rollout& rollout) {
  Score score = grader.score(reward::Reply{}, last_action(rollout), true);
  score.components.resize(grader.components().size(), 0.0);
  return score;
}

}  // namespace

PendingShard::PendingShard(const VerdictSources& sources, const ShardNotice& notice,
                           RolloutShard shard, double read_s)
    : grading_(sources.grading),
      judged_{.notice = notice,
              .shard = std::move(shard),
              .scores = {},
              .facts = {},
              .read_s = read_s} {
  const RolloutShard& s = judged_.shard;
  judged_.scores = {s.purpose, s.step, s.round, s.producer, grading_->grader->components(), {}};
  auto& names = judged_.scores.component_names;
  names.insert(names.end(), grading_->environment.begin(), grading_->environment.end());
  const PromptBook book(*sources.texts, notice.derived);
  for (std::size_t g = 0; g < s.groups.size(); ++g) {
    const Group& group = s.groups[g];
    prompts_.push_back(book.asked(s.purpose, group.id, group.from));
    extras_.push_back(grading_->grader->is_command() ? book.extra(s.purpose, group.id) : "");
    auto& scores = judged_.scores.scores.emplace_back(group.rollouts.size());
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      const Rollout& rollout = group.rollouts[i];
      const Score* stored = sources.repeated->find(s.purpose, group.id, rollout, prompts_[g]);
      if (group.from.kind == DerivedKind::error)
        scores[i] = conversation_score(*grading_->grader, rollout, grading_->environment.size(),
                                       unjudged(*grading_->grader, rollout));
      else if (is_settled(rollout))
        scores[i] =
            conversation_score(*grading_->grader, rollout, grading_->environment.size(), {}),
        ++judged_.facts.settled;
      else if (stored != nullptr) scores[i] = *stored, ++judged_.facts.repeated;
      else asked_.emplace_back(g, i);
    }
  }
  seconds_.resize(asked_.size());
}

std::string PendingShard::sample(std::size_t index) const {
  return sample_id(judged_.shard.purpose, judged_.shard.groups[asked_[index].first].id,
                   rollout(index).sample);
}

Score PendingShard::judge(std::size_t index) const {
  Score score =
      grader_of(*grading_, prompt(index)).score(prompt(index), response(index), has_ended(index));
  // The verdict on a judge task contains only whether it is correct and well formed.
  score.components.resize(grading_->grader->components().size(), 0.0);
  return score;
}

void PendingShard::put(std::size_t index, Score score, double seconds) {
  judged_.scores.scores[asked_[index].first][asked_[index].second] = conversation_score(
      *grading_->grader, rollout(index), grading_->environment.size(), std::move(score));
  seconds_[index] = seconds;
}

GradedShard PendingShard::close() && {
  for (std::size_t index = 0; index < size(); ++index)
    note(judged_.facts, seconds_[index], [&] { return sample(index); });
  judged_.scoring_s = clock_.seconds();
  return std::move(judged_);
}

}  // namespace rollcall::run
