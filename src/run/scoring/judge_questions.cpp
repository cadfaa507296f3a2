// Decides which answers the judge is asked about and which rank is asked, and applies a judgement
// to a score.
#include "run/scoring/judge_questions.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/actions.hpp"
#include "run/messages/purposes.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace rollcall::run {
namespace {

constexpr std::size_t kPartBytes = std::size_t{4} << 20;  // a message with this many bytes of texts
                                                          // takes no more questions, because a
                                                          // shard may have more than a message can
                                                          // carry

}  // namespace

std::optional<GradedShard> JudgeQuestions::ask(GradedShard shard) {
  shard.scores.component_names.push_back(context_->config.judge.component);
  const auto& judges = context_->layout.of(comm::Stage::judge);
  const bool judges_itself = context_->layout.hosts_stage(mail_->rank(), comm::Stage::judge),
             only_correct = context_->config.judge.asked == "correct",
             in_pairs = compares(context_->config.judge);
  struct Part {
    int judge;
    JudgeRequest request{};
    std::vector<Place> places{};
    std::size_t bytes = 0;
  };
  const PromptBook book(context_->texts, shard.notice.derived);
  std::vector<Part> parts;
  std::map<int, std::size_t> latest;  // [judge rank] index in `parts` of its last message
  const auto post = [&](Question question, Place place) {
    std::uint64_t content = checksum64(question.response, checksum64(question.prompt));
    if (place.other) content = checksum64(question.other, content);
    const int judge = judges_itself ? mail_->rank() : judges[content % judges.size()];
    auto [last, first] = latest.try_emplace(judge, parts.size());
    if (first || parts[last->second].bytes >= kPartBytes)
      last->second = parts.size(), parts.push_back({judge});
    Part& part = parts[last->second];
    part.bytes += question.prompt.size() + question.response.size() + question.answer.size() +
                  question.other.size();
    part.request.questions.push_back(std::move(question));
    part.places.push_back(place);
    ++shard.facts.judged;
  };
  for (std::size_t g = 0; g < shard.shard.groups.size(); ++g) {
    const Group& group = shard.shard.groups[g];
    const Prompt prompt = book.asked(shard.shard.purpose, group.id, group.from);
    const bool trains = group.from.placement != Placement::trains_nowhere;
    std::vector<std::size_t> of_group;  // the rollouts that are asked about
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      Score& score = shard.scores.scores[g][i];
      score.components.push_back(0.0);
      if (!trains || score.undecided || (only_correct && !score.correct)) continue;
      of_group.push_back(i);
    }
    for (const std::size_t i : of_group) {
      const std::string response(last_action(group.rollouts[i]));
      if (!in_pairs) post({prompt.text, response, prompt.answer}, {g, i});
      else if (of_group.size() == 1) shard.scores.scores[g][i].components.back() = 0.5;
      for (const std::size_t j : of_group)
        if (in_pairs && j != i)
          post({prompt.text, response, prompt.answer, std::string(last_action(group.rollouts[j]))},
               {g, i, j});
    }
  }
  if (parts.empty()) return shard;
  const std::uint64_t number = next_++;
  for (Part& part : parts) {
    part.request.id = next_++;
    sent_[part.request.id] = {number, std::move(part.places)};
    mail_->send(part.judge, Tag::question, part.request);
  }
  open_.emplace(number, Open{std::move(shard), parts.size(), {}});
  return std::nullopt;
}

std::optional<GradedShard> JudgeQuestions::take(const JudgeReply& reply) {
  const auto sent = sent_.extract(reply.id);
  require<ProtocolError>(!sent.empty() && sent.mapped().places.size() == reply.judgements.size(),
                         "a judge answered what it was not asked",
                         "the binaries of two ranks differ",
                         "start every rank with the same binary");
  const auto open = open_.find(sent.mapped().shard);
  GradedShard& shard = open->second.shard;
  for (std::size_t i = 0; i < reply.judgements.size(); ++i) {
    const Place& place = sent.mapped().places[i];
    if (place.other)
      open->second.compared[place.group].add(place.rollout, *place.other, reply.judgements[i]);
    else set(shard, place.group, place.rollout, reply.judgements[i]);
  }
  shard.facts.judged_known += reply.known;
  if (--open->second.replies > 0) return std::nullopt;
  for (const auto& [group, compared] : open->second.compared)
    for (const auto& [rollout, rate] : compared.win_rates()) set(shard, group, rollout, rate);
  shard.facts.judging_s = open->second.clock.seconds();
  shard.scoring_s += shard.facts.judging_s;
  auto whole = open_.extract(open);
  return std::move(whole.mapped().shard);
}

/// Adds a judgement to a score. Without one, an answer that is trained on becomes undecided. An
/// answer of an evaluation keeps the verifier's verdict, because pass@k counts it.
void JudgeQuestions::set(GradedShard& shard, std::size_t group, std::size_t rollout,
                         const Judgement& judgement) const {
  Score& score = shard.scores.scores[group][rollout];
  if (!judgement.undecided) {
    score.components.back() = judgement.value;
    return;
  }
  ++shard.facts.judged_undecided;
  if (!is_trained_on(shard.shard.purpose)) return;
  const bool clock_ended = score.clock_ended;  // about the verifier; the judge does not change it
  score = context_->grading.grader->undecided(judgement.reason);
  score.clock_ended = clock_ended;
  score.components.push_back(0.0);
}

}  // namespace rollcall::run
