// Decodes the answers of a plan on the worker threads.
#include "run/generation/generation.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/actions.hpp"
#include "text/tokenizer/stop_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::run {
namespace {

/// What was given before the tokens of the policy becomes a turn of Role::environment, so it is not
/// trained on.
Rollout to_rollout(const text::PromptFormat& format, model::DecodedSequence&& sequence,
                   const std::vector<std::int32_t>& prompt, const Opening& opening,
                   std::uint32_t sample) {
  Rollout rollout;
  rollout.sample = sample;
  rollout.opening = opening.number;
  rollout.finish = sequence.stopped ? FinishReason::stop : FinishReason::length;
  for (const float logprob : sequence.columns.logprob) {
    require<NumericsError>(std::isfinite(logprob),
                           "the policy yields log-probs that are not finite",
                           "its weights have diverged, and nothing sampled from it is usable",
                           "lower the learning rate and resume from an earlier checkpoint");
  }
  rollout.turns.push_back({Role::prompt, prompt});
  if (!opening.given.empty()) rollout.turns.push_back({Role::environment, opening.given});
  rollout.turns.push_back({Role::policy, std::move(sequence.tokens), std::move(sequence.columns),
                           std::move(sequence.versions), std::move(sequence.kept_mass),
                           std::move(sequence.kept)});
  rollout.text = rollout_text(format, rollout);
  return rollout;
}

/// Successive samples of a group that begin alike. They are decoded as one request.
struct Stretch {
  std::size_t group = 0;
  std::uint32_t before = 0;  ///< samples of the group in earlier stretches
  std::uint32_t first_sample = 0, count = 0;
};

/// `openings`: of the group; empty where all rollouts begin as its prompt ends.
const Opening& opening_of(const std::vector<Opening>& openings, std::uint32_t index) {
  static const Opening none;
  return openings.empty() ? none : openings.at(index);
}

std::vector<Stretch> stretches_of(const GroupPlan& plan, std::size_t group,
                                  const std::vector<Opening>& openings) {
  std::vector<Stretch> all;
  for (std::uint32_t i = 0; i < plan.count; ++i) {
    const std::uint32_t sample = plan.samples.empty() ? plan.first_sample + i : plan.samples[i];
    const bool follows =
        !all.empty() && sample == all.back().first_sample + all.back().count &&
        opening_of(openings, i).given == opening_of(openings, all.back().before).given;
    if (!follows) all.push_back({group, i, sample, 0});
    ++all.back().count;
  }
  return all;
}

}  // namespace

std::uint64_t prompt_address(const StepPlan& plan, const GroupPlan& group) {
  const auto draw =
      group.stream_draw >= 0 ? std::uint64_t(group.stream_draw) : std::uint64_t(group.id.draw);
  return group.id.prompt.value | draw << 40 | std::uint64_t(plan.purpose) << 60;
}

model::StopRules stop_rules(const text::PromptFormat& format,
                            const std::vector<std::string>& stops) {
  return [&format, &stops]() -> model::StopRule {
    return [&format, texts = text::StopTexts(*format.tokenizer(), stops)](
               std::span<const std::int32_t> tokens) mutable {
      const auto& ends = format.files().end_tokens;
      return std::find(ends.begin(), ends.end(), tokens.back()) != ends.end() ||
             texts.found(tokens);
    };
  };
}

model::DecodeOptions decode_options(const RunContext& context) {
  return {.threads = context.memory.decoding_threads > 0 ? context.memory.decoding_threads
                                                         : context.threads.pool->threads(),
          .cache_bytes = context.config.run.numerics == kernels::kCudaBf16Sliced8
                             ? model::kAllOfADevice
                             : context.memory.cache_bytes,
          .side_by_side = context.threads.pool->side_by_side()};
}

model::DecodeOptions step_decode_options(const RunContext& context) {
  auto options = decode_options(context);
  options.given_up = [cut = context.threads.cut] { return cut->wanted(); };
  return options;
}

RolloutShard generate(RunContext& context, Openings& openings, const StepPlan& plan, int producer,
                      const model::PolicyModel* other) {
  const model::PolicyModel& policy = other != nullptr ? *other : context.store->policy();
  require<ProtocolError>(
      plan.policy == policy.version(),
      fmt::format("step {} was planned for policy version {}, but this rank holds {}", plan.step,
                  plan.policy.value, policy.version().value),
      "rollouts would silently be off-policy", "resume from the last checkpoint");
  RolloutShard shard{plan.purpose,
                     plan.step,
                     plan.round,
                     std::uint32_t(producer),
                     policy.version(),
                     float(plan.sampling.temperature == 0.0 ? 1.0 : plan.sampling.temperature),
                     {}};
  const PromptBook book(context.texts, plan.derived);
  std::vector<std::vector<std::int32_t>> tokens;
  const auto begun = openings.of(plan, book);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const GroupPlan& group = plan.groups[g];
    shard.groups.push_back({group.id, group.level, std::vector<Rollout>(group.count), group.count,
                            group.bin, prompt_address(plan, group), group.from, group.start});
    tokens.push_back(book.tokens(plan.purpose, group.id, group.from));
  }
  const auto stops =
      [&, rules = stop_rules(*context.texts.format, plan.sampling.stop)]() -> model::StopRule {
    return [&, ends = rules()](std::span<const std::int32_t> sampled) {
      // After every token, since a batch of long answers takes long.
      context.threads.pool->progressed();
      context.threads.drawn->tokens.fetch_add(1, std::memory_order_relaxed);
      return ends(sampled);
    };
  };
  std::vector<model::DecodeRequest> requests;
  std::vector<Stretch> stretches;  // [requests]
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const GroupPlan& group = plan.groups[g];
    for (const Stretch& stretch : stretches_of(group, g, begun[g])) {
      const auto& given = opening_of(begun[g], stretch.before).given;
      requests.push_back({tokens[g], std::uint64_t(context.config.run.seed), plan.step,
                          prompt_address(plan, group), stretch.first_sample, stretch.count,
                          std::int64_t(given.size())});
      requests.back().prompt.insert(requests.back().prompt.end(), given.begin(), given.end());
      stretches.push_back(stretch);
    }
  }
  SamplingParams sampling = plan.sampling;
  // Only the update reads the lists of kept ids, and only those of training rollouts.
  if (plan.purpose != Purpose::train) sampling.logprob = "full";
  auto options = step_decode_options(context);
  options.ended = [drawn = context.threads.drawn] {
    drawn->rollouts.fetch_add(1, std::memory_order_relaxed);
  };
  auto decoded = model::decode(policy, requests, sampling, stops, options);
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const auto& [g, before, first_sample, count] = stretches[r];
    for (std::uint32_t i = 0; i < count; ++i)
      shard.groups[g].rollouts[before + i] =
          to_rollout(*context.texts.format, std::move(decoded[r][i]), tokens[g],
                     opening_of(begun[g], before + i), first_sample + i);
  }
  return shard;
}

Generated GenerationStage::on_plan(const StepPlan& plan) {
  const Stopwatch generating;
  RolloutShard shard = generate(*context_, *openings_, plan, rank_, &pools_.of(*context_, plan));
  const double generation_s = generating.seconds();
  // The position of this rank among the generation ranks decides which rank scores its shard, so
  // both ranks know it without a message.
  const auto& scorers = context_->layout.of(comm::Stage::scoring);
  const auto& generators = context_->layout.of(comm::Stage::generation);
  const auto index =
      std::size_t(std::find(generators.begin(), generators.end(), rank_) - generators.begin());
  Generated made{std::move(shard), {}, scorers[index * scorers.size() / generators.size()]};
  made.notice.generation_s = {{std::uint32_t(rank_), generation_s}};
  made.notice.aggregator = plan.aggregator, made.notice.aggregated = plan.aggregated;
  made.notice.derived = plan.derived;
  made.notice.cut = context_->threads.cut->wanted();
  return made;
}

}  // namespace rollcall::run
