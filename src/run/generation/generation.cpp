// Decodes plans, and passes their shards on.
#include "run/generation/generation.hpp"

#include "base/time/clock.hpp"
#include "run/context/run_context.hpp"
#include "text/tokenizer/stop_texts.hpp"

#include <algorithm>

namespace rollcall::run {

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

Generated GenerationStage::on_plan(const StepPlan& plan) {
  const Stopwatch generating;
  RolloutShard shard = driver_.run(plan, rank_, &pools_.of(*context_, plan));
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
  made.notice.figures = driver_.take_figures();
  made.notice.cut = context_->threads.cut->wanted();
  return made;
}

}  // namespace rollcall::run
