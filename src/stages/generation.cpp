// Decoding in batches that fit a core's cache, spread over the worker threads.
#include "stages/generation.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "text/stop_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::stages {
namespace {

/// A piece of a group small enough for one batch.
struct Piece {
  std::size_t group;
  std::uint32_t first_sample, count;
};

/// Pieces dealt into batches of up to kBatchSequences, in order, and into as many as there are threads for.
std::vector<std::vector<Piece>> make_batches(const std::vector<GroupPlan>& groups, int threads) {
  std::int64_t sequences = 0;
  for (const auto& group : groups) sequences += group.count;
  const std::int64_t size = std::clamp<std::int64_t>((sequences + threads - 1) / threads, 1, kBatchSequences);
  std::vector<std::vector<Piece>> batches(1);
  std::int64_t filled = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::uint32_t done = 0; done < groups[g].count;) {
      if (filled == size) batches.emplace_back(), filled = 0;
      const auto count = std::uint32_t(std::min<std::int64_t>(groups[g].count - done, size - filled));
      batches.back().push_back({g, groups[g].first_sample + done, count});
      done += count, filled += count;
    }
  }
  return batches;
}

/// `beginning`: the guide's tokens before the policy's own; an environment turn, so nothing is trained on them.
Rollout to_rollout(const Job& job, model::DecodedSequence&& sequence, const std::vector<std::int32_t>& prompt, const std::vector<std::int32_t>& beginning,
                   std::uint32_t sample, PolicyVersion version) {
  Rollout rollout;
  rollout.sample = sample;
  rollout.finish = sequence.stopped ? FinishReason::stop : FinishReason::length;
  for (const float logprob : sequence.logprob) {
    require<NumericsError>(std::isfinite(logprob), "the policy yields log-probs that are not finite",
                           "its weights have diverged, and nothing sampled from it is usable", "lower the learning rate and resume from an earlier checkpoint");
  }
  std::vector<std::int32_t> answer = beginning;
  answer.insert(answer.end(), sequence.tokens.begin(), sequence.tokens.end());
  rollout.text = job.format->answer_text(answer);
  rollout.turns.push_back({Role::prompt, prompt, {}, {}, {}});
  if (!beginning.empty()) rollout.turns.push_back({Role::environment, beginning, {}, {}, {}});
  const std::vector<std::uint64_t> versions(sequence.tokens.size(), version.value);
  rollout.turns.push_back({Role::policy, std::move(sequence.tokens), std::move(sequence.logprob), std::move(sequence.entropy), versions});
  return rollout;
}

}  // namespace

std::uint64_t prompt_address(const StepPlan& plan, const GroupPlan& group) {
  return group.id.prompt.value | std::uint64_t(group.id.draw) << 40 | std::uint64_t(plan.purpose) << 60;
}

model::StopRules stop_rules(const text::PromptFormat& format, const std::vector<std::string>& stops) {
  return [&format, &stops]() -> model::StopRule {
    return [&format, texts = text::StopTexts(*format.tokenizer(), stops)](std::span<const std::int32_t> tokens) mutable {
      const auto& ends = format.end_tokens();
      return std::find(ends.begin(), ends.end(), tokens.back()) != ends.end() || texts.found(tokens);
    };
  };
}

RolloutShard generate(Job& job, const Guide& guide, const StepPlan& plan, int producer) {
  const model::Policy& policy = job.store->policy();
  require<ProtocolError>(plan.policy == policy.version(),
                         fmt::format("step {} was planned for policy version {}, but this rank holds {}", plan.step, plan.policy.value, policy.version().value),
                         "rollouts would silently be off-policy", "resume from the last checkpoint");
  RolloutShard shard{plan.purpose,
                     plan.step,
                     plan.round,
                     std::uint32_t(producer),
                     policy.version(),
                     float(plan.sampling.temperature == 0.0 ? 1.0 : plan.sampling.temperature),
                     {}};
  const auto& prompts = job.prompts.of(plan.split);
  std::vector<std::vector<std::int32_t>> tokens;
  for (const auto& group : plan.groups) {
    shard.groups.push_back({group.id, group.level, std::vector<Rollout>(group.count), group.count, group.bin, prompt_address(plan, group)});
    tokens.push_back(prompt_tokens(job, prompts.at(group.id.prompt.value)));
  }
  const auto beginnings = guide.prefixes(job, plan);
  const auto batches = make_batches(plan.groups, job.workers->threads());
  const auto stops = [&, rules = stop_rules(*job.format, plan.sampling.stop)]() -> model::StopRule {
    return [&, ends = rules()](std::span<const std::int32_t> sampled) {
      job.workers->progressed();  // asked behind every token: a batch of long answers takes its time
      return ends(sampled);
    };
  };
  job.workers->run(
      std::int64_t(batches.size()),
      [&](std::int64_t b, int) {
        const auto& batch = batches[std::size_t(b)];
        std::vector<model::DecodeRequest> requests;
        for (const auto& piece : batch) {
          const auto& beginning = beginnings[piece.group];
          requests.push_back({tokens[piece.group], std::uint64_t(job.config.run.seed), plan.step, prompt_address(plan, plan.groups[piece.group]),
                              piece.first_sample, piece.count, std::int64_t(beginning.size())});
          requests.back().prompt.insert(requests.back().prompt.end(), beginning.begin(), beginning.end());
        }
        auto decoded = model::decode(policy, requests, plan.sampling, stops, job.memory.cache_bytes);
        for (std::size_t r = 0; r < batch.size(); ++r) {
          const auto& piece = batch[r];
          for (std::uint32_t i = 0; i < piece.count; ++i) {
            const std::uint32_t sample = piece.first_sample + i;
            shard.groups[piece.group].rollouts[sample - plan.groups[piece.group].first_sample] =
                to_rollout(job, std::move(decoded[r][i]), tokens[piece.group], beginnings[piece.group], sample, policy.version());
          }
        }
      },
      job.memory.decodes_at_once);
  return shard;
}

Generated Generation::on_plan(const StepPlan& plan) {
  const Stopwatch generating;
  RolloutShard shard = generate(*job_, guide_, plan, rank_);
  const double generation_s = generating.seconds();
  const Stopwatch writing;
  std::vector<io::ShardPrompt> prompts;
  for (const auto& group : plan.groups) {
    const Prompt& prompt = job_->prompts.of(plan.split).at(group.id.prompt.value);
    prompts.push_back({prompt.text, prompt.answer});
  }
  const auto file = io::write_shard(job_->run_dir, shard, prompts, job_->identity);
  // Shards are dealt to scoring ranks by producer: every shard has one scorer, known to both sides without a message.
  const auto& scorers = job_->layout.of(comm::Stage::scoring);
  const auto& generators = job_->layout.of(comm::Stage::generation);
  const auto index = std::size_t(std::find(generators.begin(), generators.end(), rank_) - generators.begin());
  return {std::move(shard), {file, generation_s, writing.seconds()}, scorers[index * scorers.size() / generators.size()]};
}

}  // namespace rollcall::stages
