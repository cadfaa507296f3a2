// Plays the prompts and concatenates the texts of each conversation.
#include "run/context/examples/expert_examples.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "environment/chosen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace rollcall::run {
namespace {

constexpr unsigned kNotExact = 11;  // of 64 bits: a seed is below 2^53 (environment::Seeds)

/// The seeds of step 0, in which nothing is sampled.
environment::Seeds seeds_of(std::uint64_t run_seed, PromptId prompt) {
  const auto drawn = [&](std::uint64_t number) {
    return RandomStream(run_seed, RandomPurpose::environment, 0, prompt.value, number).bits(0) >>
           kNotExact;
  };
  return {.start = drawn(0), .turns = drawn(1)};
}

}  // namespace

text::Supervised expert_example(const RunTexts& texts, const Prompt& prompt,
                                const environment::ExpertWay& way, std::int64_t positions) {
  text::Supervised example = texts.format->supervised(prompt, way.actions.front());
  for (std::size_t i = 1; i < way.actions.size(); ++i) {
    const auto turn = std::span(example.tokens).subspan(std::size_t(example.learnt.back().first));
    const text::Said said{texts.turns->role(), way.said[i - 1]};
    const auto told = texts.turns->between(turn, std::span(&said, 1));
    // An action has the same tokens after every message.
    const text::Supervised next = texts.format->supervised(prompt, way.actions[i]);
    const auto begin = next.tokens.begin() + std::ptrdiff_t(next.learnt.front().first);
    const auto first = std::int64_t(example.tokens.size() + told.size());
    if (first + std::int64_t(next.tokens.end() - begin) > positions) break;
    example.tokens.insert(example.tokens.end(), told.begin(), told.end());
    example.tokens.insert(example.tokens.end(), begin, next.tokens.end());
    example.learnt.emplace_back(first, std::int64_t(example.tokens.size()));
  }
  return example;
}

ExpertExamples::ExpertExamples(const RunConfig& config, const RunTexts& texts,
                               std::int64_t positions)
    : config_(&config), texts_(&texts), positions_(positions) {
  if (texts.turns && environment::has_expert(config))
    environment_ = environment::make_environment(config, *texts.format);
}

text::Supervised ExpertExamples::of(const Prompt& prompt) const {
  const std::int64_t turns = config_->sft.turns, limit = config_->environment.max_turns;
  const auto way = environment::expert_way(*environment_, prompt,
                                           seeds_of(std::uint64_t(config_->run.seed), prompt.id),
                                           turns == 0 ? limit : std::min(turns, limit));
  require(!way.actions.empty(),
          fmt::format("the expert of {} knows no action for the prompt \"{}\"", config_->task.name,
                      excerpt(prompt.text)),
          "the warm start learns what the expert says",
          "set sft.steps=0, or name a file of examples in sft.file");
  return expert_example(*texts_, prompt, way, positions_);
}

}  // namespace rollcall::run
