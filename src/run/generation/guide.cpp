// Prefixes of random length, sampled from the guide in the same way as the policy's own tokens:
// same sampling settings, addressed random numbers.
#include "run/generation/guide.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/generation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

constexpr std::uint32_t kGuideSample =
    0xFFFF'FFFE;  // a number that no rollout has, so no rollout shares the guide's random numbers

}  // namespace

void check_guide(const RunConfig& config, Faults& faults) {
  if (config.guide.share == 0.0) return;
  faults.need({"guide.model", "guide.share"}, !config.guide.model.empty(),
              fmt::format("guide.share is {}, but guide.model is empty", config.guide.share),
              "there is no model to begin answers",
              "set guide.model to a model folder, or guide.share=0");
  faults.need({"guide.max_tokens", "sampling.max_new_tokens"},
              config.guide.max_tokens < config.sampling.max_new_tokens,
              fmt::format("guide.max_tokens is {} and sampling.max_new_tokens {}",
                          config.guide.max_tokens, config.sampling.max_new_tokens),
              "nothing would be left for the policy to say after the longest beginning",
              "lower guide.max_tokens");
}

Guide::Guide(const RunContext& context) {
  if (context.config.guide.share == 0.0) return;
  policy_.emplace(read_policy(context.config.guide.model, *context.store, "guide.model"));
  const auto positions = policy_->config().max_position_embeddings,
             needed = context.store->config().max_position_embeddings;
  require<ConfigError>(
      positions >= needed,
      fmt::format("guide.model has {} positions, the policy {}", positions, needed),
      "a prompt that the policy can read might be too long for the guide",
      "choose a guide with at least as many positions");
}

std::vector<std::vector<std::int32_t>> Guide::prefixes(const RunContext& context,
                                                       const StepPlan& plan) const {
  std::vector<std::vector<std::int32_t>> all(plan.groups.size());
  if (!policy_ || plan.purpose != Purpose::train) return all;
  std::vector<Beginning> chosen;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto& id = plan.groups[g].id;
    const RandomStream stream(std::uint64_t(context.config.run.seed), RandomPurpose::guide,
                              plan.step, id.prompt.value, id.draw);
    if (stream.uniform(0) < context.config.guide.share)
      chosen.push_back(
          {g, std::size_t(1 + stream.below(1, std::uint64_t(context.config.guide.max_tokens)))});
  }
  SamplingParams sampling = plan.sampling;
  sampling.max_new_tokens = context.config.guide.max_tokens, sampling.logprob = "full";
  const PromptBook book(context.texts, plan.derived);
  std::vector<model::DecodeRequest> requests;
  for (const Beginning& one : chosen) {
    const GroupPlan& group = plan.groups[one.group];
    requests.push_back({.prompt = book.tokens(plan.purpose, group.id, group.from),
                        .seed = std::uint64_t(context.config.run.seed),
                        .step = plan.step,
                        .prompt_address = prompt_address(plan, group),
                        .first_sample = kGuideSample});
  }
  auto said = model::decode(*policy_, requests, sampling,
                            stop_rules(*context.texts.format, plan.sampling.stop),
                            step_decode_options(context));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    auto& tokens = said[i].front().tokens;
    if (said[i].front().stopped) tokens.pop_back();  // the policy ends every answer itself
    tokens.resize(std::min(tokens.size(), chosen[i].length));
    all[chosen[i].group] = std::move(tokens);
  }
  return all;
}

}  // namespace rollcall::run
