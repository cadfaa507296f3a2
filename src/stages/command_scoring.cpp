// Rollouts become samples with an id that names them; verdicts find their place by it.
#include "stages/command_scoring.hpp"

#include "base/log.hpp"
#include "base/uninterrupted.hpp"
#include "stages/question_forms.hpp"

#include <fmt/format.h>

namespace rollcall::stages {
namespace {

constexpr std::uintmax_t kMostErrors = 1U << 20U;  // bytes of a process's standard error that are kept

}  // namespace

void ErrorFiles::write(std::size_t process, std::string_view bytes) {
  const auto path = folder_ / fmt::format("rank-{:04}-process-{:02}.log", rank_, process);
  std::error_code absent;
  const auto [known, first] = bytes_.try_emplace(process, 0);
  if (first) {
    std::filesystem::create_directories(folder_, absent);
    if (const auto earlier = std::filesystem::file_size(path, absent); !absent) known->second = earlier;
  }
  if (known->second >= kMostErrors) return;
  bytes = bytes.substr(0, kMostErrors - known->second);
  known->second += bytes.size();
  Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file >= 0 && uninterrupted([&] { return ::write(file, bytes.data(), bytes.size()); }) == ssize_t(bytes.size())) return;
  spdlog::warn("cannot write {}: what the verifier wrote to standard error is lost", path.string());
  known->second = kMostErrors;
}

CommandScoring::CommandScoring(const Job& job, const RepeatedVerdicts& repeated, reward::Spawner& spawner, int rank)
    : job_(&job),
      repeated_(&repeated),
      errors_(job.run_dir / "verifier", rank),
      graders_(spawner, job.config.reward,
               {.errors = [this](std::size_t process, std::string_view bytes) { errors_.write(process, bytes); },
                .judged = [workers = job.workers.get()] { workers->progressed(); }}) {}

void CommandScoring::add(const ShardNotice& notice, RolloutShard shard, double read_s) {
  Open open{.judged = {notice, std::move(shard), {}, {}, read_s}, .asked = {}, .clock = {}};
  const RolloutShard& judged = open.judged.shard;
  ScoredShard& scores = open.judged.scores;
  scores = {judged.purpose, judged.step, judged.round, judged.producer, job_->judge->components(), {}};
  std::vector<reward::Sample> samples;
  for (std::size_t g = 0; g < judged.groups.size(); ++g) {
    const Group& group = judged.groups[g];
    const Prompt prompt = asked(*job_, judged.purpose, group.id);
    auto& of_group = scores.scores.emplace_back(group.rollouts.size());
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      const Rollout& rollout = group.rollouts[i];
      if (const Score* stored = repeated_->find(judged.purpose, group.id, rollout, prompt)) {
        of_group[i] = *stored;
        ++open.judged.facts.repeated;
        continue;
      }
      open.asked.emplace_back(g, i);
      samples.push_back({sample_id(judged.purpose, group.id, rollout.sample), prompt.text, rollout.text, prompt.answer});
    }
  }
  open_.emplace(graders_.add(std::move(samples)), std::move(open));
}

std::optional<JudgedShard> CommandScoring::take() {
  auto batch = graders_.take();
  if (!batch) return std::nullopt;
  auto open = open_.extract(batch->first);
  JudgedShard& judged = open.mapped().judged;
  VerdictFacts& facts = judged.facts;
  for (std::size_t s = 0; s < batch->second.size(); ++s) {
    const auto [g, i] = open.mapped().asked[s];
    const reward::Verdict& verdict = batch->second[s];
    const Rollout& rollout = judged.shard.groups[g].rollouts[i];
    judged.scores.scores[g][i] = job_->judge->score(verdict.reply, rollout.text, rollout.finish == FinishReason::stop);
    facts.ended += verdict.cause == reward::Cause::clock ? 1 : 0;
    note(facts, verdict.seconds, [&, g = g] { return sample_id(judged.shard.purpose, judged.shard.groups[g].id, rollout.sample); });
  }
  judged.scoring_s = open.mapped().clock.seconds();
  return std::move(judged);
}

}  // namespace rollcall::stages
